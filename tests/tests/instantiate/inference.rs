//! Element types that only Rust's inference knows: settled when the value meets one of a known type.

use pypto::prelude::*;

use crate::{agree, sample};

#[pypto::jit]
pub fn half_sum(x: &Tensor<f16, 2>, #[out] y: &mut Tensor<f16, 2>) {
    let mut acc = Tile::zeros([1, 8]);
    for i in 0..x.dim(0) {
        acc = acc + x.tile([i, 0], [1, 8]);
    }
    y.store([0, 0], acc);
}

#[test]
fn tiles_without_a_type() {
    let x = Tensor::from_fn([5, 8], |[i, j]| f16::from_f32((i * j) as f32 / 4.0));
    agree!(half_sum(&x; f16, [1, 8]));
}

#[pypto::jit]
pub fn counted(n: i32, #[out] y: &mut Tensor<i32, 1>) {
    let mut i = 0;
    let mut sum = 0;
    while i < n {
        sum += i * i;
        i += 1;
    }
    let last = if n > 3 { 1 } else { sum };
    y.put([0], sum);
    y.put([1], last);
}

#[test]
fn literals_in_loops_and_branches() {
    for n in [0, 3, 9] {
        agree!(counted(n; i32, [2]));
    }
}

#[pypto::jit]
pub fn masked(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let columns = Tile::iota([1, N], 1, 0i32);
    let rows = Tile::iota([M, 1], 0, 0i32);
    y.set(columns.le(rows).select(x, f32::NEG_INFINITY));
}

#[test]
fn causal_masks() {
    let x = sample([4, 5]);
    agree!(masked(&x; f32, [4, 5]));
}

#[pypto::jit]
pub fn converted(#[shape(M, N)] x: &Tensor<f32, 2>, h: &Tensor<f16, 2>, #[out] y: &mut Tensor<i32, 2>) {
    let narrow: Tile<f16> = (x.load_all() * 4.0).cast();
    let sum = narrow + h.load_all();
    let same: Tile<f32> = x.load_all().cast();
    let wide = sum.cast() + same * 8.0;
    y.set(wide.cast_with(Round::Floor));
}

#[test]
fn conversions_to_a_type_that_a_later_use_tells() {
    let x = sample([3, 5]);
    let h = Tensor::from_fn([3, 5], |[i, j]| f16::from_f32((i - j) as f32 / 4.0));
    agree!(converted(&x, &h; i32, [3, 5]));
}

#[pypto::jit]
pub fn flagged(n: i32, #[out] y: &mut Tensor<i32, 1>) {
    let mut found = 0;
    if n > 3 {
        found = 1;
    }
    let mut steps = 5;
    if n < 2 {
        steps += 1;
    } else if n == 7 {
        steps = n;
    }
    let mut kept = 0;
    if n > 5 {
    } else {
        kept = 2;
    }
    let mut pair = (0, 1);
    if n > 0 {
        pair = (n, 2);
    }
    let mut count = 0;
    for i in 0..4 {
        if i * 2 > 3 {
            count = 1;
        }
    }
    y.put([0], found);
    y.put([1], steps);
    y.put([2], kept);
    y.put([3], pair.0);
    y.put([4], pair.1);
    y.put([5], count);
}

#[test]
fn literals_that_one_branch_replaces() {
    for n in [0, 1, 3, 4, 7, 9] {
        agree!(flagged(n; i32, [6]));
    }
}
