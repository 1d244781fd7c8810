//! A callee's parameters disagree on an extent.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::function(incore)]
fn add_rows(#[shape(M, N)] a: &Tensor<f32, 2>, #[shape(M, N)] b: &Tensor<f32, 2>, #[out] c: &mut Tensor<f32, 2>) {
    c.set(a + b);
}

#[pypto::jit]
pub fn caller(a: &Tensor<f32, 2>, b: &Tensor<f32, 2>, #[out] c: &mut Tensor<f32, 2>) {
    add_rows(&a.rows(0, 32), &b.rows(0, 16), c);
}

pub fn case() -> Case {
    Case::of::<caller>([f32s([64, 8]), f32s([64, 8]), f32s([32, 8])])
}
