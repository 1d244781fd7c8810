//! A tensor that is chosen at run time.

use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s, scalar};

#[pypto::jit]
pub fn pick(first: bool, a: &Tensor<f32, 1>, b: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let chosen = if first { a } else { b };
    y.set(chosen * 2.0);
}

pub fn case() -> Case {
    Case::of::<pick>([scalar(DType::Bool, 1), f32s([8]), f32s([8]), f32s([8])])
}
