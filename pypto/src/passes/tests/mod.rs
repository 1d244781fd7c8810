//! What the passes make of small programs.

mod host;
mod kernels;
mod semantics;
