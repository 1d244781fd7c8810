//! A parallel loop has no order in which a `break` could end it.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn stopped(#[shape(M, N)] x: &Tensor<f32, 2>, n: i64, y: &mut Tensor<f32, 2>) {
    for i in parallel(0..M) {
        if i >= n {
            break;
        }
        y.store([i, 0], x.tile([i, 0], [1, N]));
    }
}

pub fn case() -> Case {
    Case::of::<stopped>([f32s([8, 4]), crate::scalar(pypto::ir::DType::I64, 3), f32s([8, 4])])
}
