//! Orchestration: in-core functions called on row slices become tasks. The edge from `normalize` to `project` follows
//! from the slices that they write and read; different slices run in parallel.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, matmul_f64, max_error, random, report, run, wide};

#[pypto::function(incore)]
fn normalize(
    #[shape(R, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(R, N)]
    y: &mut Tensor<f32, 2>,
) {
    let t = x.load_all();
    y.set(t * ((t * t).row_sum() / N as f32 + 1e-6).rsqrt());
}

#[pypto::function(incore)]
fn project(
    #[shape(R, K)] x: &Tensor<f32, 2>,
    #[shape(K, N)] w: &Tensor<f32, 2>,
    #[out]
    #[shape(R, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(matmul(x, w));
}

#[pypto::function(incore)]
fn add_first_row(#[shape(1, N)] first: &Tensor<f32, 2>, #[shape(R, N)] y: &mut Tensor<f32, 2>) {
    y.set(y.load_all() + first);
}

#[pypto::jit(orchestration, meta(ROWS = 32))]
pub fn layer(
    #[shape(M, K)] x: &Tensor<f32, 2>,
    #[shape(K, N)] w: &Tensor<f32, 2>,
    #[shape(1, N)] bias: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut h = Tensor::temp([M, K]);
    for r in parallel(range(0, M, ROWS)) {
        normalize(&x.rows(r, ROWS), &mut h.rows_mut(r, ROWS));
        project(&h.rows(r, ROWS), w, &mut y.rows_mut(r, ROWS));
    }
    add_first_row(bias, y);
}

pub fn main() -> Outcome {
    let (m, k, n) = (256i64, 128i64, 192i64);
    let (x, w, bias) = (random([m, k], 23), random([k, n], 24), random([1, n], 25));
    let mut y = Tensor::zeros([m, n]);
    let time = best_time(|| run!(layer; &x, &w, &bias, &mut y))?;

    let mut h = wide(&x);
    for row in h.chunks_mut(k as usize) {
        let scale = (row.iter().map(|x| x * x).sum::<f64>() / k as f64 + 1e-6).sqrt();
        row.iter_mut().for_each(|x| *x /= scale);
    }
    let mut expected = matmul_f64(&h, &wide(&w), m as usize, k as usize, n as usize);
    let bias = wide(&bias);
    expected.iter_mut().enumerate().for_each(|(i, v)| *v += bias[i % n as usize]);
    report("task_graph", max_error(&y, &expected), 5e-5, time)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
