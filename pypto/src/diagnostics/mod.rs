//! Diagnostics: what users read when a kernel is wrong.

pub mod diagnostic;

pub use diagnostic::{Code, Diagnostic, Diagnostics, Label, Severity};
