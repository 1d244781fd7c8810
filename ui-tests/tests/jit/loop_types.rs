//! A variable that becomes smaller in a loop.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn collapse(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let mut acc = x.tile([0, 0], [64, 64]);
    for _i in 0..4 {
        acc = acc.row_sum();
    }
    y.store([0, 0], acc);
}

pub fn case() -> Case {
    Case::of::<collapse>([f32s([64, 64]), f32s([64, 1])])
}
