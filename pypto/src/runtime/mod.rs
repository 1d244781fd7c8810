//! Running compiled programs: the thread pool, task schedules, the calls of kernels, and the calls of artifacts.
//!
//! Public is what dispatches, measures and records; how a call is made is not.

pub mod benchmark;
pub(crate) mod check_arguments;
pub(crate) mod counters;
pub mod device_tensor;
pub mod dfx;
mod direct;
pub mod dispatch;
pub mod error;
pub(crate) mod execute;
pub mod execute_compiled;
pub(crate) mod interpreted;
pub(crate) mod kernel;
pub(crate) mod observe;
mod panels;
mod perf_map;
mod placement;
pub(crate) mod pool;
pub(crate) mod program;
pub(crate) mod record;
pub(crate) mod recording;
pub(crate) mod region;
mod reports;
pub(crate) mod schedule;
pub(crate) mod scratch;
pub(crate) mod signature;
mod simulated;
mod touched;
pub(crate) mod tune_error;
pub mod validate;
mod virtual_time;
pub mod worker;

#[allow(deprecated, reason = "programs that move from it find it where it was")]
pub use execute_compiled::execute_compiled;

pub use crate::config::{self, CompileOptions, DfxOptions, DistributedConfig, HarnessOptions, RunConfig, RunOptions};

#[cfg(test)]
mod tests;
