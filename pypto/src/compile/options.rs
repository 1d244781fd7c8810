//! What a compilation may choose.

use std::path::PathBuf;

/// What runs the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Platform {
    /// The CPU at hand: machine code, or the interpreter where there is no libLLVM.
    Host,
    /// The interpreter.
    Interpreter,
}

impl Platform {
    /// The platform of calls that choose none: `PYPTO_HOST=interpreter` selects the interpreter.
    pub fn of_environment() -> Platform {
        match std::env::var("PYPTO_HOST") {
            Ok(value) if value.trim() == "interpreter" => Platform::Interpreter,
            _ => Platform::Host,
        }
    }
}

/// How to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    pub platform: Platform,
    pub dump_dir: Option<PathBuf>,
    pub verify: bool,
    /// Threads that whole-tensor work is cut for; results do not depend on it.
    pub threads: usize,
    /// Whether the disk cache is used.
    pub cache: bool,
}
