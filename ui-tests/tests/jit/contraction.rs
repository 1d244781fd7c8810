//! The inner extents of a product differ.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn gemm(a: &Tensor<f32, 2>, b: &Tensor<f32, 2>, #[out] c: &mut Tensor<f32, 2>) {
    let x = a.tile([0, 0], [128, 64]);
    let y = b.tile([0, 0], [32, 128]);
    c.store([0, 0], matmul(x, y));
}

pub fn case() -> Case {
    Case::of::<gemm>([f32s([128, 64]), f32s([64, 128]), f32s([128, 128])])
}
