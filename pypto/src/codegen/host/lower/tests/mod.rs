//! Kernels built as IR, lowered, compiled and run.

mod generator;
mod kernels;
mod memory;
mod products;
mod random;
mod run;
mod snapshots;
mod softmax;
mod steps;
