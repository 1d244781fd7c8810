//! The reference semantics: every operation of the table on plain arrays, in plain Rust.
//!
//! Eager tiles and the interpreter share this code; compiled code is tested against it bit for bit. It is also the
//! engine where there is no code generator, so its loops vectorize (see [`simd`]).
//!
//! An [`Array`] is a tile's value. Functions take arrays and give arrays or an [`Error`]; they never panic on operands
//! that disagree. Elements outside the valid extent of a result are unspecified.

pub mod array;
pub mod bitcast;
pub mod broadcast;
pub mod cast;
pub mod create;
pub mod element;
pub mod elementwise;
pub mod error;
pub mod half_float;
pub mod layout;
pub mod map;
pub mod matmul;
pub mod memory;
pub mod number;
pub mod permute;
pub mod reduce;
pub mod region;
pub mod scalar;
pub mod shape;
pub mod simd;
#[cfg(test)]
mod tests;

pub use array::{Array, Scalar};
pub(crate) use element::with_element;
pub use element::{Data, Element};
pub use error::{Error, Result};
pub use memory::Memory;
pub use shape::{MAX_RANK, Shape};
