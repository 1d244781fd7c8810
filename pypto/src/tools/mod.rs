//! What the `pypto` binary does, as functions that return text.

pub mod doctor;
pub mod explain;
