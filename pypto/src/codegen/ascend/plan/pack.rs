//! Finds addresses.

use std::collections::BTreeMap;

use super::{Buffer, Planner};

/// Addresses of the given buffers, which are of one space.
pub(super) fn pack(buffers: &[Buffer], own: &[usize], alignment: i64, planner: Planner) -> BTreeMap<usize, i64> {
    let in_order = place(buffers, own, alignment);
    if planner == Planner::FirstFit {
        return in_order;
    }
    let mut best = in_order;
    for order in orders(buffers, own) {
        let found = place(buffers, &order, alignment);
        if top(buffers, &found) < top(buffers, &best) {
            best = found;
        }
    }
    best
}

/// Orders worth a try: large tiles first, long lives first, the product of both first, by the end of lives.
fn orders(buffers: &[Buffer], own: &[usize]) -> Vec<Vec<usize>> {
    let life = |i: usize| (buffers[i].end - buffers[i].begin) as i64 + 1;
    let keys: [&dyn Fn(usize) -> i64; 4] =
        [&|i| -buffers[i].bytes, &|i| -life(i), &|i| -(buffers[i].bytes.saturating_mul(life(i))), &|i| {
            buffers[i].end as i64
        }];
    keys.iter()
        .map(|key| {
            let mut order = own.to_vec();
            order.sort_by_key(|i| (key(*i), buffers[*i].begin, *i));
            order
        })
        .collect()
}

fn top(buffers: &[Buffer], addresses: &BTreeMap<usize, i64>) -> i64 {
    addresses.iter().map(|(i, at)| at + buffers[*i].bytes).max().unwrap_or(0)
}

/// Each in turn at the lowest address where it disturbs none of those before it.
fn place(buffers: &[Buffer], order: &[usize], alignment: i64) -> BTreeMap<usize, i64> {
    let mut placed: BTreeMap<usize, i64> = BTreeMap::new();
    for i in order {
        let aligned = |at: i64| (at + alignment - 1) / alignment * alignment;
        let mut candidates: Vec<i64> = vec![0];
        for (j, at) in &placed {
            candidates.push(aligned(at + buffers[*j].bytes));
            if buffers[*i].same_start.contains(j) {
                candidates.push(*at);
            }
        }
        candidates.sort_unstable();
        let free = |at: &i64| placed.iter().all(|(j, theirs)| agree(buffers, (*i, *at), (*j, *theirs)));
        // Behind everything there is always room.
        let at = candidates.iter().copied().find(free).unwrap_or_default();
        placed.insert(*i, at);
    }
    placed
}

/// Whether two tiles can be where they are.
pub(super) fn agree(buffers: &[Buffer], (i, at): (usize, i64), (j, theirs): (usize, i64)) -> bool {
    let (a, b) = (&buffers[i], &buffers[j]);
    let apart = at + a.bytes <= theirs || theirs + b.bytes <= at;
    let together = a.begin <= b.end && b.begin <= a.end;
    apart || (!together && (!a.same_start.contains(&j) || at == theirs))
}
