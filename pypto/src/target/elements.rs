//! Element types that the vector unit computes on.

use crate::ir::DType;

/// Types by kind of operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Elements {
    /// Sum, difference, product, extremes.
    pub arithmetic: &'static [DType],
    /// Division, exponentials, roots.
    pub float: &'static [DType],
    /// Bitwise operations and shifts.
    pub bits: &'static [DType],
    /// Comparisons.
    pub compare: &'static [DType],
    /// Selection by a mask, and filling.
    pub select: &'static [DType],
    /// Reductions.
    pub reduce: &'static [DType],
    /// What products multiply.
    pub product: &'static [DType],
    /// What accumulators are stored as.
    pub accumulator: &'static [DType],
}

use DType::{BF16, F16, F32, I8, I16, I32, U16, U32};

pub(super) const A2A3: Elements = Elements {
    arithmetic: &[F32, F16, I32, I16],
    float: &[F32, F16],
    bits: &[I32, I16, U32, U16],
    compare: &[F32, F16, I32],
    select: &[F32, F16, BF16, I32, I16, U32, U16],
    reduce: &[F32, F16],
    product: &[F32, F16, BF16, I8],
    accumulator: &[F32, I32],
};

pub(super) const A5: Elements = Elements {
    arithmetic: &[F32, F16, I32, I16, I8],
    float: &[F32, F16],
    bits: &[I32, I16, U32, U16],
    compare: &[F32, F16, I32, I16],
    select: &[F32, F16, BF16, I32, I16, U32, U16],
    reduce: &[F32, F16, I32],
    product: &[F32, F16, BF16, I8],
    accumulator: &[F32, I32],
};
