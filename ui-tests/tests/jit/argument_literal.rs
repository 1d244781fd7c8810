//! An argument breaks a literal contract.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn copy(#[shape(M, 128)] x: &Tensor<f32, 2>, #[out] #[shape(M, 128)] y: &mut Tensor<f32, 2>) {
    y.set(x.load_all());
}

pub fn case() -> Case {
    Case::of::<copy>([f32s([4, 100]), f32s([4, 128])])
}
