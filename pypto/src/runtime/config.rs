//! How to compile and run: what a user may choose.

use std::path::PathBuf;

use crate::compile::{CompileOptions, Platform};

/// Options of `.compile(&args, &cfg)` and of the calls of what it returns. The default changes nothing: everything that
/// is not set is as for a plain call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunConfig {
    platform: Option<Platform>,
    threads: Option<usize>,
    dump_dir: Option<PathBuf>,
    verify: bool,
    no_cache: bool,
}

impl RunConfig {
    /// Nothing chosen.
    pub fn new() -> RunConfig {
        RunConfig::default()
    }

    /// What calls of annotated functions use: `PYPTO_DUMP` names a directory for dumps. The variables `PYPTO_HOST`,
    /// `PYPTO_THREADS`, `PYPTO_CACHE` and `PYPTO_CACHE_DIR` count wherever nothing else is chosen.
    pub fn of_environment() -> RunConfig {
        let dump_dir = std::env::var_os("PYPTO_DUMP").filter(|directory| !directory.is_empty());
        RunConfig { dump_dir: dump_dir.map(PathBuf::from), ..RunConfig::default() }
    }

    /// Chooses what runs the code.
    pub fn with_platform(mut self, platform: Platform) -> RunConfig {
        self.platform = Some(platform);
        self
    }

    /// At most this many threads; 0 and 1 run on the calling thread alone.
    pub fn with_threads(mut self, threads: usize) -> RunConfig {
        self.threads = Some(threads);
        self
    }

    /// Writes the program after every pass, and the LIR and LLVM text of every kernel, into this directory.
    pub fn with_dump_dir(mut self, directory: impl Into<PathBuf>) -> RunConfig {
        self.dump_dir = Some(directory.into());
        self
    }

    /// Verifies the program after every pass.
    pub fn with_verify(mut self, verify: bool) -> RunConfig {
        self.verify = verify;
        self
    }

    /// Whether the disk cache may be used; dumps are only made by a real compilation.
    pub fn with_cache(mut self, cache: bool) -> RunConfig {
        self.no_cache = !cache;
        self
    }

    /// The options of a compilation.
    pub fn compile_options(&self) -> CompileOptions {
        CompileOptions {
            platform: self.platform.unwrap_or_else(Platform::of_environment),
            dump_dir: self.dump_dir.clone(),
            verify: self.verify || cfg!(debug_assertions),
            threads: self.run_options().threads,
            cache: !self.no_cache && self.dump_dir.is_none(),
        }
    }

    /// The options of calls.
    pub fn run_options(&self) -> RunOptions {
        RunOptions { threads: self.threads.map_or_else(super::pool::thread_count, |n| n.max(1)) }
    }
}

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Threads of one call, the caller included; at least 1.
    pub threads: usize,
}
