//! A chain of elementwise operations, written over whole tensors: the compiler tiles, fuses and spreads it over threads.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, random, report, run, wide};

/// `y = exp(-(a x + b)^2) tanh(x) + sqrt(|x|)`
#[pypto::jit]
pub fn chain(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    a: f32,
    b: f32,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let z = x * a + b;
    y.set((-(z * z)).exp() * x.tanh() + x.abs().sqrt());
}

pub fn main() -> Outcome {
    let x = random([517, 1023], 3);
    let mut y = Tensor::zeros([517, 1023]);
    let (a, b) = (0.7f32, 0.1f32);
    let time = best_time(|| run!(chain; &x, a, b, &mut y))?;

    let (a, b) = (f64::from(a), f64::from(b));
    let expected: Vec<f64> =
        wide(&x).iter().map(|x| (-(a * x + b).powi(2)).exp() * x.tanh() + x.abs().sqrt()).collect();
    report("elementwise", max_error(&y, &expected), 1e-6, time)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
