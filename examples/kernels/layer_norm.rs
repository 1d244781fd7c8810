//! Layer normalization of each row, with scale and shift.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, random, report, run, wide};

const EPSILON: f32 = 1e-5;

#[pypto::jit(meta(TM = 16))]
pub fn layer_norm(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(1, N)] gamma: &Tensor<f32, 2>,
    #[shape(1, N)] beta: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let (scale, shift) = (gamma.load_all(), beta.load_all());
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let centred = t - t.row_sum() / N as f32;
        let variance = (centred * centred).row_sum() / N as f32;
        y.store(at, centred * (variance + EPSILON).rsqrt() * scale + shift);
    }
}

pub fn main() -> Outcome {
    let (m, n) = (501, 768);
    let (x, gamma, beta) = (random([m, n], 5), random([1, n], 6), random([1, n], 7));
    let mut y = Tensor::zeros([m, n]);
    let time = best_time(|| run!(layer_norm; &x, &gamma, &beta, &mut y))?;

    let (gamma, beta) = (wide(&gamma), wide(&beta));
    let mut expected = wide(&x);
    for row in expected.chunks_mut(n as usize) {
        let mean = row.iter().sum::<f64>() / n as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        for (x, (g, b)) in row.iter_mut().zip(gamma.iter().zip(&beta)) {
            *x = (*x - mean) / (variance + f64::from(EPSILON)).sqrt() * g + b;
        }
    }
    report("layer_norm", max_error(&y, &expected), 2e-6, time)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
