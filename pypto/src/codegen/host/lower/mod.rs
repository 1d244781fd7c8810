//! Lowering of an in-core function to LIR.
//!
//! A block's operations are taken in program order. Row-local ones (elementwise, row reductions, loads and stores) are collected into
//! *fusion groups* ([`group`]), each of which becomes one loop over rows ([`row_group`]) with a few column loops per row ([`plan`],
//! [`columns`]), or several where that keeps the processor busier ([`row_stages`]), or one over columns
//! where products leave their results in columns ([`turned`]); everything in between stays in registers or in one row of scratch memory. Values that cross groups, loops and branches lie in
//! slots of scratch memory ([`scratch`]), in place where possible ([`control`]). Products of matrices are lowered by [`dot`],
//! rearrangements by [`movement`], elements by index by [`permute`], the order of rows by [`order`]. The kernel's outermost parallel loops become the range of iterations of a call ([`parallel`]).
//!
//! The result computes bit for bit what the interpreter computes; every reduction and product has a fixed order of operations.

mod access;
mod ahead;
mod block;
mod build;
mod cast;
mod column_reduce;
mod columns;
mod context;
mod control;
mod cost;
mod dot;
mod elementwise;
mod graph;
mod group;
mod kernel;
mod movement;
mod order;
mod parallel;
mod permute;
mod plan;
mod remainder;
mod report;
mod rescale;
mod row_group;
mod row_stages;
mod scalars;
mod scratch;
mod sign;
mod trace;
mod turned;
mod uses;

#[cfg(test)]
pub(crate) mod tests;

use context::Lowering;

use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::Module;
use crate::diagnostics::Diagnostic;
use crate::ir::{Function, IndexExpr};

pub use kernel::{LoweredKernel, Site};
pub use trace::{Boundary, GroupStep, Reason, Step, StepKind};

/// Lowers an in-core function, after the passes for the host, for that target.
///
/// Errors are constructs that cannot be translated: values of run-time extents that would have to be kept in memory, calls.
pub fn lower(function: &Function, target: Target) -> Result<LoweredKernel, Diagnostic> {
    let mut module = Module::new(target);
    let mut lowering = Lowering::new(function, target);
    let mut iterations = IndexExpr::Const(1);
    module.kernel(&function.name, |b| {
        parallel::bind_parameters(&mut lowering, b);
        iterations = parallel::lower_entry(&mut lowering, b);
    });
    if let Some(error) = lowering.error {
        return Err(error);
    }
    Ok(LoweredKernel {
        module,
        symbol: function.name.clone(),
        iterations,
        scratch_bytes: IndexExpr::Const(lowering.slots.total()),
        sites: lowering.sites,
        panels: lowering.panels,
        cost_per_iteration: lowering.cost,
        steps: lowering.trace.steps,
    })
}
