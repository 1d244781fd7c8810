//! The error bounds of the op table, measured against f64: over a sample of all f32 that holds every magnitude, and over every f16 and
//! bf16. `PYPTO_ACCURACY=all` takes every f32.
//!
//! What is measured is the reference semantics; `ops_differential` shows that compiled code has the same bits.

mod composite;
mod exact;
mod functions;
mod sweep;
