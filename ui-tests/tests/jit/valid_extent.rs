//! More valid elements than there are.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn padded(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    let t = x.load_all().set_valid([5, N]);
    y.set(t.fillpad(0.0));
}

pub fn case() -> Case {
    Case::of::<padded>([f32s([4, 8]), f32s([4, 8])])
}
