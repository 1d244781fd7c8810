//! Compiled programs as data: what the compiler made, what the run time loads, what the disk keeps.

pub mod executable;

pub use executable::{HostExecutable, HostKernel, KernelCode, Site};
