//! An assertion that the extents make false.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit(meta(TM = 64))]
pub fn halves(#[shape(M)] x: &Tensor<f32, 1>, #[out] #[shape(M)] y: &mut Tensor<f32, 1>) {
    assert!(M % TM == 0, "{M} rows are not a multiple of {}, {{TM}}", TM);
    for at in tiles([M], [TM]) {
        y.store(at, x.load(at) * 0.5);
    }
}

pub fn case() -> Case {
    Case::of::<halves>([f32s([100]), f32s([100])])
}
