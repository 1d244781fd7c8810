//! A tensor is set to a tile of other extents.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn corner(x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    y.set(x.tile([0, 0], [16, 32]));
}

pub fn case() -> Case {
    Case::of::<corner>([f32s([64, 64]), f32s([32, 32])])
}
