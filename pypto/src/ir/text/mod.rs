//! The text form of the IR: what dumps, replays and golden tests are made of.
//!
//! ```text
//! program "softmax" entry @softmax
//!
//! fn @softmax incore (%0 "x": tensor<f32>[64, 1024] in, %1 "y": tensor<f32>[64, 1024] out) loc("k.rs" 3:1 9:2) {
//!   %2: i64 = constant() {value = 0, dtype = i64} loc("k.rs" 4:9 4:10)
//!   %3 "t": tile<f32>[64, 1024] = load(%0, %2, %2) loc("k.rs" 4:13 4:22)
//!   store(%3, %1, %2, %2) loc("k.rs" 5:5 5:14)
//! }
//! ```
//!
//! - Every value is defined as `%number "name": type`, numbered in the order of the text; the name is optional.
//! - Types: `f32`, `tile<f32>[64, %3; 60, %3]` (valid extents after `;`, left out where all is valid),
//!   `tensor<f32>[8, 8] strides [1, 8]` (strides left out where the tensor is contiguous), `event`.
//! - An operation: results `=` name `(` operands `)` `{` attributes `}` `loc(..)`, then a region for each `do`:
//!   `do (arguments) { operations yield values }`.
//! - A value whose place is not that of its operation or parameter has `at(..)` after its type.
//! - A parameter: its definition, `in`, `out` or `inout`, then `returned`, and its role where that is not plain:
//!   `extent(parameter, axis)` or `stride(parameter, axis)`.
//! - Without locations (an option of the printer) text still parses: everything is then located in the text itself.
//!
//! [`parse`] of [`print()`] with locations gives [`canonicalize`] of the program: values numbered in order, none unused.

mod canonical;
mod lexer;
mod parse_op;
mod parse_type;
mod parser;
mod printer;

pub use canonical::{canonicalize, canonicalize_function};
pub use parser::parse;
pub use printer::{PrintOptions, print, print_function};

use crate::diagnostics::{Diagnostic, codes};
use crate::ir::{FileId, Loc};

/// Text that is no program. Line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    pub message: String,
    pub line: u32,
    pub column: u32,
}

impl ParseError {
    /// The error as a diagnostic about the file of that name.
    pub fn diagnostic(&self, file: &str) -> Diagnostic {
        let loc = Loc::new(FileId::intern(file), self.line, self.column, self.line, self.column + 1);
        Diagnostic::error(
            codes::IR_TEXT,
            loc,
            format!("the IR text does not parse: {}", self.message),
            self.message.clone(),
        )
    }
}

#[cfg(test)]
mod tests;
