//! What the passes make of small programs.

mod host;
mod kernels;
mod parallel;
mod random;
mod semantics;
