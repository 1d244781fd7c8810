//! Another element type and rank than the signature states, and a tensor for a scalar.

use pypto::frontend::ArgumentSpec;
use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn scale(x: &Tensor<f32, 2>, factor: f32, #[out] y: &mut Tensor<f32, 2>) {
    y.set(x * factor);
}

pub fn case() -> Case {
    let half = ArgumentSpec::Tensor { dtype: DType::F16, dims: vec![4], contiguous: true };
    Case::of::<scale>([half, f32s([1, 1]), f32s([4, 4])])
}
