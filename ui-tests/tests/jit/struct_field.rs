//! Errors about a field of a struct parameter call it by its path.

use pypto::prelude::*;

use crate::{Case, f32s};

#[derive(pypto::Args)]
pub struct Linear<'a> {
    weight: &'a Tensor<f32, 2>,
    bias: &'a Tensor<f32, 2>,
}

#[pypto::jit]
pub fn forward(x: &Tensor<f32, 2>, w: &Linear<'_>, #[out] y: &mut Tensor<f32, 2>) {
    y.set(matmul(x, w.weight) + w.bias);
}

pub fn case() -> Case {
    Case::of::<forward>([f32s([4, 8]), f32s([16, 2]), f32s([1, 2]), f32s([4, 2])])
}
