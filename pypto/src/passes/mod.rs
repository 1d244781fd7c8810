//! Passes: rewrites of a program, and the analyses that they stand on. Free functions over the IR, one file each.

pub mod accesses;
pub mod affine;
pub mod definitions;
pub mod disjoint;
pub mod extract;
pub mod fold_accumulate;
pub mod fold_transpose;
pub mod outline;
mod overlap;
pub mod pipeline;
pub mod prove_parallel;
pub mod ranges;
pub mod segments;
pub mod tensor_tiling;
pub mod transplant;

#[cfg(test)]
mod tests;
