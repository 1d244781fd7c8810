//! Configuration: what a user may choose for compiling and for running, as plain data.
//!
//! [`RunConfig`] is the aggregate; [`CompileOptions`], [`RunOptions`] and [`DfxOptions`] are the parts of it that the
//! compiler, a dispatch and a dispatch's diagnostics read. Every field is optional, and one that is not set changes nothing:
//! the environment decides then, and the default after it. docs/configuration.md has the order for each setting, and what
//! each target does with it.
//!
//! This module is a leaf: it names no other, so that every layer may read it.

mod compile_options;
mod dfx_options;
mod distributed;
pub mod environment;
mod error;
mod harness;
mod instruction_set;
mod platform;
mod ring;
mod run_config;
mod run_options;
#[cfg(test)]
mod tests;
mod words;

pub use compile_options::{
    CompileOptions, DiagnosticPhase, MemoryPlanner, OptimizationStrategy, PassDumpLevel, VerificationLevel,
};
pub use dfx_options::{ArgumentDump, DfxOptions, PmuEvent, SwimlaneLevel};
pub use distributed::DistributedConfig;
pub use error::ConfigError;
pub use harness::HarnessOptions;
pub use instruction_set::Isa;
pub use platform::{BackendType, ExecutionMode, Platform};
pub use ring::RingSizes;
pub use run_config::{RunConfig, RunConfigBuilder};
pub use run_options::{CheckedRunOptions, RunOptions};
