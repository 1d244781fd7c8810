//! A grid that leaves out the last rows.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit(meta(TM = 128))]
pub fn scale(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for (i, _j) in grid(M / TM, 1) {
        y.store([i * TM, 0], x.tile([i * TM, 0], [TM, N]) * 2.0);
    }
}

pub fn case() -> Case {
    Case::of::<scale>([f32s([1000, 64]), f32s([1000, 64])])
}
