//! What kernel authors name: tensors, tiles, element types and loops, all with bodies that run as plain Rust.

pub mod argument;
pub mod extent;
