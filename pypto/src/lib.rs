//! PyPTO for Rust: a tile-programming language embedded in Rust.

// The macros name the crate as `::pypto`, also inside this crate's own tests and examples.
extern crate self as pypto;

pub mod artifact;
pub mod codegen;
pub mod compile;
pub mod config;
pub mod diagnostics;
pub mod frontend;
pub mod golden;
pub mod ir;
pub mod jit;
pub mod kernels;
pub mod language;
mod memory;
pub mod ops;
pub mod passes;
pub mod prelude;
pub mod runtime;
pub mod simulator;
pub mod staged;
pub mod target;
pub mod tools;

pub use artifact::{CompiledEntries, CompiledProgram};
pub use compile::{compile, compile_entries};
pub use config::{CompileOptions, RunConfig};
pub use frontend::structs::Args;
pub use jit::{Error, Result, warm};
pub use pypto_macros::{Args, function, jit, program};

/// The programs of the README are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The programs of docs/coming-from.md are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/coming-from.md")]
pub struct ComingFrom;
