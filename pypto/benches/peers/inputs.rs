//! Arguments: numbers that look normally distributed, the same in every run.

use pypto::prelude::*;

/// Uniform numbers of 24 bits in `0..1`, from a 64-bit xorshift.
fn uniform(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u32 << 24) as f32
    }
}

/// Mean 0, variance 1: sums of four uniform numbers.
pub fn normal<const R: usize>(shape: [i64; R], seed: u64) -> Tensor<f32, R> {
    let mut next = uniform(seed);
    let mut element = || (next() + next() + next() + next() - 2.0) * 3f32.sqrt();
    Tensor::from_fn(shape, |_| element())
}

/// Integers in `0..limit`.
pub fn integers<const R: usize>(shape: [i64; R], limit: i32, seed: u64) -> Tensor<i32, R> {
    let mut next = uniform(seed);
    Tensor::from_fn(shape, |_| ((next() * limit as f32) as i32).min(limit - 1))
}

/// The elements of a row of a matrix, in f64.
pub fn row<T: Element + Into<f64>>(x: &Tensor<T, 2>, row: usize) -> Vec<f64> {
    let columns = x.dim(1) as usize;
    x.as_slice()[row * columns..][..columns].iter().map(|v| (*v).into()).collect()
}
