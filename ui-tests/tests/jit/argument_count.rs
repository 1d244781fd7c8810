//! A call with an argument too few.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn copy(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    y.set(x.load_all());
}

pub fn case() -> Case {
    Case::of::<copy>([f32s([4])])
}
