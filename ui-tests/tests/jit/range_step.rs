//! A step of a range that is not positive.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn backwards(#[shape(M)] x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in range(M, 0, -1) {
        y.put([i], x.get([i]));
    }
}

pub fn case() -> Case {
    Case::of::<backwards>([f32s([8]), f32s([8])])
}
