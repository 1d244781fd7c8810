//! `.lower(&(3, ..))`: an integer of a tuple that has no suffix.

use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s, scalar};

#[pypto::jit]
pub fn repeat(n: i64, x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    y.set(x * n as f32);
}

pub fn case() -> Case {
    Case::of::<repeat>([scalar(DType::I32, 3), f32s([8]), f32s([8])])
}
