//! Compilation for Ascend targets: their passes, then kernels in the assembler's dialect.

use crate::codegen::ascend::{AscendArtifact, AscendOptions, generate};
use crate::diagnostics::Diagnostics;
use crate::ir::Program;
use crate::passes::manager::PassOptions;
use crate::passes::pipeline::PassPipeline;
use crate::target::Target;

/// Compiles a program that no pass has seen yet.
///
/// # Errors
/// What the passes find wrong; for each kernel what the target does not have or what does not fit.
pub fn compile_for_target(
    mut program: Program,
    target: &'static Target,
    options: AscendOptions,
    passes: PassOptions,
) -> Result<AscendArtifact, Diagnostics> {
    PassPipeline::ascend(target).options(passes).run(&mut program)?;
    generate(program, target, options)
}
