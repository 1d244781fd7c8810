//! An output that nothing is written to.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn forget(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>, #[out] z: &mut Tensor<f32, 1>) {
    y.set(x * 2.0);
}

pub fn case() -> Case {
    Case::of::<forget>([f32s([8]), f32s([8]), f32s([8])])
}
