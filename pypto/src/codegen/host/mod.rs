//! Native code for the CPU at hand.
//!
//! A kernel is built as LIR ([`lir`]), printed as LLVM IR ([`emit_llvm`]), compiled by the libLLVM that is found at run time ([`llvm`]),
//! kept in a disk cache ([`object_cache`]) and mapped into the process ([`loader`]).

pub(crate) mod compile;
pub mod cpu;
pub mod emit_llvm;
pub mod gemm;
pub mod lir;
pub(crate) mod llvm;
pub(crate) mod loader;
pub mod lower;
pub(crate) mod object_cache;

#[cfg(test)]
pub(crate) mod harness;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;
