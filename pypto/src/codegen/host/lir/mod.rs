//! LIR: structured loops over vectors whose width the target decides; the last form before LLVM text.
//!
//! Structured (`for` with carried values, `if` with results, `while`; no jumps), SSA, typed. [`Builder`] writes it, [`print_module`] and
//! [`parse_module`] convert to text and back, [`verify`] checks it.

mod builder;
mod fold;
mod module;
mod op;
mod types;

pub use builder::{Builder, Tail};
pub use module::{Block, Function, Inst, Module, Value, ValueData};
pub use op::{Access, Bin, Cmp, Cvt, Op, Reduce, Un};
pub use types::{Elem, Type};
