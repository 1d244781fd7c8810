//! Passes: rewrites of a program, and the analyses that they stand on. Free functions over the IR, one file each; the
//! list of passes is [`list`], their sequences are in [`pipeline`].

pub mod accesses;
pub mod affine;
pub mod carry_through_memory;
pub mod checkpoints;
pub mod coverage;
pub mod cse;
pub mod dce;
pub mod definitions;
pub mod disjoint;
pub mod dumps;
pub mod effects;
pub mod extract;
pub mod flat_loops;
pub mod flatten_dispatch;
pub mod fold_accumulate;
pub mod fold_transpose;
pub mod hoist;
pub mod inline;
pub mod inline_mixed;
pub mod list;
pub mod manager;
pub mod outline;
mod overlap;
pub mod pipeline;
pub mod prove_parallel;
pub mod ranges;
pub mod replace;
pub mod segments;
pub mod settle_outputs;
pub mod simplify;
pub mod split_columns;
pub mod split_tallies;
pub mod tensor_tiling;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod transplant;
pub mod unfold_accumulate;
pub mod units;
pub mod unroll;
