//! Running compiled programs: the thread pool, task schedules, and the calls of kernels.

pub mod pool;
