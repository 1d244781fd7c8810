//! Parallel iterations that write the same rows.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn smear(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for i in parallel(range(0, M, 64)) {
        y.store([i, 0], x.tile([i, 0], [128, N]));
    }
}

pub fn case() -> Case {
    Case::of::<smear>([f32s([512, 16]), f32s([512, 16])])
}
