//! Compilation for Ascend targets: their passes, then kernels in the assembler's dialect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::assembler::{Assembler, AssemblerOptions, DEFAULT_TIME_LIMIT, assemble};
use super::error::CompileError;
use super::host::{Built, interpreted, kernels, pass_options, watched_passes};
use super::profile::Stage;
use super::progress::Progress;
use super::settings::{Output, Settings};
use crate::artifact::{Accelerator, HostExecutable};
use crate::codegen::ascend::{AscendArtifact, AscendOptions, Planner, generate, target_of};
use crate::codegen::host::object_cache::object_cache;
use crate::config::environment::Environment;
use crate::config::{BackendType, ConfigError, ExecutionMode, MemoryPlanner, VerificationLevel};
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::ir::Program;
use crate::ir::report::{ReportSite, sites};
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
    if mode == ExecutionMode::Onboard {
        refuse_reports(&program, target)?;
    }
    let start = Instant::now();
    let pipeline = PassPipeline::ascend(target).options(pass_options(settings));
    let (passes, hints) = watched_passes(pipeline, &mut program, settings, progress)?;
    let mut pass_stage = Stage::new("passes", start.elapsed());
    pass_stage.children = passes.timings.iter().map(|(name, duration)| Stage::new(*name, *duration)).collect();
    let start = Instant::now();
    let mut artifact = generate(program, target, options(settings))?;
    let mut stages = vec![pass_stage, Stage::new("codegen", start.elapsed())];
    let start = Instant::now();
    let dumped = if let Some(logs) = assembled(&mut artifact, settings)? {
        stages.push(Stage::new("assembler", start.elapsed()));
        logs
    } else {
        Vec::new()
    };
    let mut files = if settings.output == Output::None { Vec::new() } else { artifact.files() };
    files.extend(dumped);
    let program = artifact.program.clone();
    let kernels = kernels(&program).into_iter().map(interpreted).collect();
    let accelerator = Some(Accelerator { artifact: Arc::new(artifact), mode });
    let executable = HostExecutable { program, kernels, accelerator };
    let (dumps, listings, fallbacks) = (passes.dumps, Vec::new(), Vec::new());
    Ok(Built { executable, stages, dumps, listings, files, fallbacks, hints })
}

/// Refuses what only simulators show: there is no way from a device to here.
fn refuse_reports(program: &Program, target: &'static Target) -> Result<(), Diagnostics> {
    let shown = program.functions.iter().flat_map(sites);
    let problem = |site: ReportSite| {
        let (loc, name) = (site.op.loc, site.op.kind.name());
        Diagnostic::error(
            codes::TARGET_SUPPORT,
            loc,
            format!("a device `{}` has no `{name}`", target.name),
            "shown here",
        )
        .note(format!("values of {} do not leave the device while a kernel runs", target.product))
        .help(format!("targets `{}sim`, `host` and `interpreter` have it", target.name))
    };
    let problems = Diagnostics(shown.map(problem).collect());
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Lets the assembler make C++ of the kernels of an artifact that is written, where there is an assembler; gives files
/// with what it told of its passes. `None` where it did not run.
fn assembled(
    artifact: &mut AscendArtifact,
    settings: &Settings,
) -> Result<Option<Vec<(String, String)>>, CompileError> {
    let environment = Environment::process()?;
    let found = match settings.output {
        Output::None => None,
        _ => Assembler::find(environment)?,
    };
    let Some(assembler) = found else {
        if settings.dump_ptoas_passes {
            let fix = "the assembler runs where an artifact is written and `ptoas` is found, by `PTOAS_ROOT` or `PATH`";
            return Err(ConfigError::not_on("dump_ptoas_passes", true, settings.platform, fix).into());
        }
        return Ok(None);
    };
    let options = AssemblerOptions {
        threads: settings.threads,
        time_limit: environment.ptoas_seconds.map_or(DEFAULT_TIME_LIMIT, Duration::from_secs),
        cache: settings.cache.then(object_cache),
        dump_passes: settings.dump_ptoas_passes,
    };
    let results = assemble(artifact, &assembler, options)?;
    let mut logs = Vec::new();
    for (kernel, result) in artifact.kernels.iter_mut().zip(results) {
        kernel.assembled = Some(result.source);
        if settings.dump_ptoas_passes {
            logs.push((format!("ptoas_passes/{}.mlir", kernel.name), result.log));
        }
    }
    Ok(Some(logs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::ascend::artifact::CHECKED_TEXTS;
    use crate::compile::compile;
    use crate::config::{CompileOptions, Platform};
    use crate::ir::text::parse;

    const TEXT: &str = r#"program "double" entry @double
fn @double incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {
  %2: i64 = constant() {value = 0, dtype = i64}
  %3: tile<f32>[4] = load(%0, %2)
  %4: tile<f32>[4] = add(%3, %3)
  store(%4, %1, %2)
}
"#;

    /// How many texts the strict reader gets to see in a compilation.
    fn checked(level: VerificationLevel, planner: MemoryPlanner) -> usize {
        let options = CompileOptions {
            platform: Some(Platform::A2a3),
            verification_level: Some(level),
            memory_planner: Some(planner),
            ..CompileOptions::default()
        };
        let before = CHECKED_TEXTS.with(std::cell::Cell::get);
        compile(&parse(TEXT, "double").unwrap(), &options).unwrap();
        CHECKED_TEXTS.with(std::cell::Cell::get) - before
    }

    #[test]
    fn texts_are_read_again_where_verification_is_asked_for() {
        for planner in [MemoryPlanner::DsaRp, MemoryPlanner::Ptoas] {
            assert_eq!(checked(VerificationLevel::None, planner), 0);
            assert_eq!(checked(VerificationLevel::Basic, planner), 1);
            assert_eq!(checked(VerificationLevel::Roundtrip, planner), 1);
        }
    }
}
