//! The artifact that `.compile(&samples, &config)` returns, and the call that every launch ends in.

use std::marker::PhantomData;
use std::sync::Arc;

use super::cache;
use super::check::{byte_size, check_memory, loc};
use super::error::{Error, ErrorKind, Result};
use super::key::Key;
use super::meta::MetaValues;
use super::output::Output;
use super::variant::Variant;
use crate::codegen::host::cpu::Target;
use crate::compile::{self, host};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::Function;
use crate::frontend::specialization::ArgumentSpec;
use crate::ir::{DType, Extent, ParamRole, Program, Type, ValueId};
use crate::language::argument::{Argument, KernelArgument, MAX_RANK};
use crate::runtime::config::RunConfig;
use crate::runtime::recording::Execution;

/// A kernel compiled for certain extents; `O` is what it returns. It checks its arguments and can be called from any
/// thread.
pub struct Compiled<O = ()> {
    variant: Arc<Variant>,
    threads: usize,
    output: PhantomData<fn() -> O>,
}

impl<O> Clone for Compiled<O> {
    fn clone(&self) -> Compiled<O> {
        Compiled { variant: self.variant.clone(), threads: self.threads, output: PhantomData }
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
        let options = config.compile_options();
        let key = cache::key(function, types, meta, samples, &options)?;
        let variant = Arc::new(cache::make(function, key, &options)?);
        Ok(Compiled { variant, threads: config.run_options().threads, output: PhantomData })
    }

    /// Runs it: `compiled.call((&x, &mut y))`.
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
            call(&self.variant, arguments, self.threads)
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
        let options = RunConfig::default().compile_options();
        match cache::key(function, &key.specialization.type_args, Some(&self.metas()), &samples, &options) {
            Err(error) => error,
            Ok(given) => {
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

/// The arguments of [`Compiled::call`]: a tuple of tensors and scalars.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the argument list of a kernel",
    note = "give a tuple of up to 24 entries, each `&Tensor`, `&mut Tensor` or a scalar: `compiled.call((&x, &mut y))`"
)]
pub trait CallArguments {
    /// Calls `f` with the arguments as data.
    fn with<R>(self, f: impl FnOnce(&mut [Argument<'_>]) -> R) -> R;
}

macro_rules! call_arguments {
    ($($name:ident),*) => {
        impl<$($name: KernelArgument),*> CallArguments for ($($name,)*) {
            #[allow(non_snake_case)]
            fn with<R>(self, f: impl FnOnce(&mut [Argument<'_>]) -> R) -> R {
                let ($(mut $name,)*) = self;
                f(&mut [$($name.argument()),*])
            }
        }
    };
}

call_arguments!();

super::arity::for_each_arity!(call_arguments);

/// The program of a specialization after the passes; nothing is written.
pub(super) fn lower(
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    samples: &[ArgumentSpec],
) -> Result<Program> {
    let options = RunConfig::default().compile_options();
    let key = cache::key(function, types, meta, samples, &options)?;
    Ok(compile::lower(function, &key.specialization, &options)?)
}

/// Checks memory, allocates what is returned, and runs.
pub(super) fn call<O: Output>(variant: &Variant, arguments: &mut [Argument<'_>], threads: usize) -> Result<O> {
    check_memory(variant.function, arguments, &variant.equal).map_err(Error::call)?;
    if O::COUNT == 0 {
        let nothing = O::allocate(&[]).ok_or_else(|| Error::internal("nothing cannot be allocated"))?;
        // SAFETY: `fits` compared element types, ranks and extents with those compiled for; `check_memory` found every
        // tensor contiguous, accessible and apart from those that are written.
        unsafe { variant.host.call(arguments, Execution::on(threads)) }?;
        return Ok(nothing);
    }
    call_returning(variant, arguments, threads)
}

fn call_returning<O: Output>(variant: &Variant, arguments: &[Argument<'_>], threads: usize) -> Result<O> {
    let extents = returned_extents(variant.host.program(), arguments)?;
    let too_large = || Error::host(format!("a returned tensor of extents {extents:?} cannot be allocated"));
    let mut output = O::allocate(&extents).ok_or_else(too_large)?;
    let mut all: Vec<Argument<'_>> = Vec::with_capacity(arguments.len() + O::COUNT);
    all.extend_from_slice(arguments);
    output.arguments(&mut |argument| all.push(argument));
    // SAFETY: as in `call`; the returned tensors are new, and have the extents that the program states.
    unsafe { variant.host.call(&all, Execution::on(threads)) }?;
    drop(all);
    Ok(output)
}

/// The extents of the returned tensors for a call.
fn returned_extents(program: &Program, arguments: &[Argument<'_>]) -> Result<Vec<[i64; MAX_RANK]>> {
    let entry = program.entry_function();
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
        if byte_size(&dims, ty.dtype).is_none() {
            return Err(Error::host(format!("a returned tensor of extents {dims:?} is too large")));
        }
        all.push(dims);
    }
    Ok(all)
}
