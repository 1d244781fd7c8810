//! Which tasks touched which memory, found again by place: what a new task has to wait for is among the accesses near it, so
//! that a graph of many tasks is not compared pair by pair.
//!
//! Accesses of a tensor are kept by where they begin in it, apart by how far they reach: a reach between 2^n and 2^(n + 1)
//! elements is in level n. Those that may meet an interval begin, in each level, less than 2^(n + 1) before it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::region::{Base, Region, View};
use super::schedule::Use;

/// One use of a tensor by a task.
pub(super) struct Access {
    pub task: u32,
    pub region: Region,
}

/// The accesses of all tensors.
#[derive(Default)]
pub(super) struct Touched {
    tensors: HashMap<Base, Tensor>,
    /// Tells accesses that begin at the same place apart.
    next: u32,
    /// How many pairs were looked at.
    #[cfg(test)]
    pub compared: usize,
}

#[derive(Default)]
struct Tensor {
    reads: Levels,
    writes: Levels,
}

/// For each level, the accesses by their first element.
type Levels = BTreeMap<u32, BTreeMap<(i64, u32), Access>>;

impl Touched {
    /// Adds an access.
    pub fn add(&mut self, task: u32, view: &View, usage: Use) {
        let interval = interval(view);
        if interval.is_empty() {
            return;
        }
        let tensor = self.tensors.entry(view.base).or_default();
        let levels = if usage == Use::Read { &mut tensor.reads } else { &mut tensor.writes };
        let access = Access { task, region: view.region.clone() };
        levels.entry(level(&interval)).or_default().insert((interval.start, self.next), access);
        self.next += 1;
    }

    /// Calls `found` with the task of every access that a use of `view` conflicts with: they overlap, and one of them writes.
    /// What a write covers is forgotten: whoever comes later waits for the write.
    pub fn conflicts(&mut self, task: u32, view: &View, usage: Use, mut found: impl FnMut(u32)) {
        let interval = interval(view);
        let Some(tensor) = self.tensors.get_mut(&view.base).filter(|_| !interval.is_empty()) else { return };
        let reads = (usage == Use::Write).then_some(&mut tensor.reads);
        let mut covered = Vec::new();
        for levels in [Some(&mut tensor.writes), reads].into_iter().flatten() {
            for (level, accesses) in levels.iter_mut() {
                let reach = 2i64.saturating_pow(level + 1);
                let near = (interval.start.saturating_sub(reach), 0)..(interval.end, 0);
                for (place, earlier) in accesses.range(near) {
                    #[cfg(test)]
                    {
                        self.compared += 1;
                    }
                    if earlier.task != task && earlier.region.overlaps(&view.region) {
                        found(earlier.task);
                        if usage == Use::Write && view.region.contains(&earlier.region) {
                            covered.push(*place);
                        }
                    }
                }
                covered.drain(..).for_each(|place| _ = accesses.remove(&place));
            }
        }
    }
}

/// From the first element that a view reaches to behind the last one; empty without elements.
fn interval(view: &View) -> Range<i64> {
    if view.dims.contains(&0) {
        return view.offset..view.offset;
    }
    let steps = view.dims.iter().zip(&view.strides).map(|(extent, stride)| (extent - 1).wrapping_mul(*stride));
    let last = steps.fold(view.offset, i64::wrapping_add);
    view.offset..last.saturating_add(1)
}

fn level(interval: &Range<i64>) -> u32 {
    (interval.end - interval.start).max(1).ilog2()
}
