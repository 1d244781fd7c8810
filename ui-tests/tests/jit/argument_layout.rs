//! A strided view where the kernel was specialized for contiguous memory.

use pypto::frontend::ArgumentSpec;
use pypto::ir::DType;
use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn copy(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    y.set(x.load_all());
}

pub fn case() -> Case {
    let strided = ArgumentSpec::Tensor { dtype: DType::F32, dims: vec![4, 4], contiguous: false };
    Case::of::<copy>([strided, f32s([4, 4])])
}
