//! Kernels that work on rows.

use pypto::kernels;
use pypto::prelude::*;

use crate::every_way::{Float, near, outputs, tame, wide};

/// Rows and columns around a tile of 16 rows.
const EXTENTS: [[i64; 2]; 6] = [[0, 5], [1, 1], [1, 67], [15, 13], [16, 32], [33, 17]];

/// The reference of a kernel from rows to rows.
fn by_row(x: &[f64], columns: i64, row: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    x.chunks(columns as usize).flat_map(row).collect()
}

fn softmax(row: &[f64]) -> Vec<f64> {
    let sum: f64 = row.iter().map(|x| x.exp()).sum();
    row.iter().map(|x| x.exp() / sum).collect()
}

fn check_softmax<T: Float>() {
    for [m, n] in EXTENTS {
        let x = tame::<T, 2>(1, [m, n]);
        let (y,) = outputs!(kernels::softmax::<T>, [&x], y = Tensor::<T, 2>::zeros([m, n]));
        near(&y, &by_row(&wide(&x), n, softmax));
        let (y,) = outputs!(kernels::log_softmax::<T>, [&x], y = Tensor::<T, 2>::zeros([m, n]));
        near(&y, &by_row(&wide(&x), n, |row| softmax(row).into_iter().map(f64::ln).collect()));
    }
}

#[test]
fn softmax_and_its_logarithm() {
    check_softmax::<f32>();
    check_softmax::<f16>();
    check_softmax::<bf16>();
}

fn check_normalization<T: Float>() {
    for [m, n] in EXTENTS {
        let (x, gamma, beta) = (tame::<T, 2>(1, [m, n]), tame::<T, 2>(2, [1, n]), tame::<T, 2>(3, [1, n]));
        let (scale, shift) = (wide(&gamma), wide(&beta));
        let zeros = || Tensor::<T, 2>::zeros([m, n]);
        let (y,) = outputs!(kernels::rms_norm::<T>, [&x, &gamma, 1e-3], y = zeros());
        let rms = |row: &[f64]| {
            let size = (row.iter().map(|x| x * x).sum::<f64>() / n as f64 + 1e-3).sqrt();
            row.iter().zip(&scale).map(|(x, g)| x / size * g).collect()
        };
        near(&y, &by_row(&wide(&x), n, rms));
        let (y,) = outputs!(kernels::layer_norm::<T>, [&x, &gamma, &beta, 1e-3], y = zeros());
        let layer = |row: &[f64]| {
            let mean = row.iter().sum::<f64>() / n as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
            let normed = row.iter().map(|x| (x - mean) / (variance + 1e-3).sqrt());
            normed.zip(scale.iter().zip(&shift)).map(|(x, (g, b))| x * g + b).collect()
        };
        near(&y, &by_row(&wide(&x), n, layer));
    }
}

#[test]
fn normalization() {
    check_normalization::<f32>();
    check_normalization::<f16>();
    check_normalization::<bf16>();
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

fn check_activation<T: Float>() {
    for [m, n] in EXTENTS {
        let (x, up) = (tame::<T, 2>(1, [m, n]), tame::<T, 2>(2, [m, n]));
        let zeros = || Tensor::<T, 2>::zeros([m, n]);
        let each = |f: fn(f64) -> f64| wide(&x).into_iter().map(f).collect::<Vec<f64>>();
        let (y,) = outputs!(kernels::gelu::<T>, [&x], y = zeros());
        near(&y, &each(pypto_examples::gelu_f64));
        let (y,) = outputs!(kernels::gelu_tanh::<T>, [&x], y = zeros());
        near(&y, &each(gelu_tanh));
        let (y,) = outputs!(kernels::silu::<T>, [&x], y = zeros());
        near(&y, &each(silu));
        let (y,) = outputs!(kernels::swiglu::<T>, [&x, &up], y = zeros());
        near(&y, &wide(&x).iter().zip(wide(&up)).map(|(x, up)| silu(*x) * up).collect::<Vec<f64>>());
    }
}

#[test]
fn activations() {
    check_activation::<f32>();
    check_activation::<f16>();
    check_activation::<bf16>();
}

#[test]
fn cross_entropy() {
    for [m, n] in EXTENTS {
        let logits = tame::<f32, 2>(1, [m, n]);
        let targets =
            Tensor::<i32, 2>::from_fn([m, 1], |[i, _]| if i % 5 == 4 { -100 } else { (i as i32 * 7) % n as i32 });
        let (loss,) =
            outputs!(kernels::cross_entropy::<f32>, [&logits, &targets], loss = Tensor::<f32, 2>::zeros([m, 1]));
        let rows = wide(&logits);
        let expected: Vec<f64> = rows
            .chunks(n as usize)
            .zip(targets.to_vec())
            .map(|(row, class)| if class < 0 { 0.0 } else { -softmax(row)[class as usize].ln() })
            .collect();
        near(&loss, &expected);
    }
    let too_large = Tensor::from_vec(vec![3], [1, 1]);
    let outcome = kernels::cross_entropy(&Tensor::<f32, 2>::zeros([1, 3]), &too_large, &mut Tensor::zeros([1, 1]));
    assert!(outcome.unwrap_err().to_string().contains("a target is the number of a column"));
}

#[test]
fn rope() {
    for [s, h, d] in [[0, 1, 2], [1, 1, 2], [5, 3, 14], [7, 2, 64]] {
        let (x, cos, sin) =
            (tame::<bf16, 3>(1, [s, h, d]), tame::<f32, 2>(2, [s, d / 2]), tame::<f32, 2>(3, [s, d / 2]));
        let (y,) = outputs!(kernels::rope::<bf16>, [&x, &cos, &sin], y = Tensor::<bf16, 3>::zeros([s, h, d]));
        let (x, cos, sin, half) = (wide(&x), wide(&cos), wide(&sin), (d / 2) as usize);
        let mut expected = vec![0.0; x.len()];
        for (head, (from, to)) in x.chunks(2 * half).zip(expected.chunks_mut(2 * half)).enumerate() {
            let position = head / h as usize;
            for k in 0..half {
                let (c, s) = (cos[position * half + k], sin[position * half + k]);
                to[k] = from[k] * c - from[half + k] * s;
                to[half + k] = from[half + k] * c + from[k] * s;
            }
        }
        near(&y, &expected);
    }
}
