//! A view without elements whose offset lies outside.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn outside(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    y.set(x.rows(100, 0).col_sum());
}

pub fn case() -> Case {
    Case::of::<outside>([f32s([64, 8]), f32s([1, 8])])
}
