//! From a program, or from a captured function and a specialization, to an artifact.

use std::sync::Arc;
use std::time::Instant;

use super::engine::engine;
use super::error::CompileError;
use super::hints::{Hint, code_hints};
use super::host::{Built, Fallback, Listing, build, run_passes};
use super::profile::Stage;
use super::progress::Progress;
use super::settings::{Output, Settings};
use crate::artifact::{
    BuildRecord, Companions, CompiledEntries, CompiledProgram, EntriesWriter, kernel_stem, new_directory,
};
use crate::codegen::ascend::target_of;
use crate::config::{CompileOptions, DiagnosticPhase};
use crate::diagnostics::Diagnostics;
use crate::frontend::generic;
use crate::frontend::instantiate::{describe, instantiate};
use crate::frontend::specialization::Specialization;
use crate::ir::{self, Program};
use crate::passes::checkpoints::remove_checkpoints;
use crate::passes::pipeline::PassPipeline;

/// Compiles a program: passes, code for every kernel, and, where one is asked for, the artifact's directory. Also in
/// scope as [`pypto::compile`](fn@pypto::compile).
///
/// The program is one that was built ([`ir::Builder`]), parsed ([`ir::text::parse`]) or grouped (`#[pypto::program]`);
/// [`JitFn::compile`](pypto::jit::JitFn::compile) is the same for an annotated function.
///
/// ```
/// use pypto::config::CompileOptions;
/// use pypto::ir::text::parse;
/// use pypto::prelude::*;
///
/// let program = parse(
///     r#"program "double" entry @double
/// fn @double incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {
///   %2: i64 = constant() {value = 0, dtype = i64}
///   %3: tile<f32>[4] = load(%0, %2)
///   %4: tile<f32>[4] = add(%3, %3)
///   store(%4, %1, %2)
/// }
/// "#,
///     "double",
/// )?;
/// let compiled = pypto::compile(&program, &CompileOptions::default())?;
/// let (x, mut y) = (Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [4]), Tensor::<f32, 1>::zeros([4]));
/// compiled.call((&x, &mut y))?;
/// assert_eq!(y.as_slice(), [2.0, 4.0, 6.0, 8.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What is wrong in the program or with an option; a program with several roots ([`compile_entries`] takes it); what an
/// accelerator does not have; an artifact that cannot be written. Nothing is written then.
pub fn compile(program: &Program, options: &CompileOptions) -> Result<CompiledProgram, CompileError> {
    compile_with(program, options, None)
}

/// As [`compile`](fn@compile), for whoever wants to see how far it is.
///
/// # Errors
/// As [`compile`](fn@compile).
pub fn compile_watched(
    program: &Program,
    options: &CompileOptions,
    progress: &Arc<dyn Progress>,
) -> Result<CompiledProgram, CompileError> {
    compile_with(program, options, Some(progress))
}

fn compile_with(
    program: &Program,
    options: &CompileOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<CompiledProgram, CompileError> {
    let settings = Settings::of(options)?;
    ir::verify(program)?;
    if let roots @ [_, _, ..] = program.roots().as_slice() {
        let roots = roots.iter().map(|root| (*root).to_owned()).collect();
        return Err(CompileError::SeveralRoots { program: program.name.clone(), roots });
    }
    compile_verified(program, &settings, progress)
}

fn compile_verified(
    program: &Program,
    settings: &Settings,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<CompiledProgram, CompileError> {
    let start = Instant::now();
    let program = chosen(program.clone(), settings);
    let built = build(program.clone(), settings, progress)?;
    finish(built, settings, Some(program), &[], start).map(|compilation| compilation.artifact)
}

/// Compiles a program that calls may start at in several places: every root for itself, all of them or none.
///
/// Where an artifact is asked for, one directory holds them all; it is replaced in one step, as that of a program with one
/// root is, and [`CompiledEntries::from_dir`] reads it.
///
/// ```
/// # let kernel = |name: &str, op: &str| format!("fn @{name} orchestration (%0 \"x\": tensor<f32>[4] in, %1 \"y\": tensor<f32>[4] out) {{\n  %2: i64 = constant() {{value = 0, dtype = i64}}\n  %3: tile<f32>[4] = load(%0, %2)\n  %4: tile<f32>[4] = {op}(%3, %3)\n  store(%4, %1, %2)\n}}\n");
/// # let text = format!("program \"both\" entry @double\n{}{}", kernel("double", "add"), kernel("square", "mul"));
/// # let program = pypto::ir::text::parse(&text, "both")?;
/// use pypto::prelude::*;
/// let entries = pypto::compile_entries(&program, &pypto::CompileOptions::default())?;
/// assert_eq!(entries.names(), ["double", "square"]);
/// let (x, mut y) = (Tensor::from_vec(vec![3.0f32; 4], [4]), Tensor::<f32, 1>::zeros([4]));
/// entries.get("square").unwrap().call((&x, &mut y))?;
/// assert_eq!(y.as_slice(), [9.0; 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`compile`](fn@compile) for any root.
pub fn compile_entries(program: &Program, options: &CompileOptions) -> Result<CompiledEntries, CompileError> {
    let settings = Settings::of(options)?;
    ir::verify(program)?;
    let target = match &settings.output {
        Output::None => None,
        Output::Directory(directory) => Some(directory.clone()),
        Output::New(root) => Some(new_directory(root, &program.name)),
    };
    let writer = target.map(|target| EntriesWriter::beside(&target)).transpose()?;
    let mut entries = Vec::new();
    for (index, root) in program.roots().into_iter().enumerate() {
        let one = program.rooted_at(root).ok_or_else(|| CompileError::Internal(format!("`{root}` is no root")))?;
        let output = match &writer {
            Some(writer) => Output::Directory(writer.entry_directory(index, root)),
            None => Output::None,
        };
        entries.push(compile_verified(&one, &Settings { output, ..settings.clone() }, None)?);
    }
    Ok(match writer {
        Some(writer) => writer.publish(&program.name, entries)?,
        None => CompiledEntries::of_build(&program.name, entries),
    })
}

/// The program without what the settings do not ask for.
fn chosen(mut program: Program, settings: &Settings) -> Program {
    if !settings.checkpoints {
        remove_checkpoints(&mut program);
    }
    program
}

/// A compilation that came to its end.
#[derive(Clone, Debug)]
pub struct Compilation {
    pub artifact: CompiledProgram,
    /// Why kernels run by the interpreter although machine code was asked for.
    pub fallbacks: Vec<Fallback>,
    /// How long the stages took.
    pub profile: Stage,
    /// What costs time in the result.
    pub hints: Vec<Hint>,
}

/// Makes the handle, and writes the artifact where that is asked for. `fixed` are the bits of scalars that the program was
/// specialized on.
fn finish(
    built: Built,
    settings: &Settings,
    source: Option<Program>,
    fixed: &[Option<u64>],
    start: Instant,
) -> Result<Compilation, CompileError> {
    let Built { executable, stages, dumps, listings, files: more, fallbacks, mut hints } = built;
    let name = executable.program.name.clone();
    let kernel_names: Vec<String> = executable.kernels.iter().map(|kernel| kernel.name.clone()).collect();
    let machine = engine(settings.platform).machine();
    let artifact = CompiledProgram::of_build(executable, settings.platform, machine, source, fixed);
    let profile = Stage { name: name.clone(), duration: start.elapsed(), children: stages };
    if settings.diagnostic_phase != DiagnosticPhase::None {
        hints.extend(code_hints(artifact.executable(), &fallbacks));
    }
    hints.retain(|hint| !settings.disabled_hints.contains(&hint.code));
    let directory = match &settings.output {
        Output::None => return Ok(Compilation { artifact, fallbacks, profile, hints }),
        Output::Directory(directory) => directory.clone(),
        Output::New(root) => new_directory(root, &name),
    };
    let mut files: Vec<(String, Vec<u8>)> =
        dumps.into_iter().map(|(name, text)| (format!("passes_dump/{name}"), text.into_bytes())).collect();
    files.extend(listing_files(&kernel_names, listings));
    files.extend(more.into_iter().map(|(name, text)| (name, text.into_bytes())));
    if settings.profiling {
        files.push(("report/pipeline_profile.txt".to_owned(), profile.to_text().into_bytes()));
        files.push(("report/pipeline_profile.json".to_owned(), profile.to_json().into_bytes()));
    }
    if !hints.is_empty() {
        let lines: String = hints.iter().map(|hint| format!("{hint}\n")).collect();
        files.push(("report/perf_hints.log".to_owned(), lines.into_bytes()));
    }
    let companions = Companions { files, build: Some(build_record(settings)) };
    let artifact = artifact.save_with(&directory, &companions)?;
    Ok(Compilation { artifact, fallbacks, profile, hints })
}

/// The files of kernels' texts; `kernels` are the names in order.
pub fn listing_files(kernels: &[String], listings: Vec<Listing>) -> Vec<(String, Vec<u8>)> {
    let files = listings.into_iter().flat_map(|Listing { kernel, lir, ll }| {
        let index = kernels.iter().position(|name| *name == kernel).unwrap_or_default();
        let stem = kernel_stem(index, &kernel);
        [(format!("{stem}.lir"), lir.into_bytes()), (format!("{stem}.ll"), ll.into_bytes())]
    });
    files.collect()
}

/// What the manifest tells of the settings.
pub fn build_record(settings: &Settings) -> BuildRecord {
    // What is made for an accelerator does not depend on the threads here.
    let threads = if settings.platform.is_host() { settings.threads } else { 1 };
    BuildRecord { strategy: settings.strategy, threads, places: settings.emit_source_loc }
}

/// The program of a specialization after the platform's passes.
///
/// # Errors
/// What is wrong in the kernel.
pub fn lower(
    function: &'static generic::Function,
    specialization: &Specialization,
    settings: &Settings,
) -> Result<Program, CompileError> {
    let mut program = chosen(instantiate(function, specialization)?, settings);
    let outcome = match settings.platform.backend_type() {
        None => run_passes(&mut program, settings).map(drop),
        Some(arch) => PassPipeline::ascend(target_of(arch)).run(&mut program).map(drop),
    };
    outcome.map_err(|problems| noted(problems, function, specialization))?;
    Ok(program)
}

/// Compiles a specialization.
///
/// # Errors
/// What is wrong in the kernel.
pub fn compile_specialization(
    function: &'static generic::Function,
    specialization: &Specialization,
    settings: &Settings,
) -> Result<Compilation, CompileError> {
    let start = Instant::now();
    let program = chosen(instantiate(function, specialization)?, settings);
    let frontend = Stage::new("instantiate", start.elapsed());
    let source = (settings.output != Output::None).then(|| program.clone());
    let mut built = build(program, settings, None).map_err(|error| match error {
        CompileError::Kernel(problems) => noted(problems, function, specialization).into(),
        other => other,
    })?;
    built.stages.insert(0, frontend);
    finish(built, settings, source, &specialization.fixed_scalars(), start)
}

fn noted(problems: Diagnostics, function: &'static generic::Function, specialization: &Specialization) -> Diagnostics {
    problems.with_note(&describe(function, specialization))
}
