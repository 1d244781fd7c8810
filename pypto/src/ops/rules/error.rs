//! What can be wrong with an operation, as facts: which operands, their types, the dimension. The front end adds the
//! places and the advice.

use thiserror::Error;

use crate::ir::{AttrKey, DType, Extent, Type};
use crate::ops::{DTypes, OpKind};

/// An operation that its type rule rejects. Operands are counted from 0.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RuleError {
    #[error("`{}` takes {expected} operands, found {found}", .op.name())]
    OperandCount { op: OpKind, expected: String, found: usize },

    #[error("operand {operand} of `{}` must be {expected}, found {}", .op.name(), type_text(.found))]
    OperandKind { op: OpKind, operand: usize, expected: &'static str, found: Type },

    #[error("`{}` does not support `{dtype}` (operand {operand}; supported: {})", .op.name(), dtypes_text(*.accepted))]
    UnsupportedDType { op: OpKind, operand: usize, dtype: DType, accepted: DTypes },

    /// Operands that must agree in element type do not; there is no implicit conversion.
    #[error("operands {left} and {right} of `{}` differ in element type: `{left_dtype}` and `{right_dtype}`", .op.name())]
    DTypesDiffer { op: OpKind, left: usize, right: usize, left_dtype: DType, right_dtype: DType },

    #[error("operands {left} and {right} of `{}` differ in rank: {left_rank} and {right_rank}", .op.name())]
    RanksDiffer { op: OpKind, left: usize, right: usize, left_rank: usize, right_rank: usize },

    #[error("`{}` needs operand {operand} of rank {expected}, found rank {found}", .op.name())]
    Rank { op: OpKind, operand: usize, expected: &'static str, found: usize },

    /// Extents that must agree do not, in dimension `axis`; neither is 1.
    #[error("extents of operands {left} and {right} of `{}` disagree in dimension {axis}: {} and {}",
        .op.name(), dims_text(.left_dims), dims_text(.right_dims))]
    ShapesDiffer { op: OpKind, left: usize, right: usize, left_dims: Vec<Extent>, right_dims: Vec<Extent>, axis: usize },

    /// The inner extents of a matrix product differ; dims are those of the operands as stored.
    #[error("contraction dimensions of `{}` differ: {} and {} (left is {}, right is {})",
        .op.name(), extent_text(*.left_extent), extent_text(*.right_extent), dims_text(.left_dims), dims_text(.right_dims))]
    Contraction {
        op: OpKind,
        left: usize,
        right: usize,
        left_dims: Vec<Extent>,
        right_dims: Vec<Extent>,
        left_extent: Extent,
        right_extent: Extent,
    },

    /// `offset .. offset + size` does not lie in `0 .. extent` of the operand.
    #[error("`{}` at {offset} with size {size} exceeds operand {operand} in dimension {axis} of extent {extent}", .op.name())]
    OutOfBounds { op: OpKind, operand: usize, axis: usize, offset: i64, size: i64, extent: i64 },

    /// The operation needs every element valid along `axis`.
    #[error("`{}` needs operand {operand} fully valid in dimension {axis}: extent {}, valid {}",
        .op.name(), extent_text(*.dim), extent_text(*.valid))]
    NotFull { op: OpKind, operand: usize, axis: usize, dim: Extent, valid: Extent },

    #[error("`{}` cannot rearrange {} into {}: the number of elements differs{}", .op.name(), dims_text(.from), dims_text(.to), counts_text(.from, .to))]
    ElementCount { op: OpKind, from: Vec<Extent>, to: Vec<Extent> },

    #[error("`{}` has no dimension {axis}: the rank is {rank}", .op.name())]
    Axis { op: OpKind, axis: i64, rank: usize },

    #[error("extent {extent} of dimension {axis} of `{}` is negative", .op.name())]
    NegativeExtent { op: OpKind, axis: usize, extent: i64 },

    #[error("valid extent {valid} of `{}` is not within 0..={dim} in dimension {axis}", .op.name())]
    ValidExceeds { op: OpKind, axis: usize, valid: i64, dim: i64 },

    #[error("`{}` has no result", .op.name())]
    NoResult { op: OpKind },

    /// The builder's calls for blocks are out of order.
    #[error("blocks are not nested: expected {expected}")]
    Nesting { expected: &'static str },

    /// The extents of the result were not given, or are of the wrong rank.
    #[error("`{}` needs {expected} extents for its result, found {found}", .op.name())]
    ResultExtents { op: OpKind, expected: String, found: usize },

    #[error("`{}` lacks attribute `{}`, or it has the wrong type", .op.name(), .key.name())]
    Attribute { op: OpKind, key: AttrKey },

    #[error("`{left} {} {right}` overflows `{dtype}`", .op.symbol())]
    Overflow { op: OpKind, left: i64, right: i64, dtype: DType },

    #[error("`{left} {} 0` divides by zero", .op.symbol())]
    DivisionByZero { op: OpKind, left: i64 },

    #[error("the step of a loop must be positive, found {step}")]
    Step { step: i64 },

    /// A carried value has another type at the end of the body than at its start.
    #[error("carried value {index} enters the loop as {} and leaves it as {}", type_text(.initial), type_text(.yielded))]
    CarriedType { index: usize, initial: Type, yielded: Type },

    /// Valid extents of carried tiles change in the body: `(carried value, dimension)`. Build the loop again with these
    /// carried as well; [`crate::ir::builder::Builder::for_loop`] does so by itself.
    #[error("valid extents of carried tiles change in the loop: {varying:?}")]
    CarriedValid { varying: Vec<(usize, usize)> },

    /// The branches of an `if` yield different numbers of values, or values of different types.
    #[error("value {index} is {} after the `if` but {} after the `else`", type_text(.then_type), type_text(.else_type))]
    BranchType { index: usize, then_type: Type, else_type: Type },

    #[error("{construct} yields {found} values, expected {expected}")]
    YieldCount { construct: &'static str, expected: usize, found: usize },
}

fn dtypes_text(set: DTypes) -> String {
    set.members().map(|d| d.name()).collect::<Vec<_>>().join(", ")
}

/// An extent for messages; run-time values show as `?`.
pub fn extent_text(extent: Extent) -> String {
    match extent {
        Extent::Const(n) => n.to_string(),
        Extent::Value(_) => "?".to_owned(),
    }
}

/// Extents for messages: `[64, ?]`.
pub fn dims_text(dims: &[Extent]) -> String {
    let parts: Vec<String> = dims.iter().map(|d| extent_text(*d)).collect();
    format!("[{}]", parts.join(", "))
}

/// ", 32 and 24", where both numbers of elements are known.
fn counts_text(from: &[Extent], to: &[Extent]) -> String {
    let count = |dims: &[Extent]| dims.iter().try_fold(1i64, |n, dim| n.checked_mul(dim.constant()?));
    count(from).zip(count(to)).map_or(String::new(), |(from, to)| format!(", {from} and {to}"))
}

/// A type for messages: `f32 [64, 1024]`, `f32 [64, 1024] of which [?, 1024] is valid`, `i64`.
pub fn type_text(ty: &Type) -> String {
    match ty {
        Type::Scalar(d) => format!("{d}"),
        Type::Tile(t) if t.is_full() => format!("{} {}", t.dtype, dims_text(&t.dims)),
        Type::Tile(t) => format!("{} {} of which {} is valid", t.dtype, dims_text(&t.dims), dims_text(&t.valid)),
        Type::Tensor(t) => format!("tensor of {} {}", t.dtype, dims_text(&t.dims)),
        Type::Event => "a task event".to_owned(),
    }
}
