//! Blocks of memory: aligned, and in large pages where that pays.
//!
//! A page of 4 KiB ends what the hardware fetches ahead and costs a translation of addresses; matrices of some megabytes
//! have thousands of pages. Linux gives pages of 2 MiB to ranges that ask for them (`madvise`), so large blocks are
//! mapped on their own, at a multiple of that size. Their last part, if it fills no large page, keeps small ones: a block
//! takes no more memory than it was asked for.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Alignment of every block: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;

/// The kernel's large page, on x86-64 and with AArch64's pages of 4 KiB.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

/// Owned memory of plain bytes.
#[derive(Debug)]
pub struct Block {
    start: NonNull<u8>,
    owner: Owner,
}

/// Where a block came from, and so how it goes.
#[derive(Debug)]
enum Owner {
    /// No bytes.
    Nobody,
    Allocator(Layout),
    /// A mapping of this address and size, which the block is a part of.
    #[cfg(target_os = "linux")]
    Mapping(NonNull<std::ffi::c_void>, usize),
}

// SAFETY: a block owns its memory, and only hands out raw pointers.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// A block without memory.
    pub const fn empty() -> Block {
        Block { start: NonNull::<Aligned>::dangling().cast(), owner: Owner::Nobody }
    }

    /// `size` zeros; `None` where memory does not suffice.
    pub fn zeroed(size: usize) -> Option<Block> {
        Block::new(size, alloc_zeroed)
    }

    /// `size` bytes that may hold anything; `None` where memory does not suffice.
    pub fn uninitialized(size: usize) -> Option<Block> {
        Block::new(size, alloc)
    }

    fn new(size: usize, allocate: unsafe fn(Layout) -> *mut u8) -> Option<Block> {
        if size == 0 {
            return Some(Block::empty());
        }
        #[cfg(target_os = "linux")]
        if size >= LARGE_PAGE {
            return Block::mapped(size);
        }
        let layout = Layout::from_size_align(size, ALIGNMENT).ok()?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { allocate(layout) })?;
        Some(Block { start, owner: Owner::Allocator(layout) })
    }

    /// A mapping with room to start at a multiple of a large page.
    #[cfg(target_os = "linux")]
    fn mapped(size: usize) -> Option<Block> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        let room = size.checked_add(LARGE_PAGE)?;
        // SAFETY: a new private mapping, at a place that the kernel chooses.
        let mapping = unsafe {
            mmap_anonymous(std::ptr::null_mut(), room, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let mapping = NonNull::new(mapping.ok()?)?;
        let offset = mapping.as_ptr().align_offset(LARGE_PAGE);
        let start = mapping.cast::<u8>().as_ptr().wrapping_add(offset);
        let owner = Owner::Mapping(mapping, room);
        // SAFETY: whole large pages inside the mapping; the advice changes no contents. A kernel without large pages
        // refuses, and the block has small ones.
        let _ = unsafe { madvise(start.cast(), size / LARGE_PAGE * LARGE_PAGE, Advice::LinuxHugepage) };
        Some(Block { start: NonNull::new(start)?, owner })
    }

    /// The first byte; dangling where the block is empty.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match self.owner {
            Owner::Nobody => {}
            // SAFETY: allocated with this layout in `new`.
            Owner::Allocator(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            #[cfg(target_os = "linux")]
            Owner::Mapping(mapping, size) => {
                // SAFETY: mapped with this size in `mapped`, and nobody else knows of it.
                let _ = unsafe { rustix::mm::munmap(mapping.as_ptr(), size) };
            }
        }
    }
}

/// What an empty block seems to point at.
#[repr(align(64))]
struct Aligned;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_zeroed_and_apart() {
        let sizes = [0, 1, 63, 4096, 100_000, (4 << 20) - 1, 4 << 20, (5 << 20) + 3];
        let blocks: Vec<(usize, Block)> = sizes.map(|size| (size, Block::zeroed(size).unwrap())).into();
        for (size, block) in &blocks {
            assert_eq!(block.start().as_ptr().align_offset(ALIGNMENT), 0, "{size}");
            // SAFETY: the block has this size, and is zeroed.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block.start().as_ptr(), *size) };
            assert!(bytes.iter().all(|byte| *byte == 0), "{size}");
            bytes.fill(1);
        }
    }

    #[test]
    fn more_than_memory_is_refused() {
        assert!(Block::zeroed(usize::MAX).is_none());
        assert!(Block::uninitialized(usize::MAX / 2).is_none());
    }
}
