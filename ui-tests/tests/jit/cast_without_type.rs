//! A conversion whose element type only Rust can infer.

use pypto::frontend::ArgumentSpec;
use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn convert(x: &Tensor<f16, 1>, #[out] y: &mut Tensor<f32, 1>) {
    y.set(x.cast());
}

pub fn case() -> Case {
    let half = ArgumentSpec::Tensor { dtype: DType::F16, dims: vec![4], contiguous: true };
    Case::of::<convert>([half, f32s([4])])
}
