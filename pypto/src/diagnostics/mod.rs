//! Diagnostics: what users read when a kernel is wrong.
//!
//! A stage collects its independent errors in [`Diagnostics`]; [`render_all`] prints them in rustc's layout with the
//! source text; [`json`] prints them for editors; [`codes`] is the list of codes, [`codes::explain`] the page of each.

pub mod codes;
pub mod diagnostic;
pub mod json;
pub mod render;
pub mod source;

pub use diagnostic::{Code, Diagnostic, Diagnostics, Label, MAX_REPORTED, Severity};
pub use render::{render, render_all};
