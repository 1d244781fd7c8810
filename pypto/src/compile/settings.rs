//! The options of a compilation after every default: what was asked for, else what the environment says, else the default.
//!
//! An option that the platform cannot honour is an error here, before anything is compiled or written.

use std::path::PathBuf;

use super::hints::HintCode;
use crate::config::environment::Environment;
use crate::config::{
    CompileOptions, ConfigError, DiagnosticPhase, MemoryPlanner, OptimizationStrategy, PassDumpLevel, Platform,
    VerificationLevel,
};
use crate::diagnostics::{Code, codes};
use crate::ir::report::observer::is_recording;

/// Where the artifact goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nowhere: it stays in memory.
    None,
    /// Into this directory.
    Directory(PathBuf),
    /// Into a new directory below this one, named for the program.
    New(PathBuf),
}

/// How to compile, with nothing left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub platform: Platform,
    pub strategy: OptimizationStrategy,
    pub dump_passes: PassDumpLevel,
    pub profiling: bool,
    pub diagnostic_phase: DiagnosticPhase,
    /// Warnings that are not wanted.
    pub disabled_warnings: Vec<Code>,
    /// Hints that are not wanted.
    pub disabled_hints: Vec<HintCode>,
    pub verification: VerificationLevel,
    pub output: Output,
    pub emit_source_loc: bool,
    /// Threads that whole-tensor work is cut for; at least 1.
    pub threads: usize,
    /// Whether the cache of compiled kernels is used.
    pub cache: bool,
    /// Whether the code shows the values of checkpoints.
    pub checkpoints: bool,
    /// Who places tiles in on-chip memory, on Ascend.
    pub memory_planner: MemoryPlanner,
    /// Whether the assembler tells its passes, on Ascend.
    pub dump_ptoas_passes: bool,
}

impl Settings {
    /// The settings of these options in the environment of the process.
    ///
    /// # Errors
    /// An option or a variable with a value that it cannot have, or that means nothing on the platform.
    pub fn of(options: &CompileOptions) -> Result<Settings, ConfigError> {
        Settings::resolve(options, Environment::process()?)
    }

    /// The settings of a call of an annotated function, for which nothing is chosen: `PYPTO_DUMP` asks for artifacts.
    ///
    /// # Errors
    /// As [`Settings::of`].
    pub fn of_calls() -> Result<Settings, ConfigError> {
        Settings::resolve_calls(Environment::process()?)
    }

    /// As [`Settings::of_calls`], in a given environment.
    ///
    /// # Errors
    /// As [`Settings::of`].
    pub fn resolve_calls(environment: &Environment) -> Result<Settings, ConfigError> {
        let mut settings = Settings::resolve(&CompileOptions::default(), environment)?;
        if let Some(directory) = &environment.dump {
            settings.output = Output::New(directory.clone());
            settings.dump_passes = PassDumpLevel::Explicit;
        }
        Ok(settings)
    }

    /// The settings of these options in a given environment.
    ///
    /// # Errors
    /// As [`Settings::of`].
    pub fn resolve(options: &CompileOptions, environment: &Environment) -> Result<Settings, ConfigError> {
        options.validate()?;
        let checked = environment.check_nan.then_some(Platform::Interpreter);
        let platform = options.platform.or(checked).or(environment.platform).unwrap_or(Platform::Host);
        if platform == Platform::Host && environment.check_nan {
            return Err(ConfigError::Environment {
                variable: "PYPTO_CHECK".to_owned(),
                value: "`nan`, with the option `platform = host`".to_owned(),
                allowed: "`nan` only where kernels are interpreted: choose `interpreter`, or no platform".to_owned(),
            });
        }
        check_platform(options, platform)?;
        let basic = if cfg!(debug_assertions) { VerificationLevel::Basic } else { VerificationLevel::None };
        let (disabled_warnings, disabled_hints) = disabled(options)?;
        let mut settings = Settings {
            platform,
            strategy: options.strategy.unwrap_or(OptimizationStrategy::Default),
            dump_passes: options.dump_passes.unwrap_or(PassDumpLevel::None),
            profiling: options.profiling.or(environment.profiling).unwrap_or(false),
            diagnostic_phase: options
                .diagnostic_phase
                .or(environment.diagnostic_phase)
                .unwrap_or(DiagnosticPhase::PrePipeline),
            disabled_warnings,
            disabled_hints,
            verification: options.verification_level.or(environment.verification_level).unwrap_or(basic),
            output: Output::None,
            emit_source_loc: options.emit_source_loc.or(environment.emit_source_loc).unwrap_or(true),
            threads: options.threads.map_or_else(|| environment.thread_count(), |n| n.max(1)),
            cache: options.cache.unwrap_or(true),
            checkpoints: options.checkpoints.unwrap_or_else(|| environment.checkpoints.is_some() || is_recording()),
            memory_planner: options.memory_planner.unwrap_or(MemoryPlanner::DsaRp),
            dump_ptoas_passes: options.dump_ptoas_passes.unwrap_or(false),
        };
        settings.output = match &options.output_dir {
            Some(directory) => Output::Directory(directory.clone()),
            None if options.dump_passes.is_some_and(|level| level != PassDumpLevel::None) || settings.profiling => {
                Output::New(environment.build_dir.clone().unwrap_or_else(|| PathBuf::from("build_output")))
            }
            None => Output::None,
        };
        Ok(settings)
    }

    /// Whether a warning is wanted.
    pub fn warns(&self, code: Code) -> bool {
        self.diagnostic_phase != DiagnosticPhase::None && !self.disabled_warnings.contains(&code)
    }

    /// Whether an earlier result may stand in: not where an artifact with dumps and listings is wanted.
    pub fn uses_cache(&self) -> bool {
        self.cache
            && self.platform.is_host()
            && self.output == Output::None
            && self.strategy == OptimizationStrategy::Default
    }
}

/// Refuses what the platform cannot honour; docs/configuration.md has the table.
fn check_platform(options: &CompileOptions, platform: Platform) -> Result<(), ConfigError> {
    let not_on =
        |field: &str, value: &dyn std::fmt::Display, fix: &str| ConfigError::not_on(field, value, platform, fix);
    if let Some(config) = &options.distributed_config {
        let value = format!("{:?}", config.device_ids);
        return Err(not_on("distributed_config", &value, "programs with ranks are not compiled yet; leave it unset"));
    }
    if !platform.is_host() {
        return check_accelerator(options, platform);
    }
    if options.dump_ptoas_passes == Some(true) {
        return Err(not_on("dump_ptoas_passes", &true, "ptoas is not used there; `dump_passes` shows the program"));
    }
    if let Some(planner) = options.memory_planner {
        return Err(not_on("memory_planner", &planner, "there is no on-chip memory to plan; leave it unset"));
    }
    if options.analyze_auto_scopes_for_deps == Some(false) {
        let fix =
            "dependencies are always derived from the regions that tasks touch; leave it unset, or set it to true";
        return Err(not_on("analyze_auto_scopes_for_deps", &false, fix));
    }
    Ok(())
}

/// Refuses what the compilation for an accelerator has no use for.
fn check_accelerator(options: &CompileOptions, platform: Platform) -> Result<(), ConfigError> {
    if let Some(strategy) = options.strategy.filter(|strategy| *strategy != OptimizationStrategy::Default) {
        let fix = "its passes are all needed there; leave it unset";
        return Err(ConfigError::not_on("strategy", strategy, platform, fix));
    }
    if options.analyze_auto_scopes_for_deps == Some(false) {
        let fix = "dependencies are always derived from the tensors of tasks; leave it unset, or set it to true";
        return Err(ConfigError::not_on("analyze_auto_scopes_for_deps", false, platform, fix));
    }
    Ok(())
}

/// Warnings, the others being errors.
const WARNINGS: [Code; 1] = [codes::RECOMPILATION];

fn disabled(options: &CompileOptions) -> Result<(Vec<Code>, Vec<HintCode>), ConfigError> {
    let (mut warnings, mut hints) = (Vec::new(), Vec::new());
    for text in options.disabled_diagnostics.iter().flatten() {
        match (codes::parse(text).filter(|code| WARNINGS.contains(code)), HintCode::parse(text)) {
            (Some(code), _) => warnings.push(code),
            (None, Some(hint)) => hints.push(hint),
            (None, None) => {
                let names = |codes: &[Code]| codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>();
                let hints = HintCode::ALL.map(|hint| format!("`{}`", hint.name()));
                let allowed = format!("warnings and hints: {}", [names(&WARNINGS), hints.to_vec()].concat().join(", "));
                return Err(ConfigError::value("disabled_diagnostics", text, allowed));
            }
        }
    }
    Ok((warnings, hints))
}
