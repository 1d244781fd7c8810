//! What can go wrong when an operation is evaluated. Eager code turns these into panics at the kernel's line, the
//! interpreter into errors with a location.

use super::shape::Shape;
use crate::ir::DType;

/// The failure of one operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("attempt to divide by zero")]
    DivisionByZero,
    #[error("attempt to divide the smallest {0} by -1")]
    DivisionOverflow(DType),
    #[error("cannot combine {a:?} and {b:?} in `{op}`: dimension {axis} is {} and {}", a[*axis], b[*axis])]
    Broadcast { op: &'static str, a: Shape, b: Shape, axis: usize },
    #[error("cannot combine {a:?} and {b:?} in `{op}`: they have {} and {} dimensions", a.len(), b.len())]
    Rank { op: &'static str, a: Shape, b: Shape },
    #[error("contraction dimensions of `matmul` differ: {left} and {right} (operands are {a:?} and {b:?})")]
    Contraction { a: Shape, b: Shape, left: i64, right: i64 },
    #[error("`{op}` does not accept {dtype}")]
    DType { op: &'static str, dtype: DType },
    #[error("`{op}` mixes {a} and {b}")]
    MixedDTypes { op: &'static str, a: DType, b: DType },
    #[error("`{op}` of extents {shape:?} at {offset:?} exceeds {whole:?} in dimension {axis}")]
    OutOfBounds { op: &'static str, shape: Shape, offset: Shape, whole: Shape, axis: usize },
    #[error("index {index} is outside of 0..{extent}")]
    Index { index: i64, extent: i64 },
    #[error("`{op}` cannot give {to:?} out of {from:?}")]
    Extents { op: &'static str, from: Shape, to: Shape },
    #[error("`{op}` needs every element of {shape:?}, but only {valid:?} are valid")]
    PartlyValid { op: &'static str, shape: Shape, valid: Shape },
    #[error("extents {0:?} are negative or hold more elements than memory can")]
    TooLarge(Shape),
    #[error("dimension {axis} does not exist in {shape:?}")]
    Axis { axis: usize, shape: Shape },
    #[error("`{op}` takes {expected} operands, {found} given")]
    Operands { op: &'static str, expected: usize, found: usize },
}

/// The result of one operation.
pub type Result<T> = std::result::Result<T, Error>;
