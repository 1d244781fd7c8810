//! What lowering hands to the rest of the host target: the LIR module, how many iterations a call has, and what it needs at run time.

use super::trace::Step;
use crate::codegen::host::gemm::panels::PanelParameter;
use crate::codegen::host::lir;
use crate::ir::{DType, IndexExpr, Loc};

/// A kernel in LIR, ready to be compiled and run as
/// `extern "C" fn(args: *const u64, begin: i64, end: i64, scratch: *mut u8, status: *mut u32)`.
#[derive(Clone, Debug)]
pub struct LoweredKernel {
    /// One visible function, [`LoweredKernel::symbol`], and its helpers.
    pub module: lir::Module,
    /// The name of the entry.
    pub symbol: String,
    /// Number of iterations of the kernel's outermost parallel loops; a call runs any range within `0..iterations`.
    pub iterations: IndexExpr,
    /// Bytes of scratch memory that each running call needs, 64-byte aligned, contents unspecified.
    pub scratch_bytes: IndexExpr,
    /// What a non-zero status means: status n is entry n - 1.
    pub sites: Vec<Site>,
    /// Parameters that may come in panels too. Each has a word after those of the parameters, with the address of the panels, or 0.
    pub panels: Vec<PanelParameter>,
    /// Estimated time of one iteration in nanoseconds, to decide how finely to share the work.
    pub cost_per_iteration: f64,
    /// What an iteration does, for people.
    pub steps: Vec<Step>,
}

/// A place where a kernel can fail at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The operation in the user's source.
    pub loc: Loc,
    /// What went wrong there; with placeholders where the kernel leaves values.
    pub message: String,
    /// Types of the values that it leaves behind its status.
    pub values: Vec<DType>,
}
