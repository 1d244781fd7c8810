//! Compilation for the host.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::dump::Dump;
use super::options::{CompileOptions, Platform};
use crate::artifact::{HostExecutable, HostKernel, KernelCode, Site};
use crate::codegen::host::compile::{CompileError as CodegenError, compile_object, llvm_text};
use crate::codegen::host::cpu::{Target, host_identity};
use crate::codegen::host::lir::print_module;
use crate::codegen::host::lower::{self, LoweredKernel};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::frontend::generic;
use crate::frontend::instantiate::{describe, instantiate};
use crate::frontend::specialization::Specialization;
use crate::ir::{Function, IndexExpr, Program};
use crate::passes::manager::{DumpSink, PassOptions};
use crate::passes::pipeline::PassPipeline;
use crate::passes::tensor_tiling::Limits;

/// What runs kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Machine code for this CPU.
    Native(Target),
    Interpreter,
}

/// The engine that a platform stands for.
pub fn engine(platform: Platform) -> Engine {
    match platform {
        Platform::Host => Engine::Native(Target::host()),
        Platform::Interpreter => Engine::Interpreter,
    }
}

impl Engine {
    /// A text that differs wherever the code may differ: the CPU, and the number of threads that work is cut for.
    pub fn identity(self, threads: usize) -> String {
        match self {
            Engine::Native(target) => format!("{} x {threads} on {}", target.isa.name(), host_identity()),
            Engine::Interpreter => "interpreter".to_owned(),
        }
    }
}

/// Why nothing was compiled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// The kernel is wrong.
    #[error("{0}")]
    Kernel(Diagnostics),
    /// A dump could not be written.
    #[error("cannot write a dump: {0}")]
    Dump(String),
    /// A stage broke its own rules.
    #[error("{0}")]
    Internal(String),
}

impl From<Diagnostics> for CompileError {
    fn from(list: Diagnostics) -> CompileError {
        CompileError::Kernel(list)
    }
}

impl From<std::io::Error> for CompileError {
    fn from(error: std::io::Error) -> CompileError {
        CompileError::Dump(error.to_string())
    }
}

/// A compiled program, and how it went.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub executable: HostExecutable,
    pub times: Times,
    /// Why kernels run by the interpreter although machine code was asked for.
    pub fallbacks: Vec<Fallback>,
}

/// How long the stages took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Instantiation and passes.
    pub frontend: Duration,
    /// Lowering and LLVM; kernels are compiled in parallel.
    pub codegen: Duration,
}

/// A kernel that machine code was not made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    pub kernel: String,
    pub reason: String,
}

/// The program of a specialization, after the passes for the host.
///
/// # Errors
/// What is wrong in the kernel.
pub fn lower(
    function: &'static generic::Function,
    specialization: &Specialization,
    options: &CompileOptions,
) -> Result<Program, CompileError> {
    let mut program = instantiate(function, specialization)?;
    run_passes(&mut program, options)
        .map_err(|problems| CompileError::Kernel(problems.with_note(&describe(function, specialization))))?;
    Ok(program)
}

fn run_passes(program: &mut Program, options: &CompileOptions) -> Result<(), Diagnostics> {
    let dump = options.dump_dir.clone().map_or(DumpSink::Nowhere, DumpSink::Directory);
    let pipeline = PassPipeline::host(Limits::for_threads(options.threads));
    pipeline.options(PassOptions { verify: options.verify, dump }).run(program).map(drop)
}

/// Compiles a specialization.
///
/// # Errors
/// What is wrong in the kernel.
pub fn compile(
    function: &'static generic::Function,
    specialization: &Specialization,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let start = Instant::now();
    let program = lower(function, specialization, options)?;
    generate(program, start.elapsed(), options)
}

/// Compiles a program that was built or parsed, not captured: the passes for the host, then code for every kernel.
///
/// # Errors
/// What the passes find wrong in the program.
pub fn compile_program(mut program: Program, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let start = Instant::now();
    run_passes(&mut program, options)?;
    generate(program, start.elapsed(), options)
}

/// Code for every kernel of a program after the passes, which took `frontend`.
fn generate(program: Program, frontend: Duration, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let dump = Dump::new(options.dump_dir.as_deref())?;
    let start = Instant::now();
    let engine = engine(options.platform);
    let outcomes = in_parallel(&kernels(&program), |kernel| compile_kernel(kernel, engine, &dump));
    let mut kernels = Vec::new();
    let mut fallbacks = Vec::new();
    for outcome in outcomes {
        let (kernel, fallback) = outcome?;
        kernels.push(kernel);
        fallbacks.extend(fallback);
    }
    let times = Times { frontend, codegen: start.elapsed() };
    Ok(Compiled { executable: HostExecutable { program, kernels }, times, fallbacks })
}

/// The functions that the entry calls.
pub fn kernels(program: &Program) -> Vec<&Function> {
    let all = program.functions.iter().enumerate();
    all.filter(|(index, _)| *index != program.entry).map(|(_, function)| function).collect()
}

/// Applies `f` to every kernel, on as many threads as pays; results in order.
fn in_parallel<R: Send>(kernels: &[&Function], f: impl Fn(&Function) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(kernels.len());
    if threads <= 1 {
        return kernels.iter().map(|kernel| f(kernel)).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(kernels.len()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(kernel) = kernels.get(index) else { return };
            let result = f(kernel);
            results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

type Outcome = Result<(HostKernel, Option<Fallback>), CompileError>;

fn compile_kernel(function: &Function, engine: Engine, dump: &Dump) -> Outcome {
    let Engine::Native(target) = engine else { return Ok((interpreted(function), None)) };
    let fall_back = |reason: String| {
        let fallback = Fallback { kernel: function.name.clone(), reason };
        Ok((interpreted(function), Some(fallback)))
    };
    let lowered = match lower::lower(function, target) {
        Ok(lowered) => lowered,
        Err(diagnostic) => return fall_back(diagnostic.title),
    };
    dump.write(&format!("{}.lir", function.name), || print_module(&lowered.module))?;
    if dump.is_wanted() {
        let text = llvm_text(&lowered.module).unwrap_or_else(|error| format!("; {error}\n"));
        dump.write(&format!("{}.ll", function.name), || text)?;
    }
    match compile_object(&lowered.module) {
        Ok(bytes) => Ok((native(function, lowered, bytes), None)),
        Err(CodegenError::Llvm(error @ crate::codegen::host::llvm::LlvmError::NotFound(_))) => {
            fall_back(error.to_string())
        }
        Err(error) => Err(CompileError::Internal(format!("kernel `{}`: {error}", function.name))),
    }
}

fn native(function: &Function, lowered: LoweredKernel, bytes: Vec<u8>) -> HostKernel {
    HostKernel {
        name: function.name.clone(),
        code: KernelCode::Object { symbol: lowered.symbol, bytes },
        iterations: lowered.iterations,
        scratch_bytes: lowered.scratch_bytes,
        sites: lowered.sites.into_iter().map(|site| Site { loc: site.loc, message: site.message }).collect(),
        cost: lowered.cost_per_iteration,
    }
}

/// The interpreter runs a kernel as a whole, on one thread; other tasks run beside it.
fn interpreted(function: &Function) -> HostKernel {
    HostKernel {
        name: function.name.clone(),
        code: KernelCode::Interpreted,
        iterations: IndexExpr::Const(1),
        scratch_bytes: IndexExpr::Const(0),
        sites: Vec::new(),
        cost: INTERPRETED_COST,
    }
}

/// Nanoseconds assumed for an interpreted kernel: long enough that independent tasks run in parallel.
const INTERPRETED_COST: f64 = 100_000.0;

/// The LIR of every kernel as text.
///
/// # Errors
/// The first kernel that cannot be lowered.
pub fn lir_text(program: &Program, target: Target) -> Result<String, Diagnostic> {
    let modules = kernels(program).into_iter().map(|kernel| lower::lower(kernel, target));
    modules.map(|lowered| lowered.map(|kernel| print_module(&kernel.module))).collect()
}

/// The LLVM text of every kernel.
///
/// # Errors
/// The first kernel that cannot be lowered; no libLLVM.
pub fn llvm_text_of(program: &Program, target: Target) -> Result<String, CompileError> {
    let mut text = String::new();
    for kernel in kernels(program) {
        let lowered = lower::lower(kernel, target).map_err(Diagnostics::from)?;
        text += &llvm_text(&lowered.module).map_err(|error| CompileError::Internal(error.to_string()))?;
    }
    Ok(text)
}
