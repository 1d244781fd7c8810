//! A meta parameter that the kernel does not declare.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit(meta(TM = 64))]
pub fn copy(#[shape(M)] x: &Tensor<f32, 1>, #[out] #[shape(M)] y: &mut Tensor<f32, 1>) {
    for at in tiles([M], [TM]) {
        y.store(at, x.load(at));
    }
}

pub fn case() -> Case {
    Case::of::<copy>([f32s([4]), f32s([4])]).meta("TN", 32)
}
