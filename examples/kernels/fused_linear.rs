//! A linear layer with bias and GELU, written as one expression: the activation runs on each block of the product
//! while it is in cache.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, gelu_f64, matmul_f64, max_error, random, report, run, wide};

/// The exact, erf-based GELU.
#[pypto::function(inline)]
fn gelu(x: Tile<f32>) -> Tile<f32> {
    0.5 * x * (1.0 + (x * std::f32::consts::FRAC_1_SQRT_2).erf())
}

#[pypto::jit]
pub fn fused_linear(
    #[shape(M, K)] x: &Tensor<f32, 2>,
    #[shape(K, N)] w: &Tensor<f32, 2>,
    #[shape(1, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(gelu(matmul(x, w) + b));
}

pub fn main() -> Outcome {
    let (m, k, n) = (200, 384, 500);
    let (x, w, b) = (random([m, k], 12), random([k, n], 13), random([1, n], 14));
    let mut y = Tensor::zeros([m, n]);
    let time = best_time(|| run!(fused_linear; &x, &w, &b, &mut y))?;

    let mut expected = matmul_f64(&wide(&x), &wide(&w), m as usize, k as usize, n as usize);
    let bias = wide(&b);
    expected.iter_mut().enumerate().for_each(|(i, v)| *v = gelu_f64(*v + bias[i % n as usize]));
    report("fused_linear", max_error(&y, &expected), 5e-5, time)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
