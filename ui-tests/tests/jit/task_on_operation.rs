//! A task is a call of an in-core function; an operation is none.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit(orchestration)]
pub fn named(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    #[task(t0)]
    y.set(x.load_all());
}

pub fn case() -> Case {
    Case::of::<named>([f32s([4, 4]), f32s([4, 4])])
}
