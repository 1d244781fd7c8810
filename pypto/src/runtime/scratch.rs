//! Aligned memory that is reused: scratch of running kernels, one a thread, and workspaces of task schedules.

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;

/// Alignment of every buffer: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;

/// Growable aligned memory with unspecified contents.
#[derive(Debug)]
pub struct Buffer {
    data: NonNull<u8>,
    size: usize,
}

// SAFETY: the buffer owns its memory, and only hands out raw pointers.
unsafe impl Send for Buffer {}
// SAFETY: as above; `reserve` needs `&mut`.
unsafe impl Sync for Buffer {}

/// The allocator refused this many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} bytes of working memory could not be allocated")]
pub struct OutOfMemory(pub usize);

impl Buffer {
    /// A buffer without memory.
    pub const fn new() -> Buffer {
        Buffer { data: NonNull::dangling(), size: 0 }
    }

    /// At least `size` bytes; keeps no contents when it grows.
    pub fn reserve(&mut self, size: usize) -> Result<*mut u8, OutOfMemory> {
        if size > self.size {
            let rounded = size.checked_next_multiple_of(4096).ok_or(OutOfMemory(size))?;
            let layout = Layout::from_size_align(rounded, ALIGNMENT).map_err(|_| OutOfMemory(size))?;
            self.release();
            // SAFETY: the layout's size is not zero: `size > self.size >= 0`.
            let data = unsafe { std::alloc::alloc(layout) };
            self.data = NonNull::new(data).ok_or(OutOfMemory(size))?;
            self.size = rounded;
        }
        Ok(self.data.as_ptr())
    }

    /// The memory that the last [`Buffer::reserve`] gave.
    pub fn start(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    fn release(&mut self) {
        if self.size > 0 {
            let layout = Layout::from_size_align(self.size, ALIGNMENT);
            // SAFETY: `data` came from `alloc` with this size and alignment, which made a valid layout then.
            unsafe { std::alloc::dealloc(self.data.as_ptr(), layout.unwrap_unchecked()) };
            self.data = NonNull::dangling();
            self.size = 0;
        }
    }
}

impl Default for Buffer {
    fn default() -> Buffer {
        Buffer::new()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.release();
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
