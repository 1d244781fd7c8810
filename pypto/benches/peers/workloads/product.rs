//! Products of matrices: square, with few rows, of short floats and bytes, and a feed-forward block.

use std::rc::Rc;

use pypto::jit::Result;
use pypto::kernels::inline::gelu_tanh;
use pypto::prelude::*;

use crate::inputs::{integers, normal, row};
use crate::workload::{Prepared, Work, Workload, on, prepared};

pub fn workloads() -> Vec<Workload> {
    vec![
        square("matmul 256", 256, |t| of_f32(t, 256, 256, 256)),
        square("matmul 512", 512, |t| of_f32(t, 512, 512, 512)),
        square("matmul 1024", 1024, |t| of_f32(t, 1024, 1024, 1024)),
        square("matmul 2048", 2048, |t| of_f32(t, 2048, 2048, 2048)),
        skinny("matmul 1 x 4096 x 4096", 1, |t| of_f32(t, 1, 4096, 4096)),
        skinny("matmul 8 x 4096 x 4096", 8, |t| of_f32(t, 8, 4096, 4096)),
        skinny("matmul 64 x 4096 x 4096", 64, |t| of_f32(t, 64, 4096, 4096)),
        short("matmul f16 1024", 1.0, |t| short_floats(t, f16::from_f32)),
        short("matmul bf16 1024", multiply_adds_of_bf16(), |t| short_floats(t, bf16::from_f32)),
        Workload {
            name: "matmul i8 in, 1024",
            work: Work {
                at_once: multiply_adds_of_bytes(),
                written: 4.0 * 1024.0 * 1024.0,
                ..work(1024, 1024, 1024, 1.0)
            },
            tolerance: 0.0,
            prepare: bytes,
        },
        Workload {
            name: "ffn 512 x 768 x 3072",
            work: Work::new(
                2.0 * 2.0 * 512.0 * 768.0 * 3072.0,
                4.0 * (2.0 * 768.0 * 3072.0 + 512.0 * 768.0),
                4.0 * 512.0 * 768.0,
            ),
            tolerance: 2e-5,
            prepare: feed_forward,
        },
    ]
}

fn square(name: &'static str, n: i64, prepare: fn(usize) -> Result<Prepared>) -> Workload {
    Workload { name, work: work(n, n, n, 4.0), tolerance: 1e-5, prepare }
}

fn skinny(name: &'static str, m: i64, prepare: fn(usize) -> Result<Prepared>) -> Workload {
    Workload { name, work: work(m, 4096, 4096, 4.0), tolerance: 1e-5, prepare }
}

/// Sums are of f32; what is written is f16 or bf16, whose rounding is the error.
fn short(name: &'static str, at_once: f64, prepare: fn(usize) -> Result<Prepared>) -> Workload {
    Workload { name, work: Work { at_once, ..work(1024, 1024, 1024, 2.0) }, tolerance: 4e-3, prepare }
}

#[cfg(target_arch = "x86_64")]
fn multiply_adds_of_bf16() -> f64 {
    if is_x86_feature_detected!("avx512bf16") { 2.0 } else { 1.0 }
}

#[cfg(not(target_arch = "x86_64"))]
fn multiply_adds_of_bf16() -> f64 {
    1.0
}

#[cfg(target_arch = "x86_64")]
fn multiply_adds_of_bytes() -> f64 {
    if is_x86_feature_detected!("avx512vnni") { 4.0 } else { 2.0 }
}

#[cfg(not(target_arch = "x86_64"))]
fn multiply_adds_of_bytes() -> f64 {
    1.0
}

fn work(m: i64, k: i64, n: i64, size: f64) -> Work {
    let (m, k, n) = (m as f64, k as f64, n as f64);
    Work::new(2.0 * m * k * n, size * (m * k + k * n), size * m * n)
}

#[pypto::jit]
pub fn product(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(matmul(a, b));
}

#[pypto::jit]
fn short_product<T: Element>(
    #[shape(M, K)] a: &Tensor<T, 2>,
    #[shape(K, N)] b: &Tensor<T, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<T, 2>,
) {
    c.set(matmul(a, b).cast::<T>());
}

#[pypto::jit]
fn product_of_bytes(
    #[shape(M, K)] a: &Tensor<i8, 2>,
    #[shape(K, N)] b: &Tensor<i8, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<i32, 2>,
) {
    c.set(matmul(a, b));
}

#[pypto::jit]
fn ffn(
    #[shape(M, D)] x: &Tensor<f32, 2>,
    #[shape(D, F)] w1: &Tensor<f32, 2>,
    #[shape(1, F)] b1: &Tensor<f32, 2>,
    #[shape(F, D)] w2: &Tensor<f32, 2>,
    #[shape(1, D)] b2: &Tensor<f32, 2>,
    #[out]
    #[shape(M, D)]
    y: &mut Tensor<f32, 2>,
) {
    let hidden = gelu_tanh(matmul(x, w1) + b1);
    y.set(matmul(hidden, w2) + b2);
}

/// A row times a matrix.
pub fn row_times<T: Element + Into<f64>>(row: &[f64], matrix: &Tensor<T, 2>) -> Vec<f64> {
    let columns = matrix.dim(1) as usize;
    let mut sums = vec![0.0; columns];
    for (factor, values) in row.iter().zip(matrix.as_slice().chunks_exact(columns)) {
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * Into::<f64>::into(*value));
    }
    sums
}

pub fn of_f32(threads: usize, m: i64, k: i64, n: i64) -> Result<Prepared> {
    let (a, b, c) = (Rc::new(normal([m, k], 1)), Rc::new(normal([k, n], 2).into_weights()), Tensor::zeros([m, n]));
    let compiled = product.compile(&(&*a, &*b, &c), &on(threads))?;
    let (left, right) = (a.clone(), b.clone());
    let call = move |c: &mut Tensor<f32, 2>| compiled.call((&*a, &*b, c));
    Ok(prepared(c, m as usize, call, move |i| row_times(&row(&left, i), &right)))
}

fn short_floats<T: Element + Into<f64>>(threads: usize, round: fn(f32) -> T) -> Result<Prepared> {
    let narrow = |seed| {
        let wide = normal([1024, 1024], seed);
        Rc::new(Tensor::<T, 2>::from_vec(wide.as_slice().iter().map(|v| round(*v)).collect(), [1024, 1024]))
    };
    let (a, b, c) = (narrow(1), narrow(2), Tensor::<T, 2>::zeros([1024, 1024]));
    let compiled = short_product::<T>.compile(&(&*a, &*b, &c), &on(threads))?;
    let (left, right) = (a.clone(), b.clone());
    let call = move |c: &mut Tensor<T, 2>| compiled.call((&*a, &*b, c));
    Ok(prepared(c, 1024, call, move |i| row_times(&row(&left, i), &right)))
}

fn bytes(threads: usize) -> Result<Prepared> {
    let matrix = |seed| {
        let numbers = integers([1024, 1024], 256, seed);
        Rc::new(Tensor::<i8, 2>::from_vec(numbers.as_slice().iter().map(|v| *v as i8).collect(), [1024, 1024]))
    };
    let (a, b, c) = (matrix(1), matrix(2), Tensor::<i32, 2>::zeros([1024, 1024]));
    let compiled = product_of_bytes.compile(&(&*a, &*b, &c), &on(threads))?;
    let (left, right) = (a.clone(), b.clone());
    let call = move |c: &mut Tensor<i32, 2>| compiled.call((&*a, &*b, c));
    Ok(prepared(c, 1024, call, move |i| row_times(&row(&left, i), &right)))
}

pub fn gelu_tanh_f64(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh())
}

fn feed_forward(threads: usize) -> Result<Prepared> {
    let (m, d, f) = (512, 768, 3072);
    let x = Rc::new(normal([m, d], 1));
    let (w1, w2) = (normal([d, f], 2).into_weights(), normal([f, d], 4).into_weights());
    let weights = Rc::new((w1, normal([1, f], 3), w2, normal([1, d], 5)));
    let y = Tensor::zeros([m, d]);
    let (w1, b1, w2, b2) = &*weights;
    let compiled = ffn.compile(&(&*x, w1, b1, w2, b2, &y), &on(threads))?;
    let (input, all) = (x.clone(), weights.clone());
    let call = move |y: &mut Tensor<f32, 2>| {
        let (w1, b1, w2, b2) = &*weights;
        compiled.call((&*x, w1, b1, w2, b2, y))
    };
    let reference = move |i| {
        let (w1, b1, w2, b2) = &*all;
        let mut hidden = row_times(&row(&input, i), w1);
        hidden.iter_mut().zip(row(b1, 0)).for_each(|(h, b)| *h = gelu_tanh_f64(*h + b));
        let mut result = row_times(&hidden, w2);
        result.iter_mut().zip(row(b2, 0)).for_each(|(r, b)| *r += b);
        result
    };
    Ok(prepared(y, m as usize, call, reference))
}
