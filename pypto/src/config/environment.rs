//! The environment: the one place that reads variables.
//!
//! Variables are read once, together, at the first use of the process; a value that its variable cannot have is
//! an error of whatever asked first, and of everything after it. An empty variable counts as not set. The table is in
//! docs/configuration.md.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::run_options::MAX_THREADS;
use super::{ConfigError, DiagnosticPhase, Isa, Platform, VerificationLevel};

/// What the `PYPTO_*` variables say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `PYPTO_HOST`: `host` or `interpreter`.
    pub platform: Option<Platform>,
    /// `PYPTO_ISA`: the instruction set of compiled kernels; one that this CPU has.
    pub isa: Option<Isa>,
    /// `PYPTO_THREADS`: from 1 to 256.
    pub threads: Option<usize>,
    /// `PYPTO_CACHE=off`.
    pub cache_off: bool,
    /// `PYPTO_CACHE_DIR`.
    pub cache_dir: Option<PathBuf>,
    /// `PYPTO_DUMP`: where plain calls write artifacts, with the program after every pass.
    pub dump: Option<PathBuf>,
    /// `PYPTO_LOG`: a line for each compilation.
    pub log_compile: bool,
    /// `PYPTO_PERF_MAP`: compiled kernels get names in profiles.
    pub perf_map: bool,
    /// `PYPTO_LLVM`: this libLLVM and no other.
    pub llvm: Option<PathBuf>,
    /// `PYPTO_EAGER`: order of independent iterations in eager runs.
    pub eager: EagerOrder,
    /// `PYPTO_CHECK=nan`: kernels are interpreted, and stop where the first NaN is made.
    pub check_nan: bool,
    /// `PYPTO_CHECKPOINTS`: where the values of checkpoints are written, which are switched on by it.
    pub checkpoints: Option<PathBuf>,
    /// `PYPTO_MESSAGE_FORMAT=json`: tests of `check(..)` say what is wrong in the form of rustc's JSON.
    pub messages_as_json: bool,
    /// `PYPTO_WARM`: tests of `check(..)` compile into the cache on disk, and tell so in this file.
    pub warm: Option<PathBuf>,
    /// `PYPTO_PROG_BUILD_DIR`: where artifacts without a name go.
    pub build_dir: Option<PathBuf>,
    /// `PYPTO_VERIFY_LEVEL`.
    pub verification_level: Option<VerificationLevel>,
    /// `PYPTO_WARNING_LEVEL`.
    pub diagnostic_phase: Option<DiagnosticPhase>,
    /// `PYPTO_COMPILE_PROFILING`.
    pub profiling: Option<bool>,
    /// `PYPTO_EMIT_PTO_LOC`.
    pub emit_source_loc: Option<bool>,
    /// `PTOAS_ROOT`: the directory of the assembler for Ascend.
    pub ptoas_root: Option<PathBuf>,
    /// `PYPTO_PTOAS_SECONDS`: how long it may take for a kernel.
    pub ptoas_seconds: Option<u64>,
    /// `PATH`: where it is looked for otherwise.
    pub search_path: Option<OsString>,
}

/// In what order eager runs take iterations that are independent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EagerOrder {
    #[default]
    Forward,
    Reverse,
    Shuffle,
}

impl Environment {
    /// Reads the variables through `lookup`, which gives the value of a name.
    ///
    /// # Errors
    /// The first variable with a value that it cannot have.
    pub fn read(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Environment, ConfigError> {
        let raw = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let path = |name: &str| raw(name).map(PathBuf::from);
        Ok(Environment {
            platform: word(&raw, "PYPTO_HOST", "`host` or `interpreter`", |text| {
                text.parse().ok().filter(|platform: &Platform| platform.is_host())
            })?,
            isa: word(&raw, "PYPTO_ISA", &instruction_sets(), |text| {
                Isa::from_name(text).filter(|isa| isa.runs_here())
            })?,
            threads: word(&raw, "PYPTO_THREADS", "a number of threads from 1 to 256", |text| {
                text.parse().ok().filter(|n| (1..=MAX_THREADS).contains(n))
            })?,
            cache_off: word(&raw, "PYPTO_CACHE", "`on` or `off`", switch)? == Some(false),
            cache_dir: path("PYPTO_CACHE_DIR"),
            dump: path("PYPTO_DUMP"),
            log_compile: word(&raw, "PYPTO_LOG", "`compile`", |text| {
                text.split(',').all(|topic| topic.trim() == "compile").then_some(true)
            })?
            .unwrap_or(false),
            perf_map: word(&raw, "PYPTO_PERF_MAP", "`on` or `off`", switch)?.unwrap_or(false),
            llvm: path("PYPTO_LLVM"),
            eager: word(&raw, "PYPTO_EAGER", "`forward`, `reverse` or `shuffle`", |text| match text {
                "forward" => Some(EagerOrder::Forward),
                "reverse" => Some(EagerOrder::Reverse),
                "shuffle" => Some(EagerOrder::Shuffle),
                _ => None,
            })?
            .unwrap_or_default(),
            check_nan: word(&raw, "PYPTO_CHECK", "`nan`", |text| (text == "nan").then_some(true))?.unwrap_or(false),
            checkpoints: path("PYPTO_CHECKPOINTS"),
            messages_as_json: word(&raw, "PYPTO_MESSAGE_FORMAT", "`human` or `json`", |text| match text {
                "human" => Some(false),
                "json" => Some(true),
                _ => None,
            })?
            .unwrap_or(false),
            warm: path("PYPTO_WARM"),
            build_dir: path("PYPTO_PROG_BUILD_DIR"),
            verification_level: word(&raw, "PYPTO_VERIFY_LEVEL", "`none`, `basic` or `roundtrip`", |text| {
                text.parse().ok()
            })?,
            diagnostic_phase: word(
                &raw,
                "PYPTO_WARNING_LEVEL",
                "`none`, `pre_pipeline`, `post_pass` or `post_pipeline`",
                |text| text.parse().ok(),
            )?,
            profiling: word(&raw, "PYPTO_COMPILE_PROFILING", "`on` or `off`", switch)?,
            emit_source_loc: word(&raw, "PYPTO_EMIT_PTO_LOC", "`on` or `off`", switch)?,
            ptoas_root: path("PTOAS_ROOT"),
            ptoas_seconds: word(&raw, "PYPTO_PTOAS_SECONDS", "a number of seconds from 1 to 86400", |text| {
                text.parse().ok().filter(|n| (1..=86_400).contains(n))
            })?,
            search_path: raw("PATH"),
        })
    }

    /// That of the process, read at the first use.
    ///
    /// # Errors
    /// The first variable with a value that it cannot have.
    pub fn process() -> Result<&'static Environment, ConfigError> {
        match of_process() {
            Ok(environment) => Ok(environment),
            Err(error) => Err(error.clone()),
        }
    }

    /// That of the process, or nothing set where a variable is wrong: for places that cannot report it, because whatever
    /// led there did.
    pub fn process_or_default() -> &'static Environment {
        static UNSET: OnceLock<Environment> = OnceLock::new();
        match of_process() {
            Ok(environment) => environment,
            Err(_) => UNSET.get_or_init(Environment::default),
        }
    }

    /// Threads that kernels use where nothing else is chosen.
    pub fn thread_count(&self) -> usize {
        let machine = || std::thread::available_parallelism().map_or(1, |n| n.get());
        self.threads.unwrap_or_else(machine).min(MAX_THREADS)
    }

    /// Where compiled kernels are kept, if anywhere: `PYPTO_CACHE_DIR`, or `pypto` in the user's cache directory.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        if self.cache_off {
            return None;
        }
        let user = || system_path("XDG_CACHE_HOME").or_else(|| system_path("HOME").map(|home| home.join(".cache")));
        self.cache_dir.clone().or_else(|| user().map(|cache| cache.join("pypto")))
    }
}

fn of_process() -> &'static Result<Environment, ConfigError> {
    static READ: OnceLock<Result<Environment, ConfigError>> = OnceLock::new();
    READ.get_or_init(|| Environment::read(|name| std::env::var_os(name)))
}

/// A path that the system or another tool keeps in a variable: `HOME`, `RUSTUP_HOME` and the like.
pub fn system_path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A text that the system or another tool keeps in a variable.
pub fn system_text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What this CPU has, for a message.
fn instruction_sets() -> String {
    let names = Isa::ALL.into_iter().filter(|isa| isa.runs_here()).map(|isa| format!("`{}`", isa.name()));
    format!("an instruction set of this CPU: {}", names.collect::<Vec<_>>().join(", "))
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

fn word<T>(
    raw: &impl Fn(&str) -> Option<OsString>,
    variable: &str,
    allowed: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, ConfigError> {
    let Some(value) = raw(variable) else { return Ok(None) };
    let text = value.to_string_lossy();
    match read(text.trim()) {
        Some(known) => Ok(Some(known)),
        None => Err(ConfigError::Environment {
            variable: variable.to_owned(),
            value: format!("`{text}`"),
            allowed: allowed.to_owned(),
        }),
    }
}
