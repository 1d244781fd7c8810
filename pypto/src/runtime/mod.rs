//! Running compiled programs: the thread pool, task schedules, the calls of kernels, and the calls of artifacts.

pub mod benchmark;
pub mod check_arguments;
pub mod device_tensor;
pub mod dfx;
pub mod dispatch;
pub mod error;
pub mod execute;
pub mod execute_compiled;
pub mod interpreted;
pub mod kernel;
pub mod observe;
mod perf_map;
pub mod pool;
pub mod program;
pub mod record;
pub mod recording;
pub mod region;
pub mod schedule;
pub mod scratch;
pub mod signature;
mod simulated;
pub mod validate;
mod virtual_time;
pub mod worker;

#[allow(deprecated, reason = "programs that move from it find it where it was")]
pub use execute_compiled::execute_compiled;

pub use crate::config::{self, CompileOptions, DfxOptions, DistributedConfig, HarnessOptions, RunConfig, RunOptions};

#[cfg(test)]
mod tests;
