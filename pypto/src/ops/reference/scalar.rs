//! Operations on single elements. Index arithmetic has a short way; all else goes through arrays of one element, so that
//! there is one meaning.

use super::array::{Array, Scalar};
use super::error::Result;
use super::number::Integer;
use super::{cast as casts, elementwise};
use crate::ir::{DType, Round};
use crate::ops::{Class, OpKind};

/// A unary operation.
pub fn unary(kind: OpKind, x: Scalar) -> Result<Scalar> {
    elementwise::unary(kind, &Array::scalar(x))?.get(&[])
}

/// A binary operation or a comparison.
pub fn binary(kind: OpKind, a: Scalar, b: Scalar) -> Result<Scalar> {
    let indices = a.dtype == DType::I64 && b.dtype == DType::I64;
    if let Some(result) = indices.then(|| index_arithmetic(kind, a.get(), b.get())).flatten() {
        return result;
    }
    let (a, b) = (Array::scalar(a), Array::scalar(b));
    if kind.class() == Class::Compare { elementwise::compare(kind, &a, &b) } else { elementwise::binary(kind, &a, &b) }?
        .get(&[])
}

/// A conversion.
pub fn cast(x: Scalar, to: DType, round: Round) -> Result<Scalar> {
    casts::cast(&Array::scalar(x), to, round)?.get(&[])
}

fn index_arithmetic(kind: OpKind, a: i64, b: i64) -> Option<Result<Scalar>> {
    let value = match kind {
        OpKind::Add => a.wrapping_add(b),
        OpKind::Sub => a.wrapping_sub(b),
        OpKind::Mul => a.wrapping_mul(b),
        OpKind::Max => a.max(b),
        OpKind::Min => a.min(b),
        OpKind::Div => return Some(a.divide(b).map(Scalar::new)),
        OpKind::Rem => return Some(a.remainder(b).map(Scalar::new)),
        OpKind::CmpEq => return Some(Ok(Scalar::new(a == b))),
        OpKind::CmpNe => return Some(Ok(Scalar::new(a != b))),
        OpKind::CmpLt => return Some(Ok(Scalar::new(a < b))),
        OpKind::CmpLe => return Some(Ok(Scalar::new(a <= b))),
        OpKind::CmpGt => return Some(Ok(Scalar::new(a > b))),
        OpKind::CmpGe => return Some(Ok(Scalar::new(a >= b))),
        _ => return None,
    };
    Some(Ok(Scalar::new(value)))
}
