//! From annotated Rust functions to [`crate::ir`]: the generic IR that the macros emit, and its instantiation.

pub mod generic;
