//! Runs a program of the IR, before or after any pass, on the reference semantics of the operations.
//!
//! It is what compiled code is tested against, the engine where there is no code generator, and a debug mode: when
//! *checked*, it also finds reads of memory that was never written and parallel iterations that write the same memory; on
//! request, the operation that makes the first NaN.
//!
//! Every access is checked against the extents of its tensor, so a program cannot reach outside of its arguments, and
//! what breaks a rule of the IR is an error, not a panic. Calls run at once, in program order; what operations show
//! ([`crate::ir::report`]) is published at the end.

mod compute;
mod control;
mod effects;
mod error;
mod liveness;
mod machine;
mod nan;
mod races;
mod value;

#[cfg(test)]
mod tests;

pub use error::{Error, ErrorKind};
pub use value::Tensor;

use crate::ir::report::Report;
use crate::ir::report::observer::publish;
use crate::ir::{Function, ParamRole, Program, Type};
use crate::language::argument::Argument;
use crate::ops::reference::Scalar;
use error::malformed;
use machine::Machine;

/// How to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Find reads of unwritten memory and overlapping writes of parallel iterations.
    pub checked: bool,
    /// Stop at the first operation that makes a NaN out of operands without one. What is loaded counts as an operand.
    pub nan: bool,
}

/// What is handed to a kernel that something else than the interpreter runs.
#[derive(Clone, Debug)]
pub enum Passed {
    Scalar(Scalar),
    Tensor(Tensor),
}

/// Runs in-core functions in the interpreter's place.
pub trait Kernels {
    /// Runs the function of that number.
    ///
    /// # Errors
    /// What went wrong; the interpreter adds the place of the call.
    fn call(&mut self, function: usize, arguments: Vec<Passed>) -> Result<(), ErrorKind>;
}

/// As [`run`], with other means to run in-core functions: the interpreter does what the entry does itself.
///
/// # Errors
/// As [`run`], and what `kernels` reports.
///
/// # Safety
/// As [`run`].
pub unsafe fn run_with_kernels(
    program: &Program,
    arguments: &[Argument<'_>],
    options: Options,
    kernels: &mut dyn Kernels,
) -> Result<(), Error> {
    let function = entry(program, program.entry)?;
    let words = words_of(function, arguments).map_err(|kind| kind.at(function.loc))?;
    let mut machine = Machine::new(program, options);
    machine.kernels = Some(kernels);
    // SAFETY: the caller's promise; `words_of` has matched the arguments with the parameters' types.
    let values = unsafe { machine.parameters(function, &words) }.map_err(|kind| kind.at(function.loc))?;
    let outcome = machine.call(program.entry, values).map(drop);
    publish(std::mem::take(&mut machine.reports));
    outcome
}

/// Runs a program's entry function. Arguments stand for the tensors and scalars of its parameters in order, including
/// tensors that it returns; extents and strides follow from them.
///
/// # Errors
/// Arguments that do not fit, and what the program does wrong at run time.
///
/// # Safety
/// Tensor arguments describe memory that lives and that nobody else writes meanwhile (nor reads, if the program writes
/// it), as those made by [`KernelArgument`](crate::language::KernelArgument) do.
pub unsafe fn run(program: &Program, arguments: &[Argument<'_>], options: Options) -> Result<(), Error> {
    let function = entry(program, program.entry)?;
    let words = words_of(function, arguments).map_err(|kind| kind.at(function.loc))?;
    // SAFETY: the caller's promise; `words_of` has matched the arguments with the parameters' types.
    unsafe { run_function(program, program.entry, &words, options) }
}

/// Runs one function on a word for each parameter: an address, the bits of a scalar, or an extent or stride.
///
/// # Errors
/// What the function does wrong at run time.
///
/// # Safety
/// Addresses are those of memory of the extents that the parameters' types and the words state, which lives, and which
/// nobody else writes meanwhile (nor reads, if the function writes it).
pub unsafe fn run_function(program: &Program, index: usize, words: &[u64], options: Options) -> Result<(), Error> {
    let mut reports = Vec::new();
    // SAFETY: the caller's promise.
    let outcome = unsafe { run_reporting(program, index, words, options, &mut reports) };
    publish(reports);
    outcome
}

/// As [`run_function`], with what the function shows added to `reports`, also if it fails.
///
/// # Errors
/// As [`run_function`].
///
/// # Safety
/// As [`run_function`].
pub unsafe fn run_reporting(
    program: &Program,
    index: usize,
    words: &[u64],
    options: Options,
    reports: &mut Vec<Report>,
) -> Result<(), Error> {
    let function = entry(program, index)?;
    let mut machine = Machine::new(program, options);
    // SAFETY: the caller's promise.
    let values = unsafe { machine.parameters(function, words) }.map_err(|kind| kind.at(function.loc))?;
    let outcome = machine.call(index, values).map(drop);
    reports.append(&mut machine.reports);
    outcome
}

fn entry(program: &Program, index: usize) -> Result<&Function, Error> {
    program.functions.get(index).ok_or_else(|| {
        let file = crate::ir::FileId::intern("<program>");
        malformed(format!("there is no function {index}")).at(crate::ir::Loc::new(file, 1, 1, 1, 1))
    })
}

/// The words of a call, one a parameter, from the arguments for its tensors and scalars.
fn words_of(function: &Function, arguments: &[Argument<'_>]) -> Result<Vec<u64>, ErrorKind> {
    let given = |role: ParamRole| matches!(role, ParamRole::Tensor | ParamRole::Scalar);
    let expected = function.params.iter().filter(|p| given(p.role)).count();
    if arguments.len() != expected {
        return Err(ErrorKind::ArgumentCount { expected, found: arguments.len() });
    }
    let mut next = arguments.iter();
    let by_param: Vec<Option<&Argument<'_>>> =
        function.params.iter().map(|p| if given(p.role) { next.next() } else { None }).collect();
    let layout = |param: usize, axis: usize, strides: bool| match by_param.get(param).copied().flatten() {
        Some(Argument::Tensor(t)) if axis < t.rank => Ok(if strides { t.strides[axis] } else { t.dims[axis] } as u64),
        _ => Err(malformed(format!("no dimension {axis} of parameter {param} to take an extent from"))),
    };
    let mut words = Vec::with_capacity(function.params.len());
    for (index, param) in function.params.iter().enumerate() {
        words.push(match (param.role, by_param[index]) {
            (ParamRole::Extent { param, axis }, _) => layout(param, axis, false)?,
            (ParamRole::Stride { param, axis }, _) => layout(param, axis, true)?,
            (_, Some(argument)) => word_of(function.ty(param.value), argument)
                .map_err(|reason| ErrorKind::Argument { index, name: param.name.clone(), reason })?,
            (_, None) => return Err(malformed("a parameter without an argument")),
        });
    }
    check_layouts(function, &by_param, &words)?;
    Ok(words)
}

fn word_of(ty: &Type, argument: &Argument<'_>) -> Result<u64, String> {
    match (ty, argument) {
        (Type::Scalar(dtype), Argument::Scalar(s)) if s.dtype == *dtype => Ok(s.bits),
        (Type::Tensor(t), Argument::Tensor(a)) => {
            if (t.dtype, t.rank()) != (a.dtype, a.rank) {
                return Err(format!(
                    "a tensor of {} and rank {} where {} and rank {} stand",
                    a.dtype,
                    a.rank,
                    t.dtype,
                    t.rank()
                ));
            }
            if a.data.is_null() && !a.dims().contains(&0) {
                return Err("it has extents but no memory".to_owned());
            }
            Ok(a.data as u64)
        }
        _ => Err("it is of another kind or element type".to_owned()),
    }
}

/// The arguments' extents and strides are those that the parameters' types state.
fn check_layouts(function: &Function, arguments: &[Option<&Argument<'_>>], words: &[u64]) -> Result<(), ErrorKind> {
    let value = |extent: crate::ir::Extent| match extent {
        crate::ir::Extent::Const(n) => Some(n),
        crate::ir::Extent::Value(v) => function.params.iter().position(|p| p.value == v).map(|i| words[i] as i64),
    };
    for (index, (param, argument)) in function.params.iter().zip(arguments).enumerate() {
        let (Type::Tensor(t), Some(Argument::Tensor(a))) = (function.ty(param.value), argument) else { continue };
        let name = param.name.clone();
        for axis in 0..a.rank {
            let (dim, stride) = (value(t.dims[axis]), value(t.strides[axis]));
            if dim != Some(a.dims[axis]) {
                let reason = format!("dimension {axis} is {}, expected {dim:?}", a.dims[axis]);
                return Err(ErrorKind::Argument { index, name, reason });
            }
            if stride != Some(a.strides[axis]) && a.dims[axis] > 1 && !a.dims().contains(&0) {
                let reason = format!("stride {axis} is {}, expected {stride:?}", a.strides[axis]);
                return Err(ErrorKind::Argument { index, name, reason });
            }
        }
    }
    Ok(())
}
