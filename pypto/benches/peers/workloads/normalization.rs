//! Softmax and the normalizations of rows, by the library's kernels.

use std::rc::Rc;

use pypto::jit::Result;
use pypto::kernels;
use pypto::prelude::*;

use crate::inputs::{normal, row};
use crate::workload::{Prepared, Work, Workload, on, prepared};

const EPSILON: f32 = 1e-5;

pub fn workloads() -> Vec<Workload> {
    let rows =
        |name, m: i64, n: i64, prepare| Workload { name, work: Work::elements(m * n, m * n), tolerance: 2e-6, prepare };
    vec![
        rows("softmax 4096 x 1024", 4096, 1024, |t| softmax(t, 4096, 1024)),
        rows("softmax 128 x 32768", 128, 32768, |t| softmax(t, 128, 32768)),
        rows("softmax 64 x 128", 64, 128, |t| softmax(t, 64, 128)),
        rows("rms_norm 4096 x 1024", 4096, 1024, rms_norm),
        rows("layer_norm 4096 x 1024", 4096, 1024, layer_norm),
    ]
}

pub fn softmax_f64(row: &[f64]) -> Vec<f64> {
    let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exponentials: Vec<f64> = row.iter().map(|v| (v - highest).exp()).collect();
    let total: f64 = exponentials.iter().sum();
    exponentials.iter().map(|e| e / total).collect()
}

pub fn softmax(threads: usize, m: i64, n: i64) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([m, n], 1)), Tensor::zeros([m, n]));
    let compiled = kernels::softmax::<f32>.compile(&(&*x, &y), &on(threads))?;
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, y));
    Ok(prepared(y, m as usize, call, move |i| softmax_f64(&row(&input, i))))
}

fn rms_norm(threads: usize) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([4096, 1024], 1)), Tensor::zeros([4096, 1024]));
    let gamma = Rc::new(normal([1, 1024], 2));
    let compiled = kernels::rms_norm::<f32>.compile(&(&*x, &*gamma, EPSILON, &y), &on(threads))?;
    let (input, scale) = (x.clone(), gamma.clone());
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, &*gamma, EPSILON, y));
    let reference = move |i| {
        let values = row(&input, i);
        let mean_square = values.iter().map(|v| v * v).sum::<f64>() / 1024.0;
        let factor = 1.0 / (mean_square + f64::from(EPSILON)).sqrt();
        values.iter().zip(row(&scale, 0)).map(|(v, g)| v * factor * g).collect()
    };
    Ok(prepared(y, 4096, call, reference))
}

fn layer_norm(threads: usize) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([4096, 1024], 1)), Tensor::zeros([4096, 1024]));
    let (gamma, beta) = (Rc::new(normal([1, 1024], 2)), Rc::new(normal([1, 1024], 3)));
    let compiled = kernels::layer_norm::<f32>.compile(&(&*x, &*gamma, &*beta, EPSILON, &y), &on(threads))?;
    let (input, scale, shift) = (x.clone(), gamma.clone(), beta.clone());
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, &*gamma, &*beta, EPSILON, y));
    let reference = move |i| {
        let values = row(&input, i);
        let mean = values.iter().sum::<f64>() / 1024.0;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1024.0;
        let factor = 1.0 / (variance + f64::from(EPSILON)).sqrt();
        let affine = row(&scale, 0).into_iter().zip(row(&shift, 0));
        values.iter().zip(affine).map(|(v, (g, b))| (v - mean) * factor * g + b).collect()
    };
    Ok(prepared(y, 4096, call, reference))
}
