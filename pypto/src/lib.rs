//! PyPTO for Rust.

// The macros name the crate as `::pypto`, also inside this crate's own tests and examples.
extern crate self as pypto;
