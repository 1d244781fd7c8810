//! A tile that is cut by the tensor's edge is given another shape.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn flatten(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    for at in tiles([M, N], [64, 16]) {
        y.store([at.offset(0), 0], x.load(at).reshape([1, 1024]));
    }
}

pub fn case() -> Case {
    Case::of::<flatten>([f32s([100, 16]), f32s([100, 1024])])
}
