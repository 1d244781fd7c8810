//! Comparison of tensors bit for bit; any NaN equals any other.

use pypto::ir::DType;
use pypto::prelude::*;

/// Says where two tensors differ: how many elements, and the first of them. `None` if they are equal.
pub fn difference<T: Element, const R: usize>(got: &Tensor<T, R>, want: &Tensor<T, R>) -> Option<String> {
    if got.dims() != want.dims() {
        return Some(format!("extents {:?} instead of {:?}", got.dims(), want.dims()));
    }
    let (got, want) = (got.to_vec(), want.to_vec());
    let differs = |i: &usize| !same(got[*i], want[*i]);
    let at = (0..want.len()).find(differs)?;
    let count = (0..want.len()).filter(differs).count();
    Some(format!("{count} of {} differ, first {at}: {:?} instead of {:?}", want.len(), got[at], want[at]))
}

fn same<T: Element>(a: T, b: T) -> bool {
    a.to_bits64() == b.to_bits64() || is_nan(a.to_bits64(), T::DTYPE) && is_nan(b.to_bits64(), T::DTYPE)
}

/// Whether the bits are a NaN of the type.
pub fn is_nan(bits: u64, dtype: DType) -> bool {
    match dtype {
        DType::F32 => f32::from_bits(bits as u32).is_nan(),
        DType::F16 => f16::from_bits(bits as u16).is_nan(),
        DType::BF16 => bf16::from_bits(bits as u16).is_nan(),
        _ => false,
    }
}
