//! Root-mean-square normalization of each row, generic over the element type: f32 and f16 from one source.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, random, report, run, wide};

#[pypto::jit(meta(TM = 8))]
pub fn rms_norm<T: Element>(
    #[shape(M, N)] x: &Tensor<T, 2>,
    #[shape(1, N)] weight: &Tensor<T, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<T, 2>,
) {
    let weight = weight.load_all().cast::<f32>();
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at).cast::<f32>();
        let mean_square = (t * t).row_sum() / N as f32;
        y.store(at, (t * (mean_square + 1e-6).rsqrt() * weight).cast::<T>());
    }
}

/// The tensor in another element type. Outside of kernels, operations run eagerly.
fn converted<T: Element, U: Element>(x: &Tensor<T, 2>) -> Tensor<U, 2> {
    let mut y = Tensor::zeros(x.dims());
    y.set(x.cast::<U>());
    y
}

fn reference(x: &Tensor<f32, 2>, weight: &Tensor<f32, 2>) -> Vec<f64> {
    let (mut rows, weight) = (wide(x), wide(weight));
    for row in rows.chunks_mut(weight.len()) {
        let scale = (row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64 + 1e-6).sqrt();
        row.iter_mut().zip(&weight).for_each(|(x, w)| *x *= w / scale);
    }
    rows
}

pub fn main() -> Outcome {
    let (m, n) = (333, 1000);
    let (x, weight) = (random([m, n], 8), random([1, n], 9));
    let mut y = Tensor::zeros([m, n]);
    let time = best_time(|| run!(rms_norm::<f32>; &x, &weight, &mut y))?;
    report("rms_norm f32", max_error(&y, &reference(&x, &weight)), 2e-6, time)?;

    let (x, weight) = (converted::<f32, f16>(&x), converted::<f32, f16>(&weight));
    let mut y = Tensor::<f16, 2>::zeros([m, n]);
    let time = best_time(|| run!(rms_norm::<f16>; &x, &weight, &mut y))?;
    let (x, weight, y) = (converted(&x), converted(&weight), converted(&y));
    report("rms_norm f16", max_error(&y, &reference(&x, &weight)), 2e-3, time)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
