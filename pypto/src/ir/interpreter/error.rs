//! Why an interpreted program stops.

use crate::ir::Loc;
use crate::ops::reference;

/// A failure, and the operation that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{loc}: {kind}")]
pub struct Error {
    pub loc: Loc,
    pub kind: ErrorKind,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// Division by zero, an access out of bounds, memory that does not suffice.
    #[error(transparent)]
    Operation(#[from] reference::Error),
    /// The condition of an `assert` is false.
    #[error("{0}")]
    Assertion(String),
    /// Only when checked.
    #[error("read of memory that nothing was written to: {0:?} of an allocated tensor")]
    Uninitialized(reference::Shape),
    /// Only when checked.
    #[error("iterations {first} and {second} of a parallel loop write the same memory")]
    Overlap { first: i64, second: i64 },
    /// Only on request.
    #[error("`{0}` makes a NaN out of operands without one")]
    Nan(&'static str),
    #[error("`{0}` is an input and cannot be written")]
    ReadOnly(String),
    #[error("the loop's step is {0}, but must be positive")]
    Step(i64),
    #[error("argument {index} does not fit parameter `{name}`: {reason}")]
    Argument { index: usize, name: String, reason: String },
    #[error("the program takes {expected} arguments, {found} given")]
    ArgumentCount { expected: usize, found: usize },
    #[error("calls nest deeper than {0}")]
    Depth(usize),
    /// Only where something else than the interpreter runs kernels.
    #[error("kernel `{kernel}`: {reason}")]
    Kernel { kernel: String, reason: String },
    /// The program breaks a rule that the verifier checks.
    #[error("the program is not well formed: {0}")]
    Malformed(String),
}

impl ErrorKind {
    pub(super) fn at(self, loc: Loc) -> Error {
        Error { loc, kind: self }
    }
}

/// A rule of the IR that the program breaks.
pub(super) fn malformed(reason: impl Into<String>) -> ErrorKind {
    ErrorKind::Malformed(reason.into())
}

/// The outcome of one operation, whose place the caller adds.
pub(super) type Outcome<T> = Result<T, ErrorKind>;
