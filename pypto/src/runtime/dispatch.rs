//! Calls of artifacts whose types are known at run time only: the methods of [`CompiledProgram`] that run it.
//!
//! The artifact is data and knows nothing of this layer; what was loaded for it is kept in a slot that it carries.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::check_arguments::{Style, check, style};
use super::dfx::dump_args::ArgumentsDump;
use super::error::{Error, ErrorKind, Result};
use super::observe::{DIRECTORY, Observers};
use super::pool::thread_count;
use super::program::HostProgram;
use super::record::Stop;
use super::recording::Execution;
use super::signature::Signature;
use crate::artifact::{ArtifactError, CompiledProgram, KernelCode};
use crate::compile::engine;
use crate::config::{CheckedRunOptions, RunOptions};
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::report::file::{RecordingError, write_recording};
use crate::ir::report::observer::{is_recording, recorded};
use crate::ir::{DType, Extent, Function, ParamRole, Type, ValueId};
use crate::language::DynamicTensor;
use crate::language::argument::{Argument, CallArguments, MAX_RANK};
use crate::ops::reference::{Element, with_element};

impl CompiledProgram {
    /// Runs it with the default options: [`CompiledProgram::call_with`].
    ///
    /// # Errors
    /// As [`CompiledProgram::call_with`].
    pub fn call<A: CallArguments>(&self, arguments: A) -> Result<Vec<DynamicTensor>> {
        self.call_with(arguments, RunOptions::default())
    }

    /// Runs it, in one of three styles that the number of arguments tells apart:
    ///
    /// - *in place*: an argument for each parameter; nothing is returned;
    /// - *as declared*: without the results that the program declares, as annotated functions are called;
    /// - *returning*: without any output.
    ///
    /// Outputs that are not given are allocated and returned, in order. A `#[out]` parameter that the compiler cannot show to
    /// be written in full is none of them: what is not written keeps its contents, so the caller gives it.
    ///
    /// # Errors
    /// An option that the artifact's platform cannot honour. Arguments that do not fit, each by the name of its parameter:
    /// another number, a scalar for a tensor, another element type, rank or extent, gaps, a shared reference to what is
    /// written, memory shared with what is written; nothing ran then. A run-time check that failed; what was written stays
    /// written.
    pub fn call_with<A: CallArguments>(
        &self,
        arguments: A,
        options: impl Into<RunOptions>,
    ) -> Result<Vec<DynamicTensor>> {
        let options = options.into().checked_for(self.platform())?;
        arguments.with(|arguments| dispatch(self, &*self.load()?, arguments, &options, None))
    }

    /// As [`CompiledProgram::call_with`], with tasks one by one in program order, whose values `dump` keeps.
    ///
    /// # Errors
    /// As [`CompiledProgram::call_with`]; options that want something recorded in files.
    pub(crate) fn call_dumped<A: CallArguments>(
        &self,
        arguments: A,
        options: &RunOptions,
        dump: &ArgumentsDump,
    ) -> Result<Vec<DynamicTensor>> {
        let (options, loaded) = (options.checked_for(self.platform())?, self.load()?);
        arguments.with(|arguments| {
            check_owners(self, arguments, None)?;
            observed(self, &options, |execution| {
                run(self, &loaded, arguments, Execution { arguments: Some(dump), ..execution })
            })
        })
    }

    /// Hands the arguments of a call in place to `run`, once they are checked.
    pub(super) fn with_checked<A: CallArguments, R>(
        &self,
        arguments: A,
        run: impl FnOnce(&[Argument<'_>]) -> Result<R>,
    ) -> Result<R> {
        arguments.with(|arguments| {
            let style = style(self, arguments.len()).map_err(Error::call)?;
            check(self, &self.load()?.signature, arguments, style).map_err(Error::call)?;
            let mut made = allocate(self, arguments, style)?;
            run(&join(self, arguments, &mut made, style))
        })
    }

    /// Maps the code, which the first call does otherwise. Idempotent.
    ///
    /// # Errors
    /// Code that this machine cannot run; an object that is damaged.
    pub fn load(&self) -> Result<Arc<LoadedProgram>> {
        if let Some(loaded) = self.loaded::<LoadedProgram>() {
            return Ok(loaded);
        }
        let here = engine(self.platform()).machine();
        let native = self.executable().kernels.iter().any(|kernel| kernel.code != KernelCode::Interpreted);
        if native && here != self.machine() {
            let directory = self.output_dir().map(ToOwned::to_owned).unwrap_or_default();
            return Err(ArtifactError::Machine { directory, found: self.machine().to_owned(), here }.into());
        }
        let host = HostProgram::load(self.executable().clone())
            .map_err(|failed| Error::host(format!("the code of `{}` cannot be loaded: {failed}", self.name())))?;
        // Two threads may both load it; one of the results is kept.
        self.set_loaded(Arc::new(LoadedProgram { host: Arc::new(host), signature: Signature::of(self.params()) }));
        self.loaded().ok_or_else(|| Error::internal("a loaded program is not kept"))
    }

    /// Names of the kernels that the interpreter runs.
    pub fn interpreted_kernels(&self) -> Vec<&str> {
        let kernels = self.executable().kernels.iter().filter(|_| self.executable().accelerator.is_none());
        kernels.filter(|k| k.code == KernelCode::Interpreted).map(|k| k.name.as_str()).collect()
    }
}

/// The file of a dispatch's checkpoints, among what it records.
const CHECKPOINTS: &str = "checkpoints.safetensors";

/// A program in the process.
pub struct LoadedProgram {
    pub(crate) host: Arc<HostProgram>,
    pub(crate) signature: Signature,
}

/// One dispatch. `worker` is the one that does it; tensors of workers are its own, or refused.
pub(super) fn dispatch(
    program: &CompiledProgram,
    loaded: &LoadedProgram,
    arguments: &[Argument<'_>],
    options: &CheckedRunOptions,
    worker: Option<NonZeroU64>,
) -> Result<Vec<DynamicTensor>> {
    check_owners(program, arguments, worker)?;
    observed(program, options, |execution| run(program, loaded, arguments, execution))
}

/// Runs something as the options say, and writes what they want recorded.
pub(crate) fn observed<R>(
    program: &CompiledProgram,
    options: &CheckedRunOptions,
    run: impl FnOnce(Execution<'_>) -> Result<R>,
) -> Result<R> {
    if options.platform() != program.platform() {
        return Err(Error::internal("the options of a dispatch were checked for another platform"));
    }
    let options = options.options();
    let threads = options.threads.map_or_else(thread_count, |threads| threads.max(1));
    let deadline = options.time_limit_ms.map(|limit| Instant::now() + Duration::from_millis(limit));
    let execution = Execution { deadline, ..Execution::on(threads) };
    keeping_checkpoints(program, || match Observers::of(program, options.dfx)? {
        None => run(execution),
        Some(observers) => {
            let result = run(observers.watch(execution))?;
            observers.write(program.name())?;
            Ok(result)
        }
    })
}

/// Writes the values of checkpoints beside what a dispatch records, where the artifact has a directory and nobody else keeps
/// them.
fn keeping_checkpoints<R>(program: &CompiledProgram, run: impl FnOnce() -> Result<R>) -> Result<R> {
    let shows = || program.loaded::<LoadedProgram>().is_some_and(|loaded| loaded.host.has_checkpoints());
    let Some(directory) = program.output_dir().filter(|_| !is_recording() && shows()) else { return run() };
    let (result, checkpoints) = recorded(run);
    let directory = directory.join(DIRECTORY);
    let written = std::fs::create_dir_all(&directory)
        .map_err(|error| RecordingError::Io { path: directory.clone(), error })
        .and_then(|()| write_recording(&directory.join(CHECKPOINTS), &checkpoints));
    match (result, written) {
        (Ok(_), Err(error)) => Err(Error::host(format!("the call ended, but its checkpoints are lost: {error}"))),
        (result, _) => result,
    }
}

/// Checks the arguments, allocates what is not given, and runs.
fn run(
    program: &CompiledProgram,
    loaded: &LoadedProgram,
    arguments: &[Argument<'_>],
    execution: Execution<'_>,
) -> Result<Vec<DynamicTensor>> {
    if loaded.signature.fits(arguments) {
        // SAFETY: `fits` compared every argument with the parameters that the program was compiled for: element types,
        // ranks and extents, contiguous, writable where written, apart from what is written.
        let outcome = unsafe { loaded.host.call(arguments, execution) };
        return outcome.map(|()| Vec::new()).map_err(|stop| stopped(program, arguments, stop));
    }
    let style = style(program, arguments.len()).map_err(Error::call)?;
    check(program, &loaded.signature, arguments, style).map_err(Error::call)?;
    let mut made = allocate(program, arguments, style)?;
    let all = join(program, arguments, &mut made, style);
    // SAFETY: `check` did what `fits` does. The rest is new.
    unsafe { loaded.host.call(&all, execution) }.map_err(|stop| stopped(program, &all, stop))?;
    drop(all);
    Ok(made)
}

fn stopped(program: &CompiledProgram, arguments: &[Argument<'_>], stop: Stop) -> Error {
    stopped_call(program.name(), program.params().iter().map(|param| param.name.as_str()), arguments, stop)
}

/// The error of a call that stopped, with what it was called with.
#[cold]
pub(crate) fn stopped_call<'a>(
    name: &str,
    params: impl Iterator<Item = &'a str>,
    arguments: &[Argument<'_>],
    stop: Stop,
) -> Error {
    let error = Error::from(stop);
    let ErrorKind::Runtime(list) = error.kind() else { return error };
    let describe = |(param, argument): (&str, &Argument<'_>)| match argument {
        Argument::Tensor(tensor) => format!("{param} = {}{:?}", tensor.dtype(), tensor.dims()),
        Argument::Scalar(scalar) => {
            with_element!(scalar.dtype, T => format!("{param} = {}", T::from_bits64(scalar.bits)))
        }
    };
    let described: Vec<String> = params.zip(arguments).map(describe).collect();
    let note = format!("`{name}` was called with {}", described.join(", "));
    ErrorKind::Runtime(list.clone().with_note(&note)).into()
}

/// Tensors of workers are dispatched by their own worker.
fn check_owners(program: &CompiledProgram, arguments: &[Argument<'_>], worker: Option<NonZeroU64>) -> Result<()> {
    let foreign = |argument: &Argument<'_>| match argument {
        Argument::Tensor(tensor) => tensor.worker.filter(|owner| Some(*owner) != worker),
        Argument::Scalar(_) => None,
    };
    let found = arguments.iter().enumerate().find_map(|(index, argument)| Some((index, foreign(argument)?)));
    let Some((index, owner)) = found else { return Ok(()) };
    let name = program.params().get(index).map_or("?", |param| &param.name);
    let by = worker.map_or("a call without a worker".to_owned(), |worker| format!("worker {worker}"));
    let title =
        format!("argument `{name}` of `{}` is a tensor of worker {owner}, and {by} dispatches it", program.name());
    let diagnostic =
        Diagnostic::error(codes::ARGUMENT_LAYOUT, program.entry().loc, title, "a worker's tensors are its own");
    Err(Error::call(diagnostic.help(format!("run it on worker {owner}, or pass a copy: `download`")).into()))
}

/// The outputs that the caller does not give.
fn allocate(program: &CompiledProgram, arguments: &[Argument<'_>], style: Style) -> Result<Vec<DynamicTensor>> {
    let missing = program.params().iter().filter(|param| !style.gives(param));
    let mut made = Vec::new();
    let extents = super::check_arguments::output_extents(program, arguments, style).map_err(Error::call)?;
    for (param, dims) in missing.zip(extents) {
        let tensor = DynamicTensor::zeros(param.dtype(), &dims)
            .map_err(|error| Error::host(format!("output `{}` cannot be allocated: {error}", param.name)))?;
        made.push(tensor);
    }
    Ok(made)
}

/// Given and allocated arguments in the order of the parameters.
fn join<'a>(
    program: &CompiledProgram,
    arguments: &[Argument<'a>],
    made: &'a mut [DynamicTensor],
    style: Style,
) -> Vec<Argument<'a>> {
    let (mut given, mut made) = (arguments.iter(), made.iter_mut());
    let next = |gives: bool| match gives {
        true => given.next().copied(),
        false => made.next().map(DynamicTensor::as_argument_mut),
    };
    program.params().iter().map(|param| style.gives(param)).filter_map(next).collect()
}

/// Extents and element types of the results that a function declares, for a call of the typed layer. `arguments` are
/// those of the signature.
pub(crate) fn result_extents(entry: &Function, arguments: &[Argument<'_>]) -> Result<Vec<([i64; MAX_RANK], DType)>> {
    if !entry.params.iter().any(|param| param.returned) {
        return Ok(Vec::new());
    }
    let given: Vec<usize> = (0..entry.params.len())
        .filter(|i| {
            matches!(entry.params[*i].role, ParamRole::Tensor | ParamRole::Scalar) && !entry.params[*i].returned
        })
        .collect();
    let value = |wanted: ValueId| -> Option<i64> {
        let param = entry.params.iter().find(|p| p.value == wanted)?;
        match param.role {
            ParamRole::Extent { param, axis } => match arguments.get(given.iter().position(|g| *g == param)?)? {
                Argument::Tensor(t) => Some(t.dims[axis]),
                Argument::Scalar(_) => None,
            },
            ParamRole::Scalar => {
                let index = given.iter().position(|g| entry.params[*g].value == wanted)?;
                match arguments.get(index)? {
                    Argument::Scalar(s) if s.dtype == DType::I64 => Some(s.bits as i64),
                    _ => None,
                }
            }
            _ => None,
        }
    };
    let mut all = Vec::new();
    for param in entry.params.iter().filter(|p| p.returned) {
        let Type::Tensor(ty) = entry.ty(param.value) else { continue };
        let mut dims = [1; MAX_RANK];
        for (dim, extent) in dims.iter_mut().zip(&ty.dims) {
            *dim = match extent {
                Extent::Const(n) => *n,
                Extent::Value(v) => value(*v).ok_or_else(|| {
                    Error::internal(format!("an extent of the returned `{}` is not known at the call", param.name))
                })?,
            };
        }
        all.push((dims, ty.dtype));
    }
    Ok(all)
}
