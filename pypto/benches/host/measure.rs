//! Timing of contenders against one another, and counting of allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts allocations of all threads.
pub struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Allocations while `f` ran.
pub fn allocations(f: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    f();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// Runs the contenders in turn, `rounds` times, so that a slow moment of the machine hits all of them; the best time
/// of each.
pub fn interleaved<const N: usize>(rounds: usize, mut contenders: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut best = [Duration::MAX; N];
    for _ in 0..rounds {
        for (contender, best) in contenders.iter_mut().zip(&mut best) {
            let start = Instant::now();
            contender();
            *best = (*best).min(start.elapsed());
        }
    }
    best
}

/// Nanoseconds of one of many short calls: the best batch.
pub fn per_call(mut call: impl FnMut()) -> f64 {
    const BATCH: u32 = 2000;
    let batch = || {
        let start = Instant::now();
        (0..BATCH).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(BATCH)
    };
    std::iter::repeat_with(batch).take(50).fold(f64::INFINITY, f64::min)
}
