//! Memory that two blocks of one task touch while one of them writes it: their order is not defined.

/// What the blocks of a task accessed.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    entries: Vec<Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Access {
    begin: usize,
    end: usize,
    block: i64,
    writes: bool,
}

impl Accesses {
    /// Notes an access; one that goes on where the last ended is joined with it.
    pub fn note(&mut self, block: i64, (begin, end): (usize, usize), writes: bool) {
        if let Some(last) = self.entries.last_mut()
            && (last.block, last.writes, last.end) == (block, writes, begin)
        {
            last.end = end;
            return;
        }
        self.entries.push(Access { begin, end, block, writes });
    }

    /// Looks for a conflict.
    ///
    /// # Errors
    /// Which blocks, and how many bytes at least.
    pub fn check(mut self) -> Result<(), String> {
        if self.entries.iter().all(|a| a.block == self.entries[0].block) {
            return Ok(());
        }
        self.entries.sort_unstable();
        // The farthest end so far, of all accesses and of writes, each with the farthest of another block.
        let (mut all, mut writes) = (Farthest::default(), Farthest::default());
        for access in &self.entries {
            let earlier = if access.writes { &all } else { &writes };
            if let Some((end, block)) = earlier.of_other(access.block).filter(|(end, _)| *end > access.begin) {
                let bytes = end.min(access.end) - access.begin;
                let (first, second) = (block.min(access.block), block.max(access.block));
                return Err(format!("blocks {first} and {second} touch the same {bytes} bytes, one of them writes"));
            }
            all.note(access.end, access.block);
            if access.writes {
                writes.note(access.end, access.block);
            }
        }
        Ok(())
    }
}

/// The two farthest ends, of different blocks.
#[derive(Debug, Default)]
struct Farthest {
    ends: [Option<(usize, i64)>; 2],
}

impl Farthest {
    fn note(&mut self, end: usize, block: i64) {
        let same = self.ends.iter().position(|e| e.is_some_and(|(_, b)| b == block));
        if let Some(same) = same {
            self.ends[same] = self.ends[same].map(|(e, b)| (e.max(end), b));
        } else if let Some(slot) = self.ends.iter().position(Option::is_none) {
            self.ends[slot] = Some((end, block));
        } else if self.ends[1].is_some_and(|(e, _)| e < end) {
            self.ends[1] = Some((end, block));
        }
        if self.ends[1] > self.ends[0] {
            self.ends.swap(0, 1);
        }
    }

    fn of_other(&self, block: i64) -> Option<(usize, i64)> {
        self.ends.iter().flatten().copied().find(|(_, b)| *b != block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_two_blocks_share() {
        let mut accesses = Accesses::default();
        accesses.note(0, (0, 64), true);
        accesses.note(1, (64, 128), true);
        accesses.note(1, (200, 300), false);
        accesses.note(2, (250, 260), false);
        assert_eq!(accesses.check(), Ok(()));

        let mut accesses = Accesses::default();
        accesses.note(0, (0, 64), false);
        accesses.note(1, (60, 128), true);
        assert!(accesses.check().is_err_and(|e| e.contains("the same 4 bytes")));
    }
}
