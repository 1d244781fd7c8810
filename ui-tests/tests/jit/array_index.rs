//! An index outside of an array.

use pypto::frontend::ArgumentSpec;
use pypto::ir::DType;
use pypto::prelude::*;

use crate::Case;

#[pypto::jit]
pub fn fill(#[out] #[shape(M)] y: &mut Tensor<i64, 1>) {
    let primes = [2, 3, 5];
    for i in unroll(0..M) {
        y.put([i], primes[i as usize]);
    }
}

pub fn case() -> Case {
    let out = ArgumentSpec::Tensor { dtype: DType::I64, dims: vec![4], contiguous: true };
    Case::of::<fill>([out])
}
