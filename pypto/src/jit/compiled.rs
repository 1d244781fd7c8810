//! What `.compile(&samples, &config)` returns: an artifact with the types of the function's signature; and the call that
//! every launch ends in.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::cache;
use super::check::{check_memory, loc};
use super::key::Key;
use super::meta::MetaValues;
use super::output::Output;
use super::variant::Variant;
use crate::artifact::CompiledProgram;
use crate::codegen::host::cpu::Target;
use crate::compile::{self, Settings, host};
use crate::config::{CheckedRunOptions, RunConfig};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::Function;
use crate::frontend::instantiate::instantiate;
use crate::frontend::specialization::ArgumentSpec;
use crate::ir::{DType, Program};
use crate::language::DynamicTensor;
use crate::language::argument::{Argument, ArgumentList, CallArguments, byte_size};
use crate::runtime::dispatch::{observed, result_extents, stopped_call};
use crate::runtime::error::{Error, ErrorKind, Result};
use crate::runtime::pool::thread_count;
use crate::runtime::record::Stop;
use crate::runtime::recording::Execution;

/// A kernel compiled for certain extents; `O` is what it returns. It checks its arguments and can be called from any
/// thread.
///
/// A typed layer over [`CompiledProgram`], to which it dereferences: the same code, whose errors also show the places of
/// the signature.
pub struct Compiled<O = ()> {
    artifact: CompiledProgram,
    variant: Arc<Variant>,
    run: CheckedRunOptions,
    output: PhantomData<fn() -> O>,
}

impl<O> Clone for Compiled<O> {
    fn clone(&self) -> Compiled<O> {
        let Compiled { artifact, variant, run, .. } = self;
        Compiled { artifact: artifact.clone(), variant: variant.clone(), run: *run, output: PhantomData }
    }
}

impl<O> Deref for Compiled<O> {
    type Target = CompiledProgram;

    fn deref(&self) -> &CompiledProgram {
        &self.artifact
    }
}

impl<O: Output> Compiled<O> {
    pub(super) fn new(
        function: &'static Function,
        types: &[DType],
        meta: Option<&MetaValues>,
        samples: &[ArgumentSpec],
        config: &RunConfig,
    ) -> Result<Compiled<O>> {
        let settings = Settings::of(&config.compile_options())?;
        let mut run = config.run_options();
        run.threads = run.threads.or(Some(settings.threads));
        let run = run.checked_for(settings.platform)?;
        let key = cache::key(function, types, meta, samples, &settings)?;
        let (variant, artifact) = cache::make_artifact(function, key, &settings)?;
        Ok(Compiled { artifact, variant: Arc::new(variant), run, output: PhantomData })
    }

    /// The artifact, without the types of the signature.
    pub fn artifact(&self) -> &CompiledProgram {
        &self.artifact
    }

    /// Runs it with the options that it was compiled with: `compiled.call((&x, &mut y))`.
    ///
    /// # Errors
    /// Arguments that are not those it was compiled for; a run-time check that failed.
    pub fn call<A: CallArguments>(&self, arguments: A) -> Result<O> {
        arguments.with(|arguments| {
            let Variant { function, key, .. } = &*self.variant;
            let types = &key.specialization.type_args;
            let metas = self.metas();
            if !self.variant.fits(function, types, Some(&metas), arguments) {
                return Err(self.mismatch(arguments));
            }
            observed(&self.artifact, &self.run, |execution| call(&self.variant, arguments, execution))
        })
    }

    fn metas(&self) -> MetaValues {
        let Variant { function, key, .. } = &*self.variant;
        let values = function.metas.iter().zip(&key.specialization.metas);
        values.fold(MetaValues::new(), |metas, (meta, value)| metas.set(meta.name.name, *value))
    }

    #[cold]
    fn mismatch(&self, arguments: &[Argument<'_>]) -> Error {
        let Variant { function, key, .. } = &*self.variant;
        let samples: Vec<ArgumentSpec> = arguments.iter().map(cache::argument_spec).collect();
        let given = Settings::of_calls().map_err(Error::from).and_then(|settings| {
            cache::key(function, &key.specialization.type_args, Some(&self.metas()), &samples, &settings)
        });
        match given {
            Err(error) => error,
            Ok(given) => {
                let given = given.with_target(&key.target).with_checkpoints(key.checkpoints);
                let changes: Vec<String> = given.changes_from(key).iter().map(|c| c.to_string()).collect();
                let title = format!("`{}` was compiled for other arguments", function.name.name);
                let place = loc(function, function.name.span);
                Error::call(Diagnostic::error(codes::ARGUMENT_EXTENT, place, title, changes.join(", ")).into())
            }
        }
    }

    /// What it was compiled for.
    pub fn key(&self) -> &Key {
        &self.variant.key
    }

    /// The program after the passes.
    pub fn program(&self) -> &Program {
        self.variant.host.program()
    }

    /// The LIR of its kernels.
    ///
    /// # Errors
    /// A kernel that only the interpreter runs.
    pub fn lir_text(&self) -> Result<String> {
        host::lir_text(self.program(), Target::host()).map_err(|d| ErrorKind::Compile(d.into()).into())
    }

    /// The LLVM text of its kernels.
    ///
    /// # Errors
    /// A kernel that only the interpreter runs; no libLLVM.
    pub fn llvm_text(&self) -> Result<String> {
        host::llvm_text_of(self.program(), Target::host()).map_err(Error::from)
    }

    /// Names of the kernels that the interpreter runs.
    pub fn interpreted_kernels(&self) -> Vec<&str> {
        self.variant.host.interpreted_kernels()
    }
}

/// The program of a specialization after the passes; nothing is written.
pub(super) fn lower(
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    samples: &[ArgumentSpec],
) -> Result<Program> {
    let settings = Settings::of_calls()?;
    let key = cache::key(function, types, meta, samples, &settings)?;
    Ok(compile::lower(function, &key.specialization, &settings)?)
}

/// The program of a specialization as it is written, before any pass.
pub(super) fn unlowered(function: &'static Function, samples: &[ArgumentSpec]) -> Result<Program> {
    let key = cache::key(function, &[], None, samples, &Settings::of_calls()?)?;
    Ok(instantiate(function, &key.specialization)?)
}

/// Checks memory, allocates what is returned, and runs.
pub(super) fn call<O: Output>(
    variant: &Variant,
    arguments: &mut [Argument<'_>],
    execution: Execution<'_>,
) -> Result<O> {
    check_memory(variant.function, arguments, &variant.equal).map_err(Error::call)?;
    if O::COUNT == 0 {
        // SAFETY: `fits` compared element types, ranks and extents with those compiled for; `check_memory` found every
        // tensor contiguous, accessible and apart from those that are written.
        unsafe { variant.host.call(arguments, execution) }.map_err(|stop| stopped(variant, arguments, stop))?;
        return nothing();
    }
    call_returning(variant, arguments, execution)
}

/// As [`call`], unobserved, for arguments of which `fits_at_once` has told that they fit and lie as a call wants them.
#[inline]
pub(super) fn call_checked<O: Output>(variant: &Variant, arguments: &mut [Argument<'_>]) -> Result<O> {
    if O::COUNT == 0 {
        // SAFETY: as in `call`; `fits_at_once` does what `fits` and `check_memory` do.
        let direct = unsafe { variant.host.call_directly(arguments) };
        let outcome = match direct {
            Some(outcome) => outcome,
            // SAFETY: the same.
            None => unsafe { variant.host.call(arguments, Execution::on(thread_count())) },
        };
        outcome.map_err(|stop| stopped(variant, arguments, stop))?;
        return nothing();
    }
    call_returning(variant, arguments, Execution::on(thread_count()))
}

/// What a kernel returns that returns nothing.
fn nothing<O: Output>() -> Result<O> {
    O::allocate(&[]).ok_or_else(|| Error::internal("nothing cannot be allocated"))
}

/// As [`call`], for the arguments of any kernel: what it returns comes as tensors whose types are values.
pub(super) fn call_dynamic(
    variant: &Variant,
    arguments: &[Argument<'_>],
    execution: Execution<'_>,
) -> Result<Vec<DynamicTensor>> {
    if !variant.fits_arguments(arguments) {
        return Err(Error::internal(format!("`{}` was not compiled for these arguments", variant.function.name.name)));
    }
    check_memory(variant.function, arguments, &variant.equal).map_err(Error::call)?;
    let entry = variant.host.program().entry_function();
    let mut output = Vec::new();
    for (param, (dims, dtype)) in entry.params.iter().filter(|p| p.returned).zip(result_extents(entry, arguments)?) {
        let rank = entry.ty(param.value).as_tensor().map_or(0, |ty| ty.dims.len());
        output.push(DynamicTensor::zeros(dtype, &dims[..rank]).map_err(|error| Error::host(error.to_string()))?);
    }
    let mut all: ArgumentList<'_> = arguments.iter().copied().collect();
    all.extend(output.iter_mut().map(DynamicTensor::as_argument_mut));
    // SAFETY: as in `call`; the returned tensors are new, and have the extents that the program states.
    unsafe { variant.host.call(&all, execution) }.map_err(|stop| stopped(variant, arguments, stop))?;
    drop(all);
    Ok(output)
}

#[cold]
fn stopped(variant: &Variant, arguments: &[Argument<'_>], stop: Stop) -> Error {
    let function = variant.function;
    stopped_call(function.name.name, function.params.iter().map(|param| param.name.name), arguments, stop)
}

fn call_returning<O: Output>(variant: &Variant, arguments: &[Argument<'_>], execution: Execution<'_>) -> Result<O> {
    let program = variant.host.program();
    let extents = result_extents(program.entry_function(), arguments)?;
    for (dims, dtype) in &extents {
        if byte_size(dims, *dtype).is_none() {
            return Err(Error::host(format!("a returned tensor of extents {dims:?} is too large")));
        }
    }
    let extents: Vec<_> = extents.into_iter().map(|(dims, _)| dims).collect();
    let too_large = || Error::host(format!("a returned tensor of extents {extents:?} cannot be allocated"));
    let mut output = O::allocate(&extents).ok_or_else(too_large)?;
    let mut all: Vec<Argument<'_>> = Vec::with_capacity(arguments.len() + O::COUNT);
    all.extend_from_slice(arguments);
    output.arguments(&mut |argument| all.push(argument));
    // SAFETY: as in `call`; the returned tensors are new, and have the extents that the program states.
    unsafe { variant.host.call(&all, execution) }.map_err(|stop| stopped(variant, arguments, stop))?;
    drop(all);
    Ok(output)
}
