//! Kernels built as IR, lowered, compiled and run.

pub(crate) mod generator;
mod kernels;
pub(crate) mod memory;
mod products;
mod random;
mod run;
pub(crate) mod seeds;
mod snapshots;
mod softmax;
mod steps;
