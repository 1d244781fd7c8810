//! Calls of artifacts whose types are known at run time only: the methods of [`CompiledProgram`] that run it.
//!
//! The artifact is data and knows nothing of this layer; what was loaded for it is kept in a slot that it carries.

use std::sync::Arc;

use super::check_arguments::{Style, check, style};
use super::error::{Error, Result};
use super::pool::thread_count;
use super::program::HostProgram;
use super::recording::Execution;
use crate::artifact::{ArtifactError, CompiledProgram, KernelCode};
use crate::compile::engine;
use crate::config::RunOptions;
use crate::ir::{DType, Extent, Function, ParamRole, Type, ValueId};
use crate::language::DynamicTensor;
use crate::language::argument::{Argument, CallArguments, MAX_RANK};

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
    /// Outputs that are not given are allocated and returned, in order.
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
        let options = options.into();
        options.check_for(self.platform())?;
        let host = self.load()?;
        let threads = options.threads.map_or_else(thread_count, |threads| threads.max(1));
        arguments.with(|arguments| {
            let style = style(self, arguments.len()).map_err(Error::call)?;
            check(self, arguments, style).map_err(Error::call)?;
            let mut made = allocate(self, arguments, style)?;
            let all = join(self, arguments, &mut made, style);
            // SAFETY: `check` compared every argument with the parameters that the program was compiled for: element types,
            // ranks and extents, contiguous, writable where written, apart from what is written. The rest is new.
            unsafe { host.call(&all, Execution::on(threads)) }?;
            drop(all);
            Ok(made)
        })
    }

    /// Maps the code, which the first call does otherwise. Idempotent.
    ///
    /// # Errors
    /// Code that this machine cannot run; an object that is damaged.
    pub fn load(&self) -> Result<Arc<HostProgram>> {
        if let Some(loaded) = self.loaded::<HostProgram>() {
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
        self.set_loaded(Arc::new(host));
        self.loaded().ok_or_else(|| Error::internal("a loaded program is not kept"))
    }

    /// Names of the kernels that the interpreter runs.
    pub fn interpreted_kernels(&self) -> Vec<&str> {
        let kernels = self.executable().kernels.iter();
        kernels.filter(|k| k.code == KernelCode::Interpreted).map(|k| k.name.as_str()).collect()
    }
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
