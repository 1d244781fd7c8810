//! Which tasks touched which memory, found again by place: what a new task has to wait for is among the accesses near it, so
//! that a graph of many tasks is not compared pair by pair.
//!
//! Accesses of a tensor are kept by where they begin in it, apart by how far they reach: a reach between 2^n and 2^(n + 1)
//! elements is in level n. Those that may meet an interval begin, in each level, less than 2^(n + 1) before it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::region::{Base, Region, View};
use super::schedule::Use;
use crate::ops::reference::Shape;

/// One use of a tensor by a task.
#[derive(Clone, Copy)]
struct Access {
    task: u32,
    /// Number of its region among those of the tensor.
    region: u32,
}

/// The accesses of all tensors.
#[derive(Default)]
pub(super) struct Touched {
    params: Vec<Tensor>,
    temporaries: Vec<Tensor>,
    /// How many pairs were looked at.
    #[cfg(test)]
    pub compared: usize,
}

#[derive(Clone, Default)]
struct Tensor {
    reads: Levels,
    writes: Levels,
    regions: Regions,
}

/// For each level that there is, the accesses by their first element.
type Levels = Vec<(u32, BTreeMap<(i64, u32), Access>)>;

/// The boxes of all accesses of a tensor, one after the other: much less memory than a [`Region`] for each. Their numbers also
/// tell accesses apart that begin at the same place.
#[derive(Clone, Default)]
struct Regions {
    count: u32,
    /// Of each box the starts, then the extents.
    bounds: Vec<i64>,
}

impl Regions {
    fn add(&mut self, region: &Region) -> u32 {
        self.bounds.extend_from_slice(&region.start);
        self.bounds.extend_from_slice(&region.extent);
        self.count += 1;
        self.count - 1
    }

    /// A box; all of a tensor have as many dimensions as `like`.
    fn get(&self, number: u32, like: &Region) -> Region {
        let rank = like.start.len();
        let bounds = &self.bounds[number as usize * 2 * rank..][..2 * rank];
        Region { start: Shape::new(&bounds[..rank]), extent: Shape::new(&bounds[rank..]) }
    }
}

impl Touched {
    /// Adds an access.
    pub fn add(&mut self, task: u32, view: &View, usage: Use) {
        let interval = interval(view);
        if interval.is_empty() {
            return;
        }
        let tensor = self.tensor(view.base);
        let region = tensor.regions.add(&view.region);
        let levels = if usage == Use::Read { &mut tensor.reads } else { &mut tensor.writes };
        let wanted = level(&interval);
        let index = levels.iter().position(|(level, _)| *level == wanted).unwrap_or_else(|| {
            levels.push((wanted, BTreeMap::new()));
            levels.len() - 1
        });
        levels[index].1.insert((interval.start, region), Access { task, region });
    }

    fn tensor(&mut self, base: Base) -> &mut Tensor {
        let (tensors, index) = match base {
            Base::Param(index) => (&mut self.params, index),
            Base::Temp(index) => (&mut self.temporaries, index),
        };
        if index >= tensors.len() {
            tensors.resize(index + 1, Tensor::default());
        }
        &mut tensors[index]
    }

    /// Calls `found` with the task of every access that a use of `view` conflicts with: they overlap, and one of them writes.
    /// What a write covers is forgotten: whoever comes later waits for the write.
    pub fn conflicts(&mut self, task: u32, view: &View, usage: Use, mut found: impl FnMut(u32)) {
        let interval = interval(view);
        let (tensors, index) = match view.base {
            Base::Param(index) => (&mut self.params, index),
            Base::Temp(index) => (&mut self.temporaries, index),
        };
        let Some(tensor) = tensors.get_mut(index).filter(|_| !interval.is_empty()) else { return };
        let Tensor { reads, writes, regions } = tensor;
        let reads = (usage == Use::Write).then_some(reads);
        let mut covered = Vec::new();
        for levels in [Some(writes), reads].into_iter().flatten() {
            for (level, accesses) in levels.iter_mut() {
                let reach = 2i64.saturating_pow(*level + 1);
                let near = (interval.start.saturating_sub(reach), 0)..(interval.end, 0);
                for (place, earlier) in accesses.range(near) {
                    #[cfg(test)]
                    {
                        self.compared += 1;
                    }
                    let region = regions.get(earlier.region, &view.region);
                    if earlier.task != task && region.overlaps(&view.region) {
                        found(earlier.task);
                        if usage == Use::Write && view.region.contains(&region) {
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
    let steps = view.dims.iter().zip(view.strides.iter()).map(|(extent, stride)| (extent - 1).wrapping_mul(*stride));
    let last = steps.fold(view.offset, i64::wrapping_add);
    view.offset..last.saturating_add(1)
}

fn level(interval: &Range<i64>) -> u32 {
    (interval.end - interval.start).max(1).ilog2()
}
