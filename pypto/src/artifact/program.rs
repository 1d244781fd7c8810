//! [`CompiledProgram`]: the handle of an artifact, in memory or on disk.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::executable::HostExecutable;
use super::parameters::{ParamInfo, parameters};
use crate::config::Platform;
use crate::ir::{Direction, Function, Program};

/// A program with the code of its kernels: what [`pypto::compile`](fn@pypto::compile) and
/// [`CompiledProgram::from_dir`] give. A handle: clones share everything.
///
/// Its methods `call`, `call_with` and `load` run it; see [`pypto::runtime::dispatch`].
#[derive(Clone)]
pub struct CompiledProgram {
    inner: Arc<Inner>,
    output_dir: Option<Arc<Path>>,
}

struct Inner {
    platform: Platform,
    /// The machine that the code is for.
    machine: String,
    params: Vec<ParamInfo>,
    executable: HostExecutable,
    /// The program that was compiled, before the passes.
    source: OnceLock<Program>,
    /// What the run time made of the executable: its type is none of this layer's business.
    loaded: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl CompiledProgram {
    /// The handle of what was just built. `fixed` are the bits of scalars that it was specialized on, by position.
    pub(crate) fn of_build(
        executable: HostExecutable,
        platform: Platform,
        machine: String,
        source: Option<Program>,
        fixed: &[Option<u64>],
    ) -> CompiledProgram {
        let params = parameters(executable.program.entry_function(), fixed);
        let source = source.map_or_else(OnceLock::new, OnceLock::from);
        let inner = Inner { platform, machine, params, executable, source, loaded: OnceLock::new() };
        CompiledProgram { inner: Arc::new(inner), output_dir: None }
    }

    /// The handle of what was read from a directory.
    pub(super) fn of_directory(
        executable: HostExecutable,
        platform: Platform,
        machine: String,
        params: Vec<ParamInfo>,
        directory: PathBuf,
    ) -> CompiledProgram {
        let (source, loaded) = (OnceLock::new(), OnceLock::new());
        let inner = Inner { platform, machine, params, executable, source, loaded };
        CompiledProgram { inner: Arc::new(inner), output_dir: Some(directory.into()) }
    }

    /// The same program, which now also lies in a directory.
    pub(crate) fn at(mut self, directory: PathBuf) -> CompiledProgram {
        self.output_dir = Some(directory.into());
        self
    }

    /// The program's name.
    pub fn name(&self) -> &str {
        &self.executable().program.name
    }

    /// What the code is for.
    pub fn platform(&self) -> Platform {
        self.inner.platform
    }

    /// The machine that the code is for: instruction set and CPU.
    pub fn machine(&self) -> &str {
        &self.inner.machine
    }

    /// Where the artifact lies on disk, if it was written or read.
    pub fn output_dir(&self) -> Option<&Path> {
        self.output_dir.as_deref()
    }

    /// The parameters in order: those of the signature, then the results that the program declares.
    pub fn params(&self) -> &[ParamInfo] {
        &self.inner.params
    }

    /// Names of the parameters in order.
    pub fn param_names(&self) -> Vec<&str> {
        self.params().iter().map(|param| param.name.as_str()).collect()
    }

    /// Positions of the parameters that are written in full before any read. Those read and written are none of them.
    pub fn output_indices(&self) -> Vec<usize> {
        let is_output = |index: &usize| self.params()[*index].direction == Direction::Out;
        (0..self.params().len()).filter(is_output).collect()
    }

    /// Whether the program declares results, which a call allocates and returns.
    pub fn has_return(&self) -> bool {
        self.params().iter().any(|param| param.returned)
    }

    /// Names of the functions that a call may start at.
    pub fn orchestration_names(&self) -> Vec<&str> {
        vec![self.entry().name.as_str()]
    }

    /// The program that was compiled, before the passes; `None` for an artifact that was read,
    /// until [`CompiledProgram::read_program`] reads it, too, and for one that came from the cache.
    pub fn program(&self) -> Option<&Program> {
        self.inner.source.get()
    }

    /// Keeps the program that was read; the first one stays.
    pub(super) fn set_program(&self, program: Program) -> &Program {
        self.inner.source.get_or_init(|| program)
    }

    /// The program after the passes, with the code of its kernels.
    pub fn executable(&self) -> &HostExecutable {
        &self.inner.executable
    }

    /// The function that a call starts at, after the passes.
    pub fn entry(&self) -> &Function {
        self.executable().program.entry_function()
    }

    /// What the run time keeps with the program.
    pub(crate) fn loaded<L: Any + Send + Sync>(&self) -> Option<Arc<L>> {
        self.inner.loaded.get()?.clone().downcast().ok()
    }

    /// Keeps something of the run time's with the program. The first one stays.
    pub(crate) fn set_loaded<L: Any + Send + Sync>(&self, loaded: Arc<L>) {
        self.inner.loaded.get_or_init(|| loaded);
    }
}

impl std::fmt::Debug for CompiledProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let params: Vec<String> = self.params().iter().map(ParamInfo::to_string).collect();
        write!(f, "CompiledProgram({} for {}: {}", self.name(), self.platform(), params.join(", "))?;
        match self.output_dir() {
            Some(directory) => write!(f, ", in {})", directory.display()),
            None => f.write_str(")"),
        }
    }
}
