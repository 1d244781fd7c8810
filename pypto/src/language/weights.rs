//! What is kept of a tensor that is read again and again: its elements once more, in the order in which compiled products read them.
//!
//! Copies are made by the run time, at the first call that wants one, and forgotten as soon as somebody may write the tensor. So they
//! never differ from it, and nobody needs to know of them.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::memory::Block;

/// What a copy is a copy of, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PanelKey {
    /// Address of the first element.
    pub address: usize,
    /// Extents of the matrix in memory, whose rows are contiguous.
    pub dims: [i64; 2],
    /// Columns of a panel.
    pub width: usize,
    /// Whether the factor is the matrix transposed.
    pub transposed: bool,
}

/// The copies of one tensor.
pub(crate) struct Weights {
    copies: Mutex<Copies>,
    /// Calls since the last write that go without a copy, for tensors of which it is not known that they are weights.
    patience: u32,
}

#[derive(Default)]
struct Copies {
    made: Vec<(PanelKey, Block)>,
    asked: u32,
}

impl Weights {
    /// Copies are made once more than `patience` calls have asked since the tensor was written.
    pub(crate) fn new(patience: u32) -> Weights {
        Weights { copies: Mutex::default(), patience }
    }

    /// Address of the copy, which stays until [`Weights::forget`]. Null where `make` has no memory for it, and while it is not yet worth
    /// its cost.
    pub(crate) fn panels(&self, key: PanelKey, make: impl FnOnce() -> Option<Block>) -> *const u8 {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = copies.made.iter().find(|(known, _)| *known == key) {
            return block.start().as_ptr();
        }
        copies.asked = copies.asked.saturating_add(1);
        if copies.asked <= self.patience {
            return std::ptr::null();
        }
        let Some(block) = make() else { return std::ptr::null() };
        let start = block.start().as_ptr();
        copies.made.push((key, block));
        start
    }

    /// Frees the copies. Nobody reads them: who writes a tensor has it alone.
    pub(crate) fn forget(&self) {
        *self.copies.lock().unwrap_or_else(PoisonError::into_inner) = Copies::default();
    }
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weights").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_made_once_when_they_pay_and_again_after_a_write() {
        let key = PanelKey { address: 64, dims: [2, 2], width: 16, transposed: false };
        let weights = Weights::new(1);
        let mut made = 0;
        let mut ask = |key| {
            weights.panels(key, || {
                made += 1;
                Block::zeroed(64)
            })
        };
        assert!(ask(key).is_null());
        let first = ask(key);
        assert!(!first.is_null() && ask(key) == first);
        assert_ne!(ask(PanelKey { width: 32, ..key }), first);
        weights.forget();
        assert!(ask(key).is_null() && !ask(key).is_null());
        assert_eq!(made, 3);
    }

    #[test]
    fn without_memory_there_is_no_copy() {
        let key = PanelKey { address: 64, dims: [2, 2], width: 16, transposed: false };
        assert!(Weights::new(0).panels(key, || None).is_null());
    }
}
