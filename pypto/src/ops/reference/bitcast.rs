//! The bits of elements as another type of the same width.

use half::{bf16, f16};

use super::array::Array;
use super::element::{Element, with_element};
use super::error::{Error, Result};
use super::map::map1;
use crate::ir::DType;

/// The bits of each element as the other type. A NaN gives the bits of the quiet NaN without a sign: which one an
/// operation makes is not defined, and integers would tell.
pub fn bitcast(x: &Array, to: DType) -> Result<Array> {
    const OP: &str = "bitcast";
    for dtype in [x.dtype(), to] {
        if dtype == DType::Bool || dtype.size() != to.size() {
            return Err(Error::DType { op: OP, dtype });
        }
    }
    with_element!(x.dtype(), T => with_element!(to, U => map1(x, |x: T| U::from_bits64(canonical(x)))))
}

fn canonical<T: Element>(x: T) -> u64 {
    let bits = x.to_bits64();
    match T::DTYPE {
        DType::F32 if f32::from_bits(bits as u32).is_nan() => u64::from(f32::NAN.to_bits()),
        DType::F16 if f16::from_bits(bits as u16).is_nan() => u64::from(f16::NAN.to_bits()),
        DType::BF16 if bf16::from_bits(bits as u16).is_nan() => u64::from(bf16::NAN.to_bits()),
        _ => bits,
    }
}
