//! Two parameters disagree on a named extent.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn add(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(M, K)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, K)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(a + b);
}

pub fn case() -> Case {
    Case::of::<add>([f32s([64, 256]), f32s([64, 128]), f32s([64, 256])])
}
