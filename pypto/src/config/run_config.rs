//! The aggregate of all settings, its builder, and the views of it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    ArgumentDump, BackendType, CompileOptions, ConfigError, DfxOptions, DiagnosticPhase, DistributedConfig,
    ExecutionMode, HarnessOptions, MemoryPlanner, OptimizationStrategy, PassDumpLevel, Platform, PmuEvent, RingSizes,
    RunOptions, SwimlaneLevel, VerificationLevel,
};

/// Everything that compiling, running and testing may choose, in one value: both phases are driven by it.
///
/// The default changes nothing. In files it is a flat table; unknown keys are refused, and so are values that a setting
/// cannot have.
///
/// ```
/// use pypto::config::{BackendType, ExecutionMode, Platform, RunConfig};
/// let config = RunConfig::builder().arch(BackendType::Ascend950).execution_mode(ExecutionMode::Onboard).build()?;
/// assert_eq!(config.platform(), Some(Platform::A5));
/// assert_eq!(RunConfig::builder().platform(Platform::A5).build()?, config);
/// let refused = RunConfig::builder().ring_heap(1000u64).build().unwrap_err();
/// assert!(refused.to_string().starts_with("`ring_heap` is `1000`: expected a power of two, 1024 or more"));
/// # Ok::<(), pypto::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RunConfigBuilder", into = "RunConfigBuilder")]
pub struct RunConfig {
    compile: CompileOptions,
    run: RunOptions,
    harness: HarnessOptions,
}

impl RunConfig {
    /// Nothing chosen.
    pub fn new() -> RunConfig {
        RunConfig::default()
    }

    /// A builder with nothing chosen; [`RunConfigBuilder::build`] checks the values.
    pub fn builder() -> RunConfigBuilder {
        RunConfigBuilder::default()
    }

    /// A builder with what this configuration chooses.
    pub fn to_builder(&self) -> RunConfigBuilder {
        self.clone().into()
    }

    /// The platform, if one was chosen: architecture and mode in one token.
    pub fn platform(&self) -> Option<Platform> {
        self.compile.platform
    }

    /// The Ascend architecture, if one was chosen.
    pub fn arch(&self) -> Option<BackendType> {
        self.platform().and_then(Platform::backend_type)
    }

    /// The architecture under the compiler's name for it.
    pub fn backend_type(&self) -> Option<BackendType> {
        self.arch()
    }

    /// Device or simulator, if an Ascend platform was chosen.
    pub fn execution_mode(&self) -> Option<ExecutionMode> {
        self.platform().and_then(Platform::execution_mode)
    }

    /// What the compiler reads.
    pub fn compile_options(&self) -> CompileOptions {
        self.compile.clone()
    }

    /// What a dispatch reads.
    pub fn run_options(&self) -> RunOptions {
        self.run
    }

    /// What a dispatch records.
    pub fn dfx_options(&self) -> DfxOptions {
        self.run.dfx
    }

    /// What a test harness reads.
    pub fn harness_options(&self) -> &HarnessOptions {
        &self.harness
    }

    /// Whether the artifact outlives a test: asked for, or needed by a diagnostic.
    pub fn keeps_artifacts(&self) -> bool {
        self.harness.save_kernels == Some(true) || self.run.dfx.any()
    }

    /// Chooses what runs the code.
    pub fn with_platform(mut self, platform: Platform) -> RunConfig {
        (self.compile.platform, self.run.platform) = (Some(platform), Some(platform));
        self
    }

    /// At most this many threads; 0 and 1 run on the calling thread alone.
    pub fn with_threads(mut self, threads: usize) -> RunConfig {
        (self.compile.threads, self.run.threads) = (Some(threads), Some(threads));
        self
    }

    /// Writes the artifact into this directory.
    pub fn with_output_dir(mut self, directory: impl Into<PathBuf>) -> RunConfig {
        self.compile.output_dir = Some(directory.into());
        self
    }

    /// Dumps the program after every pass into the artifact.
    pub fn with_dump_passes(mut self, level: PassDumpLevel) -> RunConfig {
        self.compile.dump_passes = Some(level);
        self
    }

    /// Verifies the program after every pass, or never.
    pub fn with_verify(mut self, verify: bool) -> RunConfig {
        self.compile.verification_level = Some(if verify { VerificationLevel::Basic } else { VerificationLevel::None });
        self
    }

    /// Whether the cache of compiled kernels may be used.
    pub fn with_cache(mut self, cache: bool) -> RunConfig {
        self.compile.cache = Some(cache);
        self
    }

    /// Records this at every dispatch.
    pub fn with_dfx(mut self, dfx: DfxOptions) -> RunConfig {
        self.run.dfx = dfx;
        self
    }
}

macro_rules! builder {
    ($( $(#[$doc:meta])* $field:ident: $ty:ty => $($path:ident).+ ; )*) => {
        /// The fields of a [`RunConfig`], flat, as files have them.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct RunConfigBuilder {
            #[serde(skip_serializing_if = "Option::is_none")]
            platform: Option<Platform>,
            #[serde(skip_serializing_if = "Option::is_none")]
            arch: Option<BackendType>,
            #[serde(skip_serializing_if = "Option::is_none")]
            execution_mode: Option<ExecutionMode>,
            #[serde(skip_serializing_if = "Option::is_none")]
            threads: Option<usize>,
            $(#[serde(skip_serializing_if = "Option::is_none")] $field: Option<$ty>,)*
        }

        impl RunConfigBuilder {
            /// What runs the code: architecture and mode at once.
            pub fn platform(mut self, platform: Platform) -> RunConfigBuilder {
                self.platform = Some(platform);
                self
            }

            /// The Ascend architecture; simulated unless [`RunConfigBuilder::execution_mode`] says otherwise.
            pub fn arch(mut self, arch: BackendType) -> RunConfigBuilder {
                self.arch = Some(arch);
                self
            }

            /// Device or simulator.
            pub fn execution_mode(mut self, mode: ExecutionMode) -> RunConfigBuilder {
                self.execution_mode = Some(mode);
                self
            }

            /// Threads of compilation and of each call.
            pub fn threads(mut self, threads: usize) -> RunConfigBuilder {
                self.threads = Some(threads);
                self
            }

            $(
                $(#[$doc])*
                pub fn $field(mut self, value: impl Into<$ty>) -> RunConfigBuilder {
                    self.$field = Some(value.into());
                    self
                }
            )*

            /// Checks the values.
            ///
            /// # Errors
            /// The first setting with a value that it cannot have, or two settings that exclude each other.
            pub fn build(self) -> Result<RunConfig, ConfigError> {
                let platform = self.target()?;
                let mut config = RunConfig::default();
                (config.compile.platform, config.run.platform) = (platform, platform);
                (config.compile.threads, config.run.threads) = (self.threads, self.threads);
                $( config.$($path).+ = self.$field; )*
                config.compile.validate()?;
                config.run.validate()?;
                config.harness.validate()?;
                Ok(config)
            }
        }

        impl From<RunConfig> for RunConfigBuilder {
            fn from(config: RunConfig) -> RunConfigBuilder {
                RunConfigBuilder {
                    platform: config.compile.platform,
                    arch: None,
                    execution_mode: None,
                    threads: config.compile.threads,
                    $( $field: config.$($path).+, )*
                }
            }
        }
    };
}

builder! {
    /// Which passes run.
    strategy: OptimizationStrategy => compile.strategy;
    /// Dumps of the program after each pass.
    dump_passes: PassDumpLevel => compile.dump_passes;
    /// Dumps of the passes of ptoas.
    dump_ptoas_passes: bool => compile.dump_ptoas_passes;
    /// Times of stages and passes: [`CompileOptions::profiling`].
    compile_profiling: bool => compile.profiling;
    /// When warnings are looked for.
    diagnostic_phase: DiagnosticPhase => compile.diagnostic_phase;
    /// Codes of warnings that are not wanted.
    disabled_diagnostics: Vec<String> => compile.disabled_diagnostics;
    /// How passes are checked.
    verification_level: VerificationLevel => compile.verification_level;
    /// Whether dependencies are derived where the user gives none.
    analyze_auto_scopes_for_deps: bool => compile.analyze_auto_scopes_for_deps;
    /// Where the artifact is written: [`CompileOptions::output_dir`].
    save_kernels_dir: PathBuf => compile.output_dir;
    /// Who places buffers.
    memory_planner: MemoryPlanner => compile.memory_planner;
    /// Whether the saved program tells places in the source.
    emit_source_loc: bool => compile.emit_source_loc;
    /// For programs with ranks.
    distributed_config: DistributedConfig => compile.distributed_config;
    /// Whether the cache of compiled kernels is used.
    cache: bool => compile.cache;
    /// Whether the code shows the values of `checkpoint!`: [`CompileOptions::checkpoints`].
    checkpoints: bool => compile.checkpoints;
    /// Which device.
    device_id: u32 => run.device_id;
    /// Threads that schedule on an Ascend device.
    aicpu_thread_num: u32 => run.aicpu_thread_num;
    /// Task slots of the device's rings.
    ring_task_window: RingSizes => run.ring_task_window;
    /// Heap bytes of the device's rings.
    ring_heap: RingSizes => run.ring_heap;
    /// Dependency entries of the device's rings.
    ring_dep_pool: RingSizes => run.ring_dep_pool;
    /// Milliseconds that a call on the host may take.
    time_limit_ms: u64 => run.time_limit_ms;
    /// A trace of tasks.
    enable_chip_swimlane: SwimlaneLevel => run.dfx.enable_chip_swimlane;
    /// Arguments of tasks.
    enable_dump_args: ArgumentDump => run.dfx.enable_dump_args;
    /// Hardware counters.
    enable_pmu: PmuEvent => run.dfx.enable_pmu;
    /// The graph of dependencies between tasks.
    enable_dep_gen: bool => run.dfx.enable_dep_gen;
    /// Memory and tasks of scopes.
    enable_scope_stats: bool => run.dfx.enable_scope_stats;
    /// Largest relative difference from golden results.
    rtol: f64 => harness.rtol;
    /// Largest absolute difference from golden results.
    atol: f64 => harness.atol;
    /// Where golden inputs and results are read, or kept.
    golden_data_dir: PathBuf => harness.golden_data_dir;
    /// Whether the artifact stays after the test.
    save_kernels: bool => harness.save_kernels;
    /// Compile, but do not run.
    codegen_only: bool => harness.codegen_only;
}

impl RunConfigBuilder {
    /// The platform of the three settings that tell it.
    fn target(&self) -> Result<Option<Platform>, ConfigError> {
        let Some(platform) = self.platform else {
            return match (self.arch, self.execution_mode) {
                (Some(arch), mode) => Ok(Some(Platform::ascend(arch, mode.unwrap_or(ExecutionMode::Simulator)))),
                (None, Some(mode)) => Err(ConfigError::Conflict {
                    field: "execution_mode".to_owned(),
                    value: format!("`{mode}`"),
                    other: "arch".to_owned(),
                    other_value: "not set".to_owned(),
                    fix: "name the architecture, too, or set `platform`".to_owned(),
                }),
                (None, None) => Ok(None),
            };
        };
        if self.arch.is_some_and(|arch| platform.backend_type() != Some(arch)) {
            return Err(conflict("arch", self.arch.map(BackendType::name), platform));
        }
        if self.execution_mode.is_some_and(|mode| platform.execution_mode() != Some(mode)) {
            return Err(conflict("execution_mode", self.execution_mode.map(ExecutionMode::name), platform));
        }
        Ok(Some(platform))
    }
}

fn conflict(field: &str, value: Option<&str>, platform: Platform) -> ConfigError {
    ConfigError::Conflict {
        field: field.to_owned(),
        value: format!("`{}`", value.unwrap_or_default()),
        other: "platform".to_owned(),
        other_value: format!("`{platform}`"),
        fix: "set one of them".to_owned(),
    }
}

impl TryFrom<RunConfigBuilder> for RunConfig {
    type Error = ConfigError;

    fn try_from(builder: RunConfigBuilder) -> Result<RunConfig, ConfigError> {
        builder.build()
    }
}
