//! Runs a kernel each way; inputs and outputs as f64.

use pypto::prelude::*;

/// A tensor's bits, all NaNs alike.
pub fn bits<T: Element, const R: usize>(x: &Tensor<T, R>) -> Vec<u64> {
    let canonical = |x: T| if pypto_tests::bits::is_nan(x.to_bits64(), T::DTYPE) { u64::MAX } else { x.to_bits64() };
    x.to_vec().into_iter().map(canonical).collect()
}

/// `outputs!(kernel, [inputs], y = contents, ..)`: the outputs as a tuple, after an eager, an interpreted and a compiled run gave the
/// same bits.
macro_rules! outputs {
    ($kernel:expr, [$($input:expr),* $(,)?], $($out:ident = $init:expr),+) => {{
        use pypto::config::{Platform, RunConfig};
        $(let mut $out = $init;)+
        $kernel.eager(($($input,)* $(&mut $out,)+));
        let expected = vec![$(crate::every_way::bits(&$out)),+];
        for platform in [Platform::Interpreter, Platform::Host] {
            $(let mut $out = $init;)+
            let config = RunConfig::new().with_cache(false).with_platform(platform).with_threads(2);
            let compiled = $kernel.compile(&($($input,)* $(&$out,)+), &config).unwrap_or_else(|e| panic!("{e}"));
            if platform == Platform::Host && pypto::tools::doctor::makes_machine_code() {
                assert_eq!(compiled.interpreted_kernels(), Vec::<&str>::new());
            }
            compiled.call(($($input,)* $(&mut $out,)+)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(vec![$(crate::every_way::bits(&$out)),+], expected, "{platform} differs from eager");
        }
        ($($out,)+)
    }};
}
pub(crate) use outputs;

/// Float types of inputs, with the error that one rounding to them may make of numbers up to 1.
pub trait Float: pypto_tests::fill::FromF32 {
    const ERROR: f64;
    fn to_f64(self) -> f64;
}

impl Float for f32 {
    const ERROR: f64 = 4e-6;
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Float for f16 {
    const ERROR: f64 = 3e-3;
    fn to_f64(self) -> f64 {
        f64::from(f32::from(self))
    }
}

impl Float for bf16 {
    const ERROR: f64 = 2e-2;
    fn to_f64(self) -> f64 {
        f64::from(f32::from(self))
    }
}

/// Numbers in [-1, 1).
pub fn tame<T: Float, const R: usize>(salt: u64, shape: [i64; R]) -> Tensor<T, R> {
    pypto_tests::fill::Fill::Tame.of::<T>().tensor(salt, shape)
}

/// The elements as f64.
pub fn wide<T: Float, const R: usize>(x: &Tensor<T, R>) -> Vec<f64> {
    x.to_vec().into_iter().map(T::to_f64).collect()
}

/// Checks a result against its reference: the error of the type, times the magnitude where that is above 1.
pub fn near<T: Float, const R: usize>(got: &Tensor<T, R>, want: &[f64]) {
    let got = wide(got);
    assert_eq!(got.len(), want.len());
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let bound = T::ERROR * want.abs().max(1.0);
        assert!((got - want).abs() <= bound, "element {i}: {got} instead of {want}");
    }
}
