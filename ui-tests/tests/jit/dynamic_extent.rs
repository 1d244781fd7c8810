//! A tile extent that is known at run time only.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn scale(#[shape(dyn B, D)] x: &Tensor<f32, 2>, #[out] #[shape(dyn B, D)] y: &mut Tensor<f32, 2>) {
    let t = x.tile([0, 0], [B / 2, D]);
    y.store([0, 0], t * 2.0);
}

pub fn case() -> Case {
    Case::of::<scale>([f32s([10, 64]), f32s([10, 64])])
}
