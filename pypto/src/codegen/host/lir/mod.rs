//! LIR: structured loops over vectors whose width the target decides; the last form before LLVM text.
//!
//! Structured (`for` with carried values, `if` with results, `while`; no jumps), SSA, typed. [`Builder`] writes it, [`print_module`] and
//! [`parse_module`] convert to text and back, [`verify`] checks it.

mod builder;
mod fold;
mod math;
mod module;
mod op;
mod parse;
mod print;
mod types;
mod verify;

#[cfg(test)]
mod tests;

pub use builder::{Builder, Tail};
pub use math::LirMath;
pub use module::{Block, Function, Inst, Module, Value, ValueData};
pub use op::{Access, Bin, CacheLevel, Cmp, Cvt, Op, Reduce, Un};
pub use parse::{ParseError, parse_module};
pub use print::{print_function, print_module};
pub use types::{Elem, Type};
pub use verify::{VerifyError, verify};
