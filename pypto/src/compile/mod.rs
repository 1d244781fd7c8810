//! The driver: from a program, or from a captured function and a specialization, to code.
//!
//! Instantiation, the passes, lowering, LLVM, in this order; every stage reports [`Diagnostics`](crate::diagnostics). A
//! machine without libLLVM, and a kernel that the code generator does not know, run by the interpreter with the same
//! results. For Ascend platforms [`ascend`] makes kernels in the assembler's dialect.

mod accelerator_hints;
pub mod ascend;
pub mod assembler;
pub mod driver;
pub mod engine;
pub mod error;
pub mod hints;
pub mod host;
pub(crate) mod parallel;
pub mod profile;
pub mod progress;
mod room;
pub mod settings;

pub use driver::{Compilation, compile, compile_entries, compile_specialization, compile_watched, lower};
pub use engine::{Engine, engine};
pub use error::CompileError;
pub use hints::{Hint, HintCode};
pub use host::{Built, Fallback, Listing, build};
pub use profile::Stage;
pub use progress::{Progress, Step, StepKind};
pub use settings::{Output, Settings};

pub use crate::config::{CompileOptions, Platform};
