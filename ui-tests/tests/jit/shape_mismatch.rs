//! Two tiles whose extents disagree.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn add(a: &Tensor<f32, 2>, b: &Tensor<f32, 2>, #[out] c: &mut Tensor<f32, 2>) {
    let x = a.tile([0, 0], [64, 64]);
    let y = b.tile([0, 0], [64, 32]);
    c.store([0, 0], x + y);
}

pub fn case() -> Case {
    Case::of::<add>([f32s([64, 64]), f32s([64, 64]), f32s([64, 64])])
}
