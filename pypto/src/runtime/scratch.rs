//! Aligned memory that is reused: scratch of running kernels, one a thread, and workspaces of task schedules.

use std::cell::Cell;
use std::ptr::NonNull;

use crate::memory::Block;

pub use crate::memory::ALIGNMENT;

/// Growable aligned memory with unspecified contents.
#[derive(Debug)]
pub struct Buffer {
    block: Block,
    size: usize,
}

/// The allocator refused this many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} bytes of working memory could not be allocated")]
pub struct OutOfMemory(pub usize);

impl Buffer {
    /// A buffer without memory.
    pub const fn new() -> Buffer {
        Buffer { block: Block::empty(), size: 0 }
    }

    /// At least `size` bytes; keeps no contents when it grows.
    pub fn reserve(&mut self, size: usize) -> Result<*mut u8, OutOfMemory> {
        if size > self.size {
            let rounded = size.checked_next_multiple_of(4096).ok_or(OutOfMemory(size))?;
            // The old block goes first: both need not fit.
            *self = Buffer::new();
            self.block = Block::uninitialized(rounded).ok_or(OutOfMemory(size))?;
            self.size = rounded;
        }
        Ok(self.start())
    }

    /// The memory that the last [`Buffer::reserve`] gave.
    pub fn start(&self) -> *mut u8 {
        self.block.start().as_ptr()
    }
}

impl Default for Buffer {
    fn default() -> Buffer {
        Buffer::new()
    }
}

thread_local! {
    static SCRATCH: Cell<Buffer> = const { Cell::new(Buffer::new()) };
}

/// Calls `f` with `size` bytes of this thread's scratch.
pub fn with_scratch<R>(size: usize, f: impl FnOnce(*mut u8) -> R) -> Result<R, OutOfMemory> {
    if size == 0 {
        return Ok(f(NonNull::<u128>::dangling().as_ptr().cast()));
    }
    // Taken while it is used, so that a call inside `f` gets memory of its own.
    let mut buffer = SCRATCH.take();
    let outcome = buffer.reserve(size).map(f);
    SCRATCH.set(buffer);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_is_aligned_and_reused() {
        let first = with_scratch(100, |p| p as usize).unwrap();
        let second = with_scratch(4096, |p| p as usize).unwrap();
        assert_eq!(first, second);
        assert_eq!(first % ALIGNMENT, 0);
        with_scratch(10, |outer| with_scratch(10, |inner| assert_ne!(outer, inner)).unwrap()).unwrap();
        assert_eq!(with_scratch(usize::MAX, |_| ()), Err(OutOfMemory(usize::MAX)));
    }
}
