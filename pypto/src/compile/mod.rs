//! The driver: from a captured function and a specialization to a host executable.
//!
//! Instantiation, the passes, lowering, LLVM, in this order; every stage reports [`Diagnostics`](crate::diagnostics). A
//! machine without libLLVM, and a kernel that the code generator does not know, run by the interpreter with the same
//! results.

pub mod dump;
pub mod host;
pub mod manifest;
pub mod options;

pub use host::{CompileError, Compiled, Engine, compile, compile_program, engine, lower};
pub use options::{CompileOptions, Platform};
