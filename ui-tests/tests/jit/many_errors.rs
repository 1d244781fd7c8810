//! Independent errors are reported together; what follows from one is not.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn several(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let a = x.tile([0, 0], [64, 64]);
    let bad = a + x.tile([0, 0], [32, 64]);
    let follows = bad * 2.0;
    for i in 0..4 {
        let row = x.rows(i * 16 + 64, 16);
        y.store([0, 0], follows + row.load_all());
    }
    y.store([0, 0], matmul(a, x.tile([0, 0], [16, 64])));
}

pub fn case() -> Case {
    Case::of::<several>([f32s([64, 64]), f32s([64, 64])])
}
