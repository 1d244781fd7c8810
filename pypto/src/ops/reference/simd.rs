//! Runs a loop compiled for the vector instructions at hand.
//!
//! The loops of the reference semantics are plain Rust. Each is a [`Kernel`] whose `run` is inlined into two callers, one
//! compiled for the baseline and one for AVX2 with FMA and F16C, and [`dispatch`] picks at run time. Both give the same
//! bits: no operation is contracted or reassociated, and `mul_add` is exact in both.

/// A loop to be compiled more than once. `run` must be `#[inline(always)]`, and so must what it calls in the loop.
pub trait Kernel {
    type Output;

    fn run(self) -> Self::Output;
}

/// Runs the best compiled form of the kernel.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
    {
        // SAFETY: the features were detected just now.
        return unsafe { run_avx2(kernel) };
    }
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}
