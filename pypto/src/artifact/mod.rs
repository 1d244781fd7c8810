//! Compiled programs as data: what the compiler made, what the run time loads, what the disk keeps.
//!
//! Calls of a [`CompiledProgram`] are in [`pypto::runtime`]: this module knows nothing of running.

pub mod executable;
pub mod packed;
pub mod parameters;
pub mod program;

pub use executable::{HostExecutable, HostKernel, KernelCode, Site};
pub use parameters::{ParamExtent, ParamInfo, ParamKind};
pub use program::CompiledProgram;
