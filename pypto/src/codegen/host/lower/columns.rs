//! The column loop: a vector at a time, with reductions in the order of the numeric contract.
//!
//! A reduction has 32 partial results, element j in partial j mod 32: 32 / W vectors, of which vector k takes every (32 / W)-th vector of the
//! row. The body is written once for each of them, unless it is so heavy that its copies would not fit the registers: then it is written once
//! and the partial results rotate through the carried values. Every loop of reductions covers whole groups of 32 elements, so the rotation always
//! ends where it began.

use crate::codegen::host::lir::{Builder, Cmp, Value};

/// Bodies at least this heavy (exp and its like) are chains so long that two of them must be woven for the processor to see both.
pub(super) const HEAVY: u32 = 8;
/// Bodies are written once from this weight on: two would not fit the registers.
const TOO_HEAVY: u32 = 64;

/// Body of a column loop: gets the index of the first lane, the mask of lanes inside (`None` for all) and one vector of partial results for
/// each reduction; gives the next partial results.
pub(super) type Body<'a> = dyn FnMut(&mut Builder<'_>, Value, Option<Value>, &[Value]) -> Vec<Value> + 'a;

/// Runs over columns `0..end`. `partials[r]` holds the initial vectors of reduction r; the result holds the last ones.
pub(super) fn column_loop(
    b: &mut Builder<'_>,
    end: Value,
    weight: u32,
    partials: &[Vec<Value>],
    body: &mut Body<'_>,
) -> Vec<Vec<Value>> {
    let group = b.partials();
    let rotates = !partials.is_empty() && weight >= TOO_HEAVY;
    let unroll = match partials.is_empty() {
        false => group,
        true if weight >= TOO_HEAVY => 1,
        true if weight >= HEAVY => 2,
        true => 4,
    };
    let step = (unroll * b.lanes()) as i64;
    let middle = whole_groups(b, end, step);
    let flat = partials.concat();
    let flat = if rotates || unroll == 1 {
        rotating(b, middle, None, &flat, group, body)
    } else {
        let (zero, step) = (b.index(0), b.index(step));
        b.for_loop(zero, middle, step, &flat, |b, index, flat| copies(b, index, unroll, weight, flat, body))
    };
    let flat = rest(b, middle, end, step, &flat, group, body);
    flat.chunks(group.max(1)).take(partials.len()).map(<[Value]>::to_vec).collect()
}

/// The body for `unroll` vectors from a column on; two copies of a heavy one are woven.
fn copies(
    b: &mut Builder<'_>,
    column: Value,
    unroll: usize,
    weight: u32,
    flat: &[Value],
    body: &mut Body<'_>,
) -> Vec<Value> {
    let lanes = b.lanes() as i64;
    let (mut next, mut previous) = (flat.to_vec(), 0);
    for k in 0..unroll {
        let start = b.position();
        let offset = b.index(k as i64 * lanes);
        let at = b.add(column, offset);
        let mine: Vec<Value> = flat.iter().skip(k).step_by(unroll).copied().collect();
        for (r, value) in body(b, at, None, &mine).into_iter().enumerate() {
            next[r * unroll + k] = value;
        }
        if k % 2 == 1 && weight >= HEAVY {
            b.interleave(previous, start);
        }
        previous = start;
    }
    next
}

/// The largest multiple of `step` that is not above `end`, at least 0.
fn whole_groups(b: &mut Builder<'_>, end: Value, step: i64) -> Value {
    let (zero, step) = (b.index(0), b.index(step));
    let length = b.max(end, zero);
    let rest = b.urem(length, step);
    b.sub(length, rest)
}

/// The last, incomplete group of `step` elements.
fn rest(
    b: &mut Builder<'_>,
    middle: Value,
    end: Value,
    step: i64,
    flat: &[Value],
    group: usize,
    body: &mut Body<'_>,
) -> Vec<Value> {
    // Reductions visit every vector of the group, so that the rotation is complete; the masks of those beyond the end are empty.
    let step = b.index(step);
    let covered = b.add(middle, step);
    let stop = if flat.is_empty() { end } else { covered };
    let some = b.cmp(Cmp::Lt, middle, end);
    let stop = b.select(some, stop, middle);
    rotating_from(b, middle, stop, Some(end), flat, group, body)
}

fn rotating(
    b: &mut Builder<'_>,
    stop: Value,
    masked_by: Option<Value>,
    flat: &[Value],
    group: usize,
    body: &mut Body<'_>,
) -> Vec<Value> {
    let zero = b.index(0);
    rotating_from(b, zero, stop, masked_by, flat, group, body)
}

/// One vector per iteration; the partial results of each reduction move up by one. With `masked_by`, lanes at or beyond it are masked off.
fn rotating_from(
    b: &mut Builder<'_>,
    start: Value,
    stop: Value,
    masked_by: Option<Value>,
    flat: &[Value],
    group: usize,
    body: &mut Body<'_>,
) -> Vec<Value> {
    let step = b.index(b.lanes() as i64);
    b.for_loop(start, stop, step, flat, |b, index, flat| {
        let mask = masked_by.map(|end| {
            let remaining = b.sub(end, index);
            b.tail_mask(remaining)
        });
        let firsts: Vec<Value> = flat.iter().step_by(group).copied().collect();
        let mut next = flat.to_vec();
        for (r, value) in body(b, index, mask, &firsts).into_iter().enumerate() {
            let ring = &mut next[r * group..(r + 1) * group];
            ring[0] = value;
            ring.rotate_left(1);
        }
        next
    })
}
