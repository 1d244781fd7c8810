//! The limits of this machine: multiply-adds a second, and bytes a second of each level of its memory.

use std::hint::black_box;
use std::time::Instant;

#[path = "../host/peak.rs"]
mod peak;

use crate::workload::Work;

/// Working sets whose bandwidth is measured, in KiB for each thread, with the level that holds them.
const WORKING_SETS: [(&str, usize); 5] =
    [("L1", 16), ("L2", 256), ("L3 4M", 4 << 10), ("L3 16M", 16 << 10), ("DRAM", 256 << 10)];

/// Bytes a second on a working set.
#[derive(Clone, Copy, Debug)]
pub struct Bandwidth {
    pub name: &'static str,
    /// Bytes of the working set, of all threads together.
    pub bytes: f64,
    pub read: f64,
    /// Read and written bytes together; the better of plain and streaming stores.
    pub copy: f64,
}

/// What `threads` threads can do.
#[derive(Clone, Debug)]
pub struct Machine {
    pub threads: usize,
    /// Operations a second of f32; a multiply-add is two.
    pub flops: f64,
    pub levels: Vec<Bandwidth>,
}

impl Machine {
    /// Takes about half a second.
    pub fn measure(threads: usize) -> Machine {
        let peak = best(60, || peak::multiply_adds(threads));
        let flops = peak::gflops(threads, std::time::Duration::from_secs_f64(peak)) * 1e9;
        let levels = WORKING_SETS.iter().map(|(name, kib)| bandwidth(name, kib << 10, threads)).collect();
        Machine { threads, flops, levels }
    }

    /// The least time for some work, in seconds, and what sets it.
    pub fn limit(&self, work: &Work) -> (f64, &'static str) {
        let bytes = work.read + work.written;
        let fits = |level: &&Bandwidth| bytes <= level.bytes * 1.1;
        let Some(level) = self.levels.iter().find(fits).or(self.levels.last()) else { return (0.0, "") };
        let bandwidth = if work.written > bytes / 8.0 { level.copy } else { level.read };
        let (compute, transfer) = (work.flops / (self.flops * work.at_once), work.passes * bytes / bandwidth);
        if compute > transfer { (compute, "flops") } else { (transfer, level.name) }
    }
}

/// The least time of some runs, in seconds.
fn best(runs: usize, mut run: impl FnMut()) -> f64 {
    run();
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(once).fold(f64::INFINITY, f64::min)
}

fn bandwidth(name: &'static str, bytes: usize, threads: usize) -> Bandwidth {
    // Outer levels are shared by the cores.
    let bytes = if bytes > 1 << 20 { bytes / threads } else { bytes };
    let mut sets: Vec<Vec<f32>> = (0..threads).map(|i| vec![1.0 + i as f32; bytes / 4]).collect();
    let repeats = ((32 << 20) / bytes).clamp(1, 512);
    let runs = if bytes > 64 << 20 { 6 } else { 12 };
    let total = (bytes * threads * repeats) as f64;
    let mut timed = |work: fn(&mut [f32])| {
        let time = best(runs, || {
            std::thread::scope(|scope| {
                let mut sets = sets.iter_mut();
                let first = sets.next();
                for set in sets {
                    scope.spawn(move || (0..repeats).for_each(|_| work(set)));
                }
                if let Some(set) = first {
                    (0..repeats).for_each(|_| work(set));
                }
            });
        });
        total / time
    };
    let read = timed(|set| {
        black_box(sum(set));
    });
    let copy = timed(|set| copy(set, false)).max(timed(|set| copy(set, true)));
    Bandwidth { name, bytes: (bytes * threads) as f64, read, copy }
}

/// The sum of all elements, in independent lanes.
fn sum(set: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx") {
        // SAFETY: the feature was detected.
        return unsafe { wide::sum(set) };
    }
    let mut lanes = [0.0f32; 64];
    for chunk in set.chunks_exact(64) {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane += value);
    }
    lanes.iter().sum()
}

/// The first half into the second, by stores that bypass the caches or not.
fn copy(set: &mut [f32], streaming: bool) {
    let half = set.len() / 2;
    let (from, to) = set.split_at_mut(half);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx") {
        // SAFETY: the feature was detected.
        return unsafe { wide::copy(from, &mut to[..half], streaming) };
    }
    let _ = streaming;
    to[..half].copy_from_slice(from);
    black_box(to);
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx")]
    pub fn sum(set: &[f32]) -> f32 {
        let mut sums = [_mm256_setzero_ps(); 8];
        for chunk in set.chunks_exact(64) {
            for (lanes, part) in sums.iter_mut().zip(chunk.chunks_exact(8)) {
                // SAFETY: eight elements.
                *lanes = _mm256_add_ps(*lanes, unsafe { _mm256_loadu_ps(part.as_ptr()) });
            }
        }
        sums.into_iter().map(|lanes| _mm256_cvtss_f32(lanes)).sum()
    }

    /// Both are of one length. Streaming stores start at the first address that is a multiple of 32.
    #[target_feature(enable = "avx")]
    pub fn copy(from: &[f32], to: &mut [f32], streaming: bool) {
        let skipped = to.as_ptr().align_offset(32).min(to.len());
        let (from, to) = (&from[skipped..], &mut to[skipped..]);
        for (from, to) in from.chunks_exact(32).zip(to.chunks_exact_mut(32)) {
            for at in [0, 8, 16, 24] {
                // SAFETY: 32 elements; `to` is aligned.
                unsafe {
                    let lanes = _mm256_loadu_ps(from.as_ptr().add(at));
                    if streaming {
                        _mm256_stream_ps(to.as_mut_ptr().add(at), lanes);
                    } else {
                        _mm256_store_ps(to.as_mut_ptr().add(at), lanes);
                    }
                }
            }
        }
        std::hint::black_box(to);
    }
}
