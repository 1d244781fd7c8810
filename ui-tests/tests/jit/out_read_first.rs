//! An output that is read before it is written.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn accumulate(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let before = y.load_all();
    y.set(before + x);
}

pub fn case() -> Case {
    Case::of::<accumulate>([f32s([8]), f32s([8])])
}
