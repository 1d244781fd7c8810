//! Where tiles live: a list of values for each thread. A tile is a handle into it, so that kernels may copy tiles freely.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ops::reference::Array;

/// A place in the thread's list; `stamp` tells values apart that lived there at different times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    index: u32,
    stamp: u32,
}

struct Arena {
    values: Vec<(u32, Rc<Array>)>,
    stamp: u32,
}

thread_local! {
    static ARENA: RefCell<Arena> = const { RefCell::new(Arena { values: Vec::new(), stamp: 0 }) };
}

/// Keeps a value until the scope around ends.
pub(super) fn insert(value: Rc<Array>) -> Handle {
    ARENA.with_borrow_mut(|arena| {
        let handle = Handle { index: arena.values.len() as u32, stamp: arena.stamp };
        arena.values.push((arena.stamp, value));
        handle
    })
}

/// The value of a handle, if its scope has not ended.
pub(super) fn get(handle: Handle) -> Option<Rc<Array>> {
    ARENA.with_borrow(|arena| match arena.values.get(handle.index as usize) {
        Some((stamp, value)) if *stamp == handle.stamp => Some(Rc::clone(value)),
        _ => None,
    })
}

/// Runs `f` and frees the tiles that were made meanwhile, also when it panics. Eager runs of kernels are scopes; tiles
/// made outside of any live as long as the thread.
///
/// ```
/// use pypto::prelude::*;
/// let sum = scope(|| Tile::full([4, 4], 1.0f32).row_sum().get([3, 0]));
/// assert_eq!(sum, 4.0);
/// ```
pub fn scope<V>(f: impl FnOnce() -> V) -> V {
    struct End(usize);
    impl Drop for End {
        fn drop(&mut self) {
            ARENA.with_borrow_mut(|arena| {
                arena.values.truncate(self.0);
                arena.stamp = arena.stamp.wrapping_add(1);
            });
        }
    }
    let _end = End(ARENA.with_borrow(|arena| arena.values.len()));
    f()
}
