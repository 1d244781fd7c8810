//! Compilation for Ascend targets: their passes, then kernels in the assembler's dialect.

use std::sync::Arc;
use std::time::Instant;

use super::error::CompileError;
use super::host::{Built, interpreted, kernels, pass_options, watched_passes};
use super::profile::Stage;
use super::progress::Progress;
use super::settings::{Output, Settings};
use crate::artifact::{Accelerator, HostExecutable};
use crate::codegen::ascend::{AscendArtifact, AscendOptions, Planner, generate, target_of};
use crate::config::{BackendType, ExecutionMode, MemoryPlanner, VerificationLevel};
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

/// The options of code generation in these settings.
fn options(settings: &Settings) -> AscendOptions {
    let planner = match settings.memory_planner {
        MemoryPlanner::Pypto => Planner::FirstFit,
        MemoryPlanner::DsaRp => Planner::Packed,
        MemoryPlanner::Ptoas => Planner::External,
    };
    let verify = settings.verification != VerificationLevel::None;
    AscendOptions { planner, places: settings.emit_source_loc, verify }
}

/// Compiles a program; its files are part of the artifact where one is written.
pub(super) fn build(
    mut program: Program,
    arch: BackendType,
    mode: ExecutionMode,
    settings: &Settings,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Built, CompileError> {
    let target = target_of(arch);
    let start = Instant::now();
    let pipeline = PassPipeline::ascend(target).options(pass_options(settings));
    let (passes, hints) = watched_passes(pipeline, &mut program, settings, progress)?;
    let mut pass_stage = Stage::new("passes", start.elapsed());
    pass_stage.children = passes.timings.iter().map(|(name, duration)| Stage::new(*name, *duration)).collect();
    let start = Instant::now();
    let artifact = generate(program, target, options(settings))?;
    let code_stage = Stage::new("codegen", start.elapsed());
    let files = if settings.output == Output::None { Vec::new() } else { artifact.files() };
    let program = artifact.program.clone();
    let kernels = kernels(&program).into_iter().map(interpreted).collect();
    let accelerator = Some(Accelerator { artifact: Arc::new(artifact), mode });
    let executable = HostExecutable { program, kernels, accelerator };
    let (dumps, listings, fallbacks) = (passes.dumps, Vec::new(), Vec::new());
    Ok(Built { executable, stages: vec![pass_stage, code_stage], dumps, listings, files, fallbacks, hints })
}
