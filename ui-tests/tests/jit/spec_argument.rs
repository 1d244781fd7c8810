//! Code that depends on a scalar of the call.

use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s, scalar};

#[pypto::jit]
pub fn repeat(n: i64, x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let mut acc = x.load_all();
    for _i in unroll(0..n) {
        acc = acc * 2.0;
    }
    y.set(acc);
}

pub fn case() -> Case {
    Case::of::<repeat>([scalar(DType::I64, 3), f32s([8]), f32s([8])])
}
