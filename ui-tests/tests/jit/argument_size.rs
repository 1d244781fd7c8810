//! More elements than memory can hold.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn copy(#[shape(M)] x: &Tensor<f32, 1>, #[out] #[shape(M)] y: &mut Tensor<f32, 1>) {
    y.set(x.load_all());
}

pub fn case() -> Case {
    Case::of::<copy>([f32s([1 << 62]), f32s([1 << 62])])
}
