//! An operation that integers do not have.

use pypto::frontend::ArgumentSpec;
use pypto::ir::DType;
use pypto::prelude::*;

use crate::Case;

#[pypto::jit]
pub fn grow<T: Element>(x: &Tensor<T, 1>, #[out] y: &mut Tensor<T, 1>) {
    y.set(x.load_all().exp());
}

pub fn case() -> Case {
    let ints = |n| ArgumentSpec::Tensor { dtype: DType::I32, dims: vec![n], contiguous: true };
    Case::of::<grow>([ints(4), ints(4)]).types(&[DType::I32])
}
