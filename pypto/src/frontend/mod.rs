//! From annotated Rust functions to [`crate::ir`]: the generic IR that the macros emit, the check of a call's arguments, and
//! instantiation.

pub mod captured;
mod check_call;
pub mod children;
pub mod generic;
pub mod instantiate;
pub mod specialization;
pub mod static_print;
pub mod structs;
pub(crate) mod suggest;

pub use instantiate::{describe, instantiate};
pub use specialization::{ArgumentSpec, ParamSpec, Specialization, Strides};
