//! What the machine can do at best, measured in a few milliseconds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::runtime::error::Result;

/// Rates of a number of threads together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub threads: usize,
    /// Operations on `f32` a second; a multiply-add is two.
    pub flops: f64,
    /// Bytes read and written a second, of as many bytes as the kernel moves.
    pub bandwidth: f64,
}

/// Bytes that a bandwidth is measured with: from what fits into the first cache to what fits into none.
const MOVED: std::ops::RangeInclusive<usize> = (16 << 10)..=(128 << 20);

impl Limits {
    /// Measures; `bytes` says how many bytes the kernel reads and writes, which decides the caches that they fit into.
    pub fn measure(threads: usize, bytes: f64) -> Limits {
        let threads = threads.max(1);
        let bytes = (bytes as usize).clamp(*MOVED.start(), *MOVED.end()) / threads;
        Limits { threads, flops: flops(threads), bandwidth: bandwidth(threads, bytes) }
    }
}

/// The least time of calls during about 50 milliseconds, but at least three.
pub(super) fn best(call: &mut impl FnMut() -> Result<()>) -> Result<Duration> {
    call()?;
    let (start, mut best, mut calls) = (Instant::now(), Duration::MAX, 0u32);
    while calls < 3 || start.elapsed() < Duration::from_millis(50) {
        let before = Instant::now();
        call()?;
        best = best.min(before.elapsed());
        calls += 1;
    }
    Ok(best)
}

/// The least time of some runs on every thread at once, in seconds.
fn best_together(threads: usize, runs: usize, work: impl Fn(usize) + Sync) -> f64 {
    let once = || {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 1..threads {
                let work = &work;
                scope.spawn(move || work(thread));
            }
            work(0);
        });
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Multiply-adds of each of the independent chains in one run.
const STEPS: usize = 100_000;
const CHAINS: usize = 12;

fn flops(threads: usize) -> f64 {
    let lanes = if wide() { 8 } else { 4 };
    let time = best_together(threads, 12, |_| {
        black_box(chains());
    });
    (threads * STEPS * CHAINS * lanes * 2) as f64 / time
}

#[cfg(target_arch = "x86_64")]
fn wide() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn wide() -> bool {
    false
}

/// Independent chains of multiply-adds, as many as fill the pipelines.
fn chains() -> f32 {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: the features were detected.
        return unsafe { wide_chains() };
    }
    let (a, b) = (black_box(0.999f32), black_box(0.001f32));
    let mut all = [[1.0f32; 4]; CHAINS];
    for _ in 0..STEPS {
        all.iter_mut().flatten().for_each(|value| *value = *value * a + b);
    }
    all.iter().flatten().sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn wide_chains() -> f32 {
    use std::arch::x86_64::{_mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_set1_ps};
    let (a, b) = (_mm256_set1_ps(black_box(0.999)), _mm256_set1_ps(black_box(0.001)));
    let mut all = [_mm256_set1_ps(1.0); CHAINS];
    for _ in 0..STEPS {
        for chain in &mut all {
            *chain = _mm256_fmadd_ps(*chain, a, b);
        }
    }
    all.into_iter().map(|chain| _mm256_cvtss_f32(chain)).sum()
}

/// Half of the bytes of each thread are copied to the other half.
fn bandwidth(threads: usize, bytes: usize) -> f64 {
    let half = (bytes / 2).max(64);
    let repeats = ((4 << 20) / bytes.max(1)).clamp(1, 256);
    let sets: Vec<std::sync::Mutex<Vec<u8>>> = (0..threads).map(|_| vec![1; 2 * half].into()).collect();
    let time = best_together(threads, 6, |thread| {
        let mut set = sets[thread].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (from, to) = set.split_at_mut(half);
        for _ in 0..repeats {
            black_box(&mut *to).copy_from_slice(black_box(from));
        }
    });
    (threads * repeats * 2 * half) as f64 / time
}
