//! A product of vectors.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn dot(a: &Tensor<f32, 1>, b: &Tensor<f32, 1>, #[out] c: &mut Tensor<f32, 1>) {
    c.set(matmul(a, b));
}

pub fn case() -> Case {
    Case::of::<dot>([f32s([8]), f32s([8]), f32s([1])])
}
