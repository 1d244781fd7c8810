//! More stages than any target has.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn sum(#[shape(K)] x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let mut acc = Tile::<f32, 1>::zeros([64]);
    for k in pipeline(range(0, K, 64), 8) {
        acc = acc + x.tile([k], [64]);
    }
    y.store([0], acc);
}

pub fn case() -> Case {
    Case::of::<sum>([f32s([512]), f32s([64])])
}
