//! Which iterations of parallel loops write what: two that write the same memory are an error.

use std::collections::BTreeMap;

use super::error::{ErrorKind, Outcome};
use crate::ops::reference::{Memory, Shape};

/// Writes of the iterations of one running parallel loop.
#[derive(Debug, Default)]
pub(super) struct LoopWrites {
    iteration: i64,
    /// Disjoint ranges of bytes: from the first to the end, and the iteration that wrote it.
    ranges: BTreeMap<usize, (usize, i64)>,
}

impl LoopWrites {
    pub(super) fn begin_iteration(&mut self, iteration: i64) {
        self.iteration = iteration;
    }

    /// Notes a write of the current iteration.
    pub(super) fn note(&mut self, memory: &Memory, offset: Shape, shape: Shape) -> Outcome<()> {
        let mut conflict = None;
        memory.byte_ranges(offset, shape, |(begin, end)| {
            conflict = conflict.or(self.note_range(begin, end));
        });
        match conflict {
            Some(first) => Err(ErrorKind::Overlap { first, second: self.iteration }),
            None => Ok(()),
        }
    }

    /// The iteration that wrote part of the range before, if another one did.
    fn note_range(&mut self, begin: usize, end: usize) -> Option<i64> {
        let (mut first, mut last) = (begin, end);
        // Ranges are disjoint, so their ends ascend with their beginnings.
        let touching = self.ranges.range(..end).rev().take_while(|(_, (e, _))| *e > begin);
        let mut own = Vec::new();
        for (b, (e, iteration)) in touching {
            if *iteration != self.iteration {
                return Some(*iteration);
            }
            first = first.min(*b);
            last = last.max(*e);
            own.push(*b);
        }
        for b in own {
            self.ranges.remove(&b);
        }
        self.ranges.insert(first, (last, self.iteration));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::LoopWrites;

    #[test]
    fn overlap_of_other_iterations_is_found() {
        let mut writes = LoopWrites::default();
        assert_eq!(writes.note_range(0, 10), None);
        assert_eq!(writes.note_range(5, 20), None);
        writes.begin_iteration(1);
        assert_eq!(writes.note_range(20, 30), None);
        assert_eq!(writes.note_range(40, 50), None);
        assert_eq!(writes.note_range(19, 20), Some(0));
        writes.begin_iteration(2);
        assert_eq!(writes.note_range(30, 40), None);
        assert_eq!(writes.note_range(29, 31), Some(2).filter(|_| false).or(Some(1)));
    }
}
