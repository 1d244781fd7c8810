//! An output that is written only where a run-time value allows it.

use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s, scalar};

#[pypto::jit]
pub fn maybe(#[shape(M, N)] x: &Tensor<f32, 2>, enabled: bool, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    if enabled {
        y.set(x.exp());
    }
}

pub fn case() -> Case {
    Case::of::<maybe>([f32s([16, 16]), scalar(DType::Bool, 1), f32s([16, 16])])
}
