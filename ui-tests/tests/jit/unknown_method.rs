//! A method that exists only outside of kernels.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn gather(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    y.set(x.load_all());
    x.to_vec();
}

pub fn case() -> Case {
    Case::of::<gather>([f32s([8]), f32s([8])])
}
