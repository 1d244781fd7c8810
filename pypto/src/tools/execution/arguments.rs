//! Tensors by name become the arguments of a call, and what the call writes becomes tensors by name.

use std::collections::BTreeMap;
use std::time::Instant;

use super::error::ExecutionError;
use super::inputs::{InputSource, NamedTensors};
use crate::artifact::{CompiledProgram, ParamInfo, ParamKind};
use crate::config::RunOptions;
use crate::ir::Direction;
use crate::language::DynamicTensor;
use crate::language::argument::{Argument, ScalarArgument};
use crate::ops::reference::{Element, with_element};
use crate::runtime::dfx::dump_args::{ArgumentsDump, Content, Whose};
use crate::runtime::error::Result as RunResult;
use crate::runtime::validate::DynamicArgument;

/// Bytes of values that are kept for a comparison of tasks.
const DUMP_LIMIT: usize = 1 << 30;

/// What a run wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactResults {
    /// By parameter: outputs, and what is read and written.
    pub outputs: NamedTensors,
    pub milliseconds: f64,
}

/// The parameters as text, for errors.
pub(super) fn signature(program: &CompiledProgram) -> String {
    program.params().iter().map(ParamInfo::to_string).collect::<Vec<_>>().join(", ")
}

/// An argument for every parameter that is not only written, in order. Scalars are tensors with one element; those that the
/// program was specialized on may be missing. Tensors named like outputs are left alone: a file may hold them, too.
///
/// # Errors
/// A parameter without a tensor; a tensor without a parameter.
pub fn named_arguments(
    program: &CompiledProgram,
    tensors: &NamedTensors,
    source: &InputSource,
) -> Result<Vec<DynamicArgument>, ExecutionError> {
    let refused = |reason: String| ExecutionError::Inputs {
        source_name: source.to_string(),
        program: program.name().to_owned(),
        reason,
        parameters: signature(program),
    };
    let names = program.param_names();
    if let Some(name) = tensors.keys().find(|name| !names.contains(&name.as_str())) {
        return Err(refused(format!("there is no parameter `{name}`")));
    }
    let wanted = program.params().iter().filter(|param| param.direction != Direction::Out);
    wanted
        .map(|param| match (tensors.get(&param.name), &param.kind) {
            (Some(tensor), ParamKind::Tensor { .. }) => Ok(DynamicArgument::Tensor(tensor.clone())),
            (Some(tensor), ParamKind::Scalar { .. }) => scalar(tensor).map(DynamicArgument::Scalar).ok_or_else(|| {
                refused(format!("`{}` is a scalar, and a tensor of extents {:?} is given", param.name, tensor.dims()))
            }),
            (None, ParamKind::Scalar { dtype, fixed: Some(bits) }) => {
                Ok(DynamicArgument::Scalar(ScalarArgument { dtype: *dtype, bits: *bits }))
            }
            (None, _) => Err(refused(format!("`{}` is missing", param.name))),
        })
        .collect()
}

/// The only element of a tensor.
fn scalar(tensor: &DynamicTensor) -> Option<ScalarArgument> {
    let dtype = tensor.dtype();
    let bits = with_element!(dtype, T => match tensor.elements::<T>() {
        Some([only]) => Some(only.to_bits64()),
        _ => None,
    });
    bits.map(|bits| ScalarArgument { dtype, bits })
}

/// Runs a program with arguments for all parameters but the outputs, which are allocated.
///
/// # Errors
/// As [`CompiledProgram::call_with`].
pub fn run_artifact(
    program: &CompiledProgram,
    inputs: Vec<DynamicArgument>,
    options: &RunOptions,
) -> RunResult<ArtifactResults> {
    run_with(program, inputs, |arguments| program.call_with(arguments, *options))
}

/// As [`run_artifact`]; also gives the values of all tasks, of those before it stopped where it did.
pub(in crate::tools) fn run_dumped(
    program: &CompiledProgram,
    inputs: Vec<DynamicArgument>,
    options: &RunOptions,
) -> (Content, RunResult<ArtifactResults>) {
    let dump = ArgumentsDump::new(Whose::Tasks, DUMP_LIMIT);
    let outcome = run_with(program, inputs, |arguments| program.call_dumped(arguments, options, &dump));
    (dump.into_content(), outcome)
}

fn run_with(
    program: &CompiledProgram,
    mut inputs: Vec<DynamicArgument>,
    call: impl FnOnce(Vec<Argument<'_>>) -> RunResult<Vec<DynamicTensor>>,
) -> RunResult<ArtifactResults> {
    let arguments: Vec<Argument<'_>> = inputs
        .iter_mut()
        .map(|input| match input {
            DynamicArgument::Tensor(tensor) => tensor.as_argument_mut(),
            DynamicArgument::Scalar(scalar) => Argument::Scalar(*scalar),
        })
        .collect();
    program.load()?;
    let start = Instant::now();
    let made = call(arguments)?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let (mut inputs, mut made) = (inputs.into_iter(), made.into_iter());
    let mut outputs = BTreeMap::new();
    for param in program.params() {
        let tensor = match param.direction {
            Direction::Out => made.next(),
            _ => inputs.next().and_then(|input| match input {
                DynamicArgument::Tensor(tensor) => Some(tensor),
                DynamicArgument::Scalar(_) => None,
            }),
        };
        if let Some(tensor) = tensor.filter(|_| param.direction != Direction::In) {
            outputs.insert(param.name.clone(), tensor);
        }
    }
    Ok(ArtifactResults { outputs, milliseconds })
}
