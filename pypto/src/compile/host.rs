//! Compilation for the host: its passes, then code for every kernel, in parallel.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::{Engine, engine};
use super::error::CompileError;
use super::hints::{CopyWatch, Hint, copies};
use super::parallel::in_parallel;
use super::profile::Stage;
use super::progress::{Progress, StepKind, Steps};
use super::room::with_room;
use super::settings::{Output, Settings};
use crate::artifact::{HostExecutable, HostKernel, KernelCode, Site};
use crate::codegen::host::compile::{CompileError as CodegenError, compile_text, llvm_text};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::print_module;
use crate::codegen::host::llvm::LlvmError;
use crate::codegen::host::lower::{self, LoweredKernel};
use crate::config::{DiagnosticPhase, OptimizationStrategy, PassDumpLevel};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Function, IndexExpr, Program};
use crate::passes::manager::{DumpSink, PassOptions, PassReport};
use crate::passes::pipeline::PassPipeline;
use crate::passes::tensor_tiling::Limits;

/// A compiled program, and how it went.
#[derive(Clone, Debug)]
pub struct Built {
    pub executable: HostExecutable,
    /// Passes, and code generation.
    pub stages: Vec<Stage>,
    /// Names and texts of the program after each pass, where dumps were asked for.
    pub dumps: Vec<(String, String)>,
    /// The texts of kernels, where an artifact is to be written.
    pub listings: Vec<Listing>,
    /// Further files of an artifact: relative names and texts.
    pub files: Vec<(String, String)>,
    /// Why kernels run by the interpreter although machine code was asked for.
    pub fallbacks: Vec<Fallback>,
    /// What costs time in the program, in the phase that the settings name.
    pub hints: Vec<Hint>,
}

/// The texts that a kernel's object was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub kernel: String,
    pub lir: String,
    /// LLVM IR.
    pub ll: String,
}

/// A kernel that machine code was not made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    pub kernel: String,
    pub reason: String,
}

/// Runs the passes of the host.
pub(super) fn run_passes(program: &mut Program, settings: &Settings) -> Result<PassReport, Diagnostics> {
    pipeline(settings).run(program)
}

/// The passes of the host.
pub fn pipeline(settings: &Settings) -> PassPipeline {
    let limits = Limits::for_threads(settings.threads);
    let pipeline = match settings.strategy {
        OptimizationStrategy::Default => PassPipeline::host(limits),
        OptimizationStrategy::DebugTileOptimization => PassPipeline::host_without_optimizations(limits),
    };
    pipeline.options(pass_options(settings))
}

/// How passes are run with these settings; dumps stay in memory until the artifact is written.
pub(super) fn pass_options(settings: &Settings) -> PassOptions {
    let dump = match settings.dump_passes {
        PassDumpLevel::None => DumpSink::Nowhere,
        _ => DumpSink::Memory,
    };
    PassOptions { verify: settings.verification, dump, locations: settings.dump_passes == PassDumpLevel::Explicit }
}

/// Compiles a program: the passes, then code for every kernel.
///
/// # Errors
/// What the passes find wrong in the program; on an accelerator what it does not have, or what does not fit.
pub fn build(
    program: Program,
    settings: &Settings,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Built, CompileError> {
    let mut hints = match settings.diagnostic_phase {
        DiagnosticPhase::PrePipeline => copies(&program),
        _ => Vec::new(),
    };
    let mut built = match (settings.platform.backend_type(), settings.platform.execution_mode()) {
        (Some(arch), Some(mode)) => super::ascend::build(program, arch, mode, settings, progress)?,
        _ => rebuild(program, 0, settings, &|_, _| None, progress)?,
    };
    hints.append(&mut built.hints);
    if settings.diagnostic_phase == DiagnosticPhase::PostPipeline {
        hints.extend(copies(&built.executable.program));
    }
    Ok(Built { hints, ..built })
}

/// Runs passes as the settings want them watched; gives the hints that were found between them, too.
pub(super) fn watched_passes(
    pipeline: PassPipeline,
    program: &mut Program,
    settings: &Settings,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<(PassReport, Vec<Hint>), Diagnostics> {
    let steps = Steps::new(progress, StepKind::Pass, pipeline.names().count());
    let mut pipeline = pipeline.instrument(Arc::new(steps));
    let copies = Arc::new(CopyWatch::default());
    if settings.diagnostic_phase == DiagnosticPhase::PostPass {
        pipeline = pipeline.instrument(copies.clone());
    }
    let report = pipeline.run(program)?;
    Ok((report, copies.hints()))
}

/// Gives the object of a kernel if its LLVM text is one whose object is there already.
pub type Reuse<'a> = dyn Fn(&str, &str) -> Option<Vec<u8>> + Sync + 'a;

/// Compiles a program for the host that the first `passed` passes have run on already; `reuse` is asked before a kernel's
/// text is compiled.
///
/// # Errors
/// What the passes find wrong in the program.
pub fn rebuild(
    mut program: Program,
    passed: usize,
    settings: &Settings,
    reuse: &Reuse<'_>,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Built, CompileError> {
    let start = Instant::now();
    let pipeline = pipeline(settings).after_first(passed);
    let (passes, hints) = watched_passes(pipeline, &mut program, settings, progress)?;
    let mut pass_stage = Stage::new("passes", start.elapsed());
    pass_stage.children = passes.timings.iter().map(|(name, duration)| Stage::new(*name, *duration)).collect();
    let start = Instant::now();
    let engine = engine(settings.platform);
    let listed = settings.output != Output::None;
    let kernels_to_make = kernels(&program);
    let steps = Steps::new(progress, StepKind::Kernel, kernels_to_make.len());
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let outcomes = in_parallel(&kernels_to_make, cores, |kernel| {
        let outcome = compile_kernel(kernel, engine, listed, reuse);
        steps.done(&kernel.name);
        outcome
    });
    let mut code_stage = Stage::new("codegen", start.elapsed());
    let (mut kernels, mut listings, mut fallbacks) = (Vec::new(), Vec::new(), Vec::new());
    for outcome in outcomes {
        let Outcome { kernel, fallback, listing, stage } = outcome?;
        kernels.push(kernel);
        fallbacks.extend(fallback);
        listings.extend(listing);
        code_stage.children.push(stage);
    }
    let executable = HostExecutable { program, kernels, accelerator: None };
    let (dumps, files) = (passes.dumps, Vec::new());
    Ok(Built { executable, stages: vec![pass_stage, code_stage], dumps, listings, files, fallbacks, hints })
}

/// The functions that the entry calls.
pub fn kernels(program: &Program) -> Vec<&Function> {
    let all = program.functions.iter().enumerate();
    all.filter(|(index, _)| *index != program.entry).map(|(_, function)| function).collect()
}

/// What became of one kernel.
struct Outcome {
    kernel: HostKernel,
    fallback: Option<Fallback>,
    listing: Option<Listing>,
    stage: Stage,
}

fn compile_kernel(
    function: &Function,
    engine: Engine,
    listed: bool,
    reuse: &Reuse<'_>,
) -> Result<Outcome, CompileError> {
    let mut stage = Stage::new(format!("kernel_codegen:{}", function.name), Duration::ZERO);
    let start = Instant::now();
    let mut timed = |name: &str, since: Instant| stage.children.push(Stage::new(name, since.elapsed()));
    let made = with_room(function, || machine_code(function, engine, listed, reuse, &mut timed))?;
    stage.duration = start.elapsed();
    Ok(match made {
        Made::Native(kernel, listing) => Outcome { kernel: *kernel, fallback: None, listing, stage },
        Made::Interpreted(reason) => {
            let fallback = reason.map(|reason| Fallback { kernel: function.name.clone(), reason });
            Outcome { kernel: interpreted(function), fallback, listing: None, stage }
        }
    })
}

/// A kernel's code; or that the interpreter runs it, with the reason where machine code was asked for.
enum Made {
    Native(Box<HostKernel>, Option<Listing>),
    Interpreted(Option<String>),
}

fn machine_code(
    function: &Function,
    engine: Engine,
    listed: bool,
    reuse: &Reuse<'_>,
    timed: &mut impl FnMut(&str, Instant),
) -> Result<Made, CompileError> {
    let Engine::Native(target) = engine else { return Ok(Made::Interpreted(None)) };
    let start = Instant::now();
    let lowered = match lower::lower(function, target) {
        Ok(lowered) => lowered,
        Err(diagnostic) => return Ok(Made::Interpreted(Some(diagnostic.title))),
    };
    timed("lower", start);
    let start = Instant::now();
    let text = match llvm_text(&lowered.module) {
        Ok(text) => text,
        Err(CodegenError::Llvm(error @ LlvmError::NotFound(_))) => {
            return Ok(Made::Interpreted(Some(error.to_string())));
        }
        Err(error) => return Err(internal(function, &error)),
    };
    timed("emit_llvm", start);
    let start = Instant::now();
    let bytes = match reuse(&function.name, &text) {
        Some(bytes) => bytes,
        None => compile_text(lowered.module.target, &text).map_err(|error| internal(function, &error))?,
    };
    timed("llvm", start);
    let listing =
        listed.then(|| Listing { kernel: function.name.clone(), lir: print_module(&lowered.module), ll: text });
    Ok(Made::Native(Box::new(native(function, lowered, bytes)), listing))
}

fn internal(function: &Function, error: &CodegenError) -> CompileError {
    CompileError::Internal(format!("kernel `{}`: {error}", function.name))
}

fn native(function: &Function, lowered: LoweredKernel, bytes: Vec<u8>) -> HostKernel {
    HostKernel {
        name: function.name.clone(),
        code: KernelCode::Object { symbol: lowered.symbol, bytes },
        iterations: lowered.iterations,
        scratch_bytes: lowered.scratch_bytes,
        sites: (lowered.sites.into_iter())
            .map(|site| Site { loc: site.loc, message: site.message, values: site.values })
            .collect(),
        panels: lowered.panels,
        cost: lowered.cost_per_iteration,
    }
}

/// The interpreter runs a kernel as a whole, on one thread; other tasks run beside it.
pub(super) fn interpreted(function: &Function) -> HostKernel {
    HostKernel {
        name: function.name.clone(),
        code: KernelCode::Interpreted,
        iterations: IndexExpr::Const(1),
        scratch_bytes: IndexExpr::Const(0),
        sites: Vec::new(),
        panels: Vec::new(),
        cost: INTERPRETED_COST,
    }
}

/// Nanoseconds assumed for an interpreted kernel: long enough that independent tasks run in parallel.
const INTERPRETED_COST: f64 = 100_000.0;

/// What lowering makes of every kernel, and why it makes nothing of one.
pub fn lowered(program: &Program, target: Target) -> Vec<(&Function, Result<LoweredKernel, Diagnostic>)> {
    kernels(program).into_iter().map(|kernel| (kernel, with_room(kernel, || lower::lower(kernel, target)))).collect()
}

/// The LIR of every kernel as text.
///
/// # Errors
/// The first kernel that cannot be lowered.
pub fn lir_text(program: &Program, target: Target) -> Result<String, Diagnostic> {
    lowered(program, target)
        .into_iter()
        .map(|(_, lowered)| lowered.map(|kernel| print_module(&kernel.module)))
        .collect()
}

/// The LLVM text of every kernel.
///
/// # Errors
/// The first kernel that cannot be lowered; no libLLVM.
pub fn llvm_text_of(program: &Program, target: Target) -> Result<String, CompileError> {
    let mut text = String::new();
    for (_, lowered) in lowered(program, target) {
        let lowered = lowered.map_err(Diagnostics::from)?;
        text += &llvm_text(&lowered.module).map_err(|error| CompileError::Internal(error.to_string()))?;
    }
    Ok(text)
}
