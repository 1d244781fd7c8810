//! A returned tensor whose extent is computed at run time.

use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s, scalar};

#[pypto::jit]
pub fn first(n: i64, x: &Tensor<f32, 1>) -> Tensor<f32, 1> {
    let mut y = Tensor::<f32, 1>::temp([n + 1]);
    y.set(x.rows(0, n + 1).load_all() * 2.0);
    y
}

pub fn case() -> Case {
    Case::of::<first>([scalar(DType::I64, 4), f32s([8])])
}
