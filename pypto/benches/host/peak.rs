//! The multiply-add rate of this machine: what every kernel's rate is held against.

/// GF/s of `threads` threads that do nothing but fused multiply-adds on registers.
pub fn peak_gflops(threads: usize) -> f64 {
    let rounds = 20;
    (0..rounds).map(|_| once(threads)).fold(0.0, f64::max)
}

#[cfg(target_arch = "x86_64")]
fn once(threads: usize) -> f64 {
    const STEPS: usize = 200_000;
    if !is_x86_feature_detected!("fma") {
        return 0.0;
    }
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // SAFETY: the feature was detected.
            scope.spawn(|| std::hint::black_box(unsafe { multiply_add(STEPS) }));
        }
        // SAFETY: the feature was detected.
        std::hint::black_box(unsafe { multiply_add(STEPS) });
    });
    (threads * STEPS * 12 * 8 * 2) as f64 / start.elapsed().as_secs_f64() / 1e9
}

/// Twelve independent chains of eight lanes: enough to fill two pipelines.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_add(steps: usize) -> f32 {
    use std::arch::x86_64::{_mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_set1_ps};
    let (a, b) = (_mm256_set1_ps(std::hint::black_box(0.999)), _mm256_set1_ps(std::hint::black_box(0.001)));
    let mut chains = [_mm256_set1_ps(1.0); 12];
    for _ in 0..steps {
        for chain in &mut chains {
            *chain = _mm256_fmadd_ps(*chain, a, b);
        }
    }
    chains.into_iter().map(|chain| _mm256_cvtss_f32(chain)).sum()
}

#[cfg(not(target_arch = "x86_64"))]
fn once(_: usize) -> f64 {
    0.0
}
