//! Running compiled programs: the thread pool, task schedules, and the calls of kernels.

pub mod pool;
pub mod region;
pub mod schedule;
pub mod scratch;
