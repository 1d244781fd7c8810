//! A program compiled for the host.

use std::sync::Arc;

use crate::codegen::ascend::AscendArtifact;
use crate::codegen::host::gemm::panels::PanelParameter;
use crate::config::ExecutionMode;
use crate::ir::{DType, IndexExpr, Loc, Program};

/// A program after its passes, with the code of its kernels.
#[derive(Clone, Debug)]
pub struct HostExecutable {
    /// The entry is an orchestration; the functions that it calls are the kernels.
    pub program: Program,
    pub kernels: Vec<HostKernel>,
    /// The accelerator's code, where the program is for one: it runs in the kernels' place.
    pub accelerator: Option<Accelerator>,
}

/// Code for an accelerator, and where it runs.
#[derive(Clone, Debug)]
pub struct Accelerator {
    pub artifact: Arc<AscendArtifact>,
    pub mode: ExecutionMode,
}

/// One kernel.
#[derive(Clone, Debug)]
pub struct HostKernel {
    /// Name of its function in the program.
    pub name: String,
    pub code: KernelCode,
    /// Iterations of the outermost parallel loops, from the words of the argument list.
    pub iterations: IndexExpr,
    /// Bytes of scratch of each running call, from the words of the argument list.
    pub scratch_bytes: IndexExpr,
    /// What a non-zero status means: status n is entry n - 1.
    pub sites: Vec<Site>,
    /// Parameters that may come in panels too: words of the argument list after the others.
    pub panels: Vec<PanelParameter>,
    /// Estimated nanoseconds of an iteration.
    pub cost: f64,
}

/// What runs a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelCode {
    /// A relocatable object that defines `symbol`.
    Object { symbol: String, bytes: Vec<u8> },
    /// The interpreter.
    Interpreted,
}

/// A place where a kernel can stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    pub loc: Loc,
    /// What is wrong then; with placeholders where there are values.
    pub message: String,
    /// Types of the scalars that the kernel leaves for the placeholders.
    pub values: Vec<DType>,
}
