//! The passes of the host target, in order.

use super::fold_accumulate::fold_accumulate;
use super::fold_transpose::fold_transpose;
use super::outline::outline;
use super::prove_parallel::prove_parallel;
use super::tensor_tiling::{Limits, tensor_tiling};
use crate::diagnostics::Diagnostics;
use crate::ir::Program;

/// Turns an instantiated program into an orchestration and kernels for the host.
///
/// # Errors
/// A loop that the user calls parallel is not proved so; control flow around calls carries a tile.
pub fn host(program: &mut Program, limits: &Limits) -> Result<(), Diagnostics> {
    fold_transpose(program);
    prove_parallel(program)?;
    tensor_tiling(program, limits);
    fold_accumulate(program);
    outline(program)
}
