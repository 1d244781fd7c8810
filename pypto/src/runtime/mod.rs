//! Running compiled programs: the thread pool, task schedules, and the calls of kernels.

pub mod config;
pub mod dfx;
pub mod execute;
pub mod interpreted;
pub mod kernel;
pub mod pool;
pub mod program;
pub mod record;
pub mod recording;
pub mod region;
pub mod schedule;
pub mod scratch;

#[cfg(test)]
mod tests;
