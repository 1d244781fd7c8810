//! A message with a value of run time.

use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s, scalar};

#[pypto::jit]
pub fn counted(n: i64, #[shape(M)] x: &Tensor<f32, 1>, #[out] #[shape(M)] y: &mut Tensor<f32, 1>) {
    assert!(n < M, "{n} of {M} rows");
    y.set(x * 2.0);
}

pub fn case() -> Case {
    Case::of::<counted>([scalar(DType::I64, 0), f32s([100]), f32s([100])])
}
