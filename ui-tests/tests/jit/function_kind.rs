//! Memory allocated in an in-core function.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::function(incore)]
fn smooth(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let mut h = Tensor::<f32, 1>::temp([x.dim(0)]);
    h.set(x * 0.5);
    y.set(&h * 0.5);
}

#[pypto::jit]
pub fn caller(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    smooth(x, y);
}

pub fn case() -> Case {
    Case::of::<caller>([f32s([8]), f32s([8])])
}
