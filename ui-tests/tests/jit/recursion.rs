//! A function that calls itself.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::function(inline)]
fn again(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    again(x, y);
}

#[pypto::jit]
pub fn caller(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    again(x, y);
}

pub fn case() -> Case {
    Case::of::<caller>([f32s([8]), f32s([8])])
}
