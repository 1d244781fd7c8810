//! A slice that reaches beyond its tile.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn halves(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let t = x.tile([0, 0], [64, 64]);
    y.store([0, 0], t.slice([0, 48], [64, 32]));
}

pub fn case() -> Case {
    Case::of::<halves>([f32s([64, 64]), f32s([64, 32])])
}
