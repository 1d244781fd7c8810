//! The multiply-add rate of this machine: what every kernel's rate is held against.

use std::time::Duration;

const STEPS: usize = 200_000;
/// Independent chains: enough to fill two pipelines.
const CHAINS: usize = 12;

/// GF/s of `threads` threads for which [`multiply_adds`] took that long.
pub fn gflops(threads: usize, time: Duration) -> f64 {
    (threads * STEPS * CHAINS * lanes() * 2) as f64 / time.as_secs_f64() / 1e9
}

#[cfg(target_arch = "x86_64")]
fn lanes() -> usize {
    if is_x86_feature_detected!("avx512f") { 16 } else { 8 }
}

#[cfg(not(target_arch = "x86_64"))]
fn lanes() -> usize {
    4
}

/// Keeps `threads` threads busy with nothing but fused multiply-adds on registers, the widest there are, for about 0.4 ms. To be timed
/// in turn with the kernel that it is compared with: how fast the machine is changes from one moment to the next.
#[cfg(target_arch = "x86_64")]
pub fn multiply_adds(threads: usize) {
    if !is_x86_feature_detected!("fma") {
        return;
    }
    let work = || {
        // SAFETY: the features were detected.
        std::hint::black_box(unsafe { if lanes() == 16 { multiply_add_512(STEPS) } else { multiply_add_256(STEPS) } });
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_add_256(steps: usize) -> f32 {
    use std::arch::x86_64::{_mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_set1_ps};
    let (a, b) = (_mm256_set1_ps(std::hint::black_box(0.999)), _mm256_set1_ps(std::hint::black_box(0.001)));
    let mut chains = [_mm256_set1_ps(1.0); CHAINS];
    for _ in 0..steps {
        for chain in &mut chains {
            *chain = _mm256_fmadd_ps(*chain, a, b);
        }
    }
    chains.into_iter().map(|chain| _mm256_cvtss_f32(chain)).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn multiply_add_512(steps: usize) -> f32 {
    use std::arch::x86_64::{_mm512_cvtss_f32, _mm512_fmadd_ps, _mm512_set1_ps};
    let (a, b) = (_mm512_set1_ps(std::hint::black_box(0.999)), _mm512_set1_ps(std::hint::black_box(0.001)));
    let mut chains = [_mm512_set1_ps(1.0); CHAINS];
    for _ in 0..steps {
        for chain in &mut chains {
            *chain = _mm512_fmadd_ps(*chain, a, b);
        }
    }
    chains.into_iter().map(|chain| _mm512_cvtss_f32(chain)).sum()
}

#[cfg(not(target_arch = "x86_64"))]
pub fn multiply_adds(_: usize) {}
