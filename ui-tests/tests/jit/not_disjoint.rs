//! Parallel iterations whose independence depends on data.

use pypto::frontend::ArgumentSpec;
use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn scatter(index: &Tensor<i64, 1>, #[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for i in parallel(0..M) {
        let row = index.get([i]);
        y.store([row, 0], x.tile([i, 0], [1, N]));
    }
}

pub fn case() -> Case {
    let index = ArgumentSpec::Tensor { dtype: DType::I64, dims: vec![64], contiguous: true };
    Case::of::<scatter>([index, f32s([64, 8]), f32s([64, 8])])
}
