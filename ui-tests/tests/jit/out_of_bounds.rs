//! A view that reaches beyond the tensor.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn tail(a: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let last = a.rows(448, 128);
    y.set(last.load_all());
}

pub fn case() -> Case {
    Case::of::<tail>([f32s([512, 16]), f32s([128, 16])])
}
