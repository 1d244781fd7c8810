//! An output that is written in a loop with a run-time number of iterations.

use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s, scalar};

#[pypto::jit]
pub fn first_rows(#[shape(M, N)] x: &Tensor<f32, 2>, count: i64, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for i in 0..count {
        y.store([i, 0], x.tile([i, 0], [1, N]));
    }
}

pub fn case() -> Case {
    Case::of::<first_rows>([f32s([16, 16]), scalar(DType::I64, 4), f32s([16, 16])])
}
