//! Parallel iterations that add to one element.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn total(#[shape(M, N)] x: &Tensor<f32, 2>, sum: &mut Tensor<f32, 1>) {
    for i in parallel(0..M) {
        let row = x.tile([i, 0], [1, N]).row_sum();
        sum.put([0], sum.get([0]) + row.get([0, 0]));
    }
}

pub fn case() -> Case {
    Case::of::<total>([f32s([64, 16]), f32s([1])])
}
