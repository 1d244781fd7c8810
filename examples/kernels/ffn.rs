//! Feed-forward blocks over whole tensors: two products with a GELU between them, and three with a gated SiLU (SwiGLU);
//! each adds its input.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, gelu_f64, matmul_f64, max_error, random, report, run, wide};

#[pypto::function(inline)]
fn gelu(x: Tile<f32>) -> Tile<f32> {
    0.5 * x * (1.0 + (x * std::f32::consts::FRAC_1_SQRT_2).erf())
}

#[pypto::jit]
pub fn ffn(
    #[shape(M, D)] x: &Tensor<f32, 2>,
    #[shape(D, F)] w1: &Tensor<f32, 2>,
    #[shape(1, F)] b1: &Tensor<f32, 2>,
    #[shape(F, D)] w2: &Tensor<f32, 2>,
    #[shape(1, D)] b2: &Tensor<f32, 2>,
    #[out]
    #[shape(M, D)]
    y: &mut Tensor<f32, 2>,
) {
    let hidden = gelu(matmul(x, w1) + b1);
    y.set(matmul(hidden, w2) + b2 + x);
}

#[pypto::jit]
pub fn swiglu(
    #[shape(M, D)] x: &Tensor<f32, 2>,
    #[shape(D, F)] gate: &Tensor<f32, 2>,
    #[shape(D, F)] up: &Tensor<f32, 2>,
    #[shape(F, D)] down: &Tensor<f32, 2>,
    #[out]
    #[shape(M, D)]
    y: &mut Tensor<f32, 2>,
) {
    let g = matmul(x, gate);
    let hidden = g * g.sigmoid() * matmul(x, up);
    y.set(matmul(hidden, down) + x);
}

fn check_gelu() -> Outcome {
    let (m, d, f) = (130i64, 256i64, 1024i64);
    let (x, w1, b1) = (random([m, d], 15), random([d, f], 16), random([1, f], 17));
    let (w2, b2) = (random([f, d], 18), random([1, d], 19));
    let mut y = Tensor::zeros([m, d]);
    let time = best_time(|| run!(ffn; &x, &w1, &b1, &w2, &b2, &mut y))?;

    let (mu, du, fu) = (m as usize, d as usize, f as usize);
    let mut hidden = matmul_f64(&wide(&x), &wide(&w1), mu, du, fu);
    let (b1, b2, x) = (wide(&b1), wide(&b2), wide(&x));
    hidden.iter_mut().enumerate().for_each(|(i, v)| *v = gelu_f64(*v + b1[i % fu]));
    let mut expected = matmul_f64(&hidden, &wide(&w2), mu, fu, du);
    expected.iter_mut().enumerate().for_each(|(i, v)| *v += b2[i % du] + x[i]);
    report("ffn", max_error(&y, &expected), 5e-4, time)
}

fn check_swiglu() -> Outcome {
    let (m, d, f) = (130i64, 256i64, 512i64);
    let (x, gate, up, down) = (random([m, d], 15), random([d, f], 16), random([d, f], 17), random([f, d], 18));
    let mut y = Tensor::zeros([m, d]);
    let time = best_time(|| run!(swiglu; &x, &gate, &up, &down, &mut y))?;

    let (m, d, f) = (m as usize, d as usize, f as usize);
    let x = wide(&x);
    let mut hidden = matmul_f64(&x, &wide(&gate), m, d, f);
    let up = matmul_f64(&x, &wide(&up), m, d, f);
    hidden.iter_mut().zip(&up).for_each(|(g, u)| *g *= u / (1.0 + (-*g).exp()));
    let mut expected = matmul_f64(&hidden, &wide(&down), m, f, d);
    expected.iter_mut().zip(&x).for_each(|(e, x)| *e += x);
    // Sums of 512 products of hidden values up to 500.
    report("ffn, swiglu", max_error(&y, &expected), 2e-3, time)
}

pub fn main() -> Outcome {
    check_gelu()?;
    check_swiglu()
}

#[test]
fn checks_itself() {
    main().unwrap();
}
