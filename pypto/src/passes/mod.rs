//! Passes.
pub mod affine;
pub mod definitions;
pub mod ranges;
pub mod accesses;
pub mod disjoint;
