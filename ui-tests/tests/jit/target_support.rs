//! An operation that an accelerator does not have.

use pypto::config::Platform;
use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn sorted(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    let t = x.load_all();
    y.set(t.gather(t.row_argsort()));
}

pub fn case() -> Case {
    Case::of::<sorted>([f32s([8, 32]), f32s([8, 32])]).on(Platform::A2a3Sim)
}
