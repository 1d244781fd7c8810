//! Native code for the CPU at hand.
//!
//! A kernel is built as LIR ([`lir`]), printed as LLVM IR ([`emit_llvm`]), compiled by the libLLVM that is found at run time ([`llvm`]),
//! kept in a disk cache ([`object_cache`]) and mapped into the process ([`loader`]).

pub mod compile;
pub mod cpu;
pub mod emit_llvm;
pub mod gemm;
pub mod lir;
pub mod llvm;
pub mod loader;
pub mod lower;
pub mod object_cache;

#[cfg(test)]
pub(crate) mod harness;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;
