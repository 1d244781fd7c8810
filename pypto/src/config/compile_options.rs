//! What a compilation may choose.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::words::word_enum;
use super::{ConfigError, DistributedConfig, Platform};

word_enum! {
    /// Which passes run.
    pub enum OptimizationStrategy as "strategy" {
        /// All passes of the target.
        Default = "default",
        /// Only the passes that the target cannot do without: dumps stay close to the tile code as written.
        DebugTileOptimization = "debug_tile_optimization",
    }
}

word_enum! {
    /// What is dumped after each pass.
    pub enum PassDumpLevel as "dump_passes" {
        None = "none",
        /// The program, without places in the source.
        Concise = "concise",
        /// The program, with the place of every operation.
        Explicit = "explicit",
    }
}

word_enum! {
    /// How passes are checked.
    pub enum VerificationLevel as "verification_level" {
        None = "none",
        /// The program is verified after every pass.
        Basic = "basic",
        /// Also printed, parsed again and compared.
        Roundtrip = "roundtrip",
    }
}

word_enum! {
    /// When warnings and performance hints are looked for.
    pub enum DiagnosticPhase as "diagnostic_phase" {
        /// Never.
        None = "none",
        /// Before the first pass.
        PrePipeline = "pre_pipeline",
        /// After every pass.
        PostPass = "post_pass",
        /// After the last pass.
        PostPipeline = "post_pipeline",
    }
}

word_enum! {
    /// Who places buffers in on-chip memory, on Ascend.
    pub enum MemoryPlanner as "memory_planner" {
        Pypto = "pypto",
        Ptoas = "ptoas",
        /// By depth-first search over lifetimes, with reuse.
        DsaRp = "dsa_rp",
    }
}

/// Options of [`pypto::compile`](fn@pypto::compile). What is not set is decided by the environment, or has its default.
///
/// ```
/// use pypto::config::{CompileOptions, PassDumpLevel, Platform};
/// let options = CompileOptions {
///     platform: Some(Platform::Host),
///     dump_passes: Some(PassDumpLevel::Concise),
///     ..CompileOptions::default()
/// };
/// assert_eq!(serde_json::to_string(&options)?, r#"{"platform":"host","dump_passes":"concise"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompileOptions {
    /// What the code is for. Default: `PYPTO_HOST`, then the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Which passes run. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<OptimizationStrategy>,
    /// Dumps of the program into `passes_dump/` of the artifact, after every pass that changes it; `index.txt` there names all
    /// passes. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dump_passes: Option<PassDumpLevel>,
    /// Dumps of the passes of ptoas. Ascend alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dump_ptoas_passes: Option<bool>,
    /// Times of stages and passes into `report/pipeline_profile.*`. Default: `PYPTO_COMPILE_PROFILING`, then not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiling: Option<bool>,
    /// When warnings are looked for. Default: `PYPTO_WARNING_LEVEL`, then `pre_pipeline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostic_phase: Option<DiagnosticPhase>,
    /// Codes of warnings that are not wanted, such as `PTO0601`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_diagnostics: Option<Vec<String>>,
    /// How passes are checked. Default: `PYPTO_VERIFY_LEVEL`, then `basic` in debug builds, else `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_level: Option<VerificationLevel>,
    /// Whether dependencies are derived where the user gives none. The host always derives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analyze_auto_scopes_for_deps: Option<bool>,
    /// Where the artifact is written. Default: nowhere, unless dumps or profiles are wanted; then a new directory below
    /// `PYPTO_PROG_BUILD_DIR`, or below `build_output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_dir: Option<PathBuf>,
    /// Who places buffers. Ascend alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_planner: Option<MemoryPlanner>,
    /// Whether the saved program tells places in the source. Default: `PYPTO_EMIT_PTO_LOC`, then yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emit_source_loc: Option<bool>,
    /// For programs with ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distributed_config: Option<DistributedConfig>,
    /// Threads that whole-tensor work is cut for; results do not depend on it. Default: `PYPTO_THREADS`, then what the
    /// machine offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Whether the cache of compiled kernels is used. Default: yes, unless `PYPTO_CACHE=off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// Whether the code shows the values of `checkpoint!`. Without, it is as if they were not written. Default: where
    /// `PYPTO_CHECKPOINTS` is set, and for calls that the program records (`pypto::ir::report::observer::recorded`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<bool>,
}

impl CompileOptions {
    /// Checks what no type can: the values of single options. Whether the platform can honour them shows when compiling.
    ///
    /// # Errors
    /// The first option with a value that it cannot have.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for code in self.disabled_diagnostics.iter().flatten() {
            if !is_diagnostic_code(code) {
                let allowed = "codes of warnings and hints, such as `PTO0108` and `PH001`";
                return Err(ConfigError::value("disabled_diagnostics", code, allowed));
            }
        }
        if let Some(directory) = &self.output_dir
            && directory.as_os_str().is_empty()
        {
            return Err(ConfigError::value("output_dir", "", "the path of a directory"));
        }
        super::run_options::check_threads(self.threads)?;
        self.distributed_config.as_ref().map_or(Ok(()), DistributedConfig::validate)
    }
}

fn is_diagnostic_code(text: &str) -> bool {
    let digits = |prefix: &str, count: usize| {
        text.strip_prefix(prefix).is_some_and(|rest| rest.len() == count && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    digits("PTO", 4) || digits("PH", 3)
}
