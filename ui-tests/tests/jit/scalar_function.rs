//! A function of a scalar whose last bits Rust leaves open.

use pypto::prelude::*;

use crate::{Case, f32s, scalar};
use pypto::ir::DType;

#[pypto::jit]
pub fn decay(#[shape(M, N)] x: &Tensor<f32, 2>, rate: f32, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    let scale = (-rate).exp();
    y.set(x * scale + rate.tan() + rate.powi(3));
}

pub fn case() -> Case {
    Case::of::<decay>([f32s([4, 8]), scalar(DType::F32, 0), f32s([4, 8])])
}
