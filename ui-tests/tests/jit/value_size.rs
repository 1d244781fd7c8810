//! A tile that no memory holds: found where it is written, not when a call allocates it.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn huge(#[shape(M)] x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let t = Tile::full([1 << 40, 2], 1.0f32);
    let mut s = Tensor::<f32, 2>::temp([M << 40, M]);
    s.set(t.get([0, 0]));
    y.set(t.get([0, 0]));
}

pub fn case() -> Case {
    Case::of::<huge>([f32s([4]), f32s([4])])
}
