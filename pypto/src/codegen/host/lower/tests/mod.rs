//! Kernels built as IR, lowered, compiled and run.

mod kernels;
mod memory;
mod products;
mod random;
mod run;
mod snapshots;
mod softmax;
