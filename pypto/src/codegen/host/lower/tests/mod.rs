//! Kernels built as IR, lowered, compiled and run.

mod kernels;
mod run;
mod softmax;
