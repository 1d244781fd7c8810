//! What candidates run on: the tensors that the user gave, as they are where a kernel only reads them, copies of them where
//! it writes, and made-up numbers where there are none. Nothing that the user holds is written.

use std::time::{Duration, Instant};

use crate::frontend::generic::{Function, ValueType};
use crate::frontend::specialization::{ArgumentSpec, ParamSpec, Specialization};
use crate::golden;
use crate::ir::{DType, Direction};
use crate::jit::compiled::call_dynamic;
use crate::jit::sample::Content;
use crate::jit::variant::Variant;
use crate::language::DynamicTensor;
use crate::language::argument::{Argument, ScalarArgument};
use crate::runtime::error::{Error, Result};
use crate::runtime::pool::thread_count;
use crate::runtime::recording::Execution;
use crate::runtime::tune_error::TuneError;

/// Whether a tensor that is only read was given or made, and memory for those that are written.
enum Value<'a> {
    Scalar(ScalarArgument),
    Given(&'a dyn Content),
    Made(DynamicTensor),
    Written { initial: DynamicTensor, current: DynamicTensor },
}

/// The arguments of the kernel, without those that it returns.
pub(super) struct Arguments<'a> {
    values: Vec<Value<'a>>,
    /// Whether what a call writes depends on what the call before wrote.
    carries: bool,
}

/// A candidate that can be called.
pub(super) struct Ready {
    pub variant: Variant,
    /// Its `#[spec]` scalars: indices of arguments, and bits.
    pub scalars: Vec<(usize, u64)>,
}

impl<'a> Arguments<'a> {
    /// `samples` has one entry a parameter; `contents` as many, or none.
    ///
    /// # Errors
    /// Memory that the system does not give.
    pub fn new(
        function: &'static Function,
        samples: &[ArgumentSpec],
        contents: &[Option<&'a dyn Content>],
    ) -> Result<Arguments<'a>> {
        let mut values = Vec::with_capacity(samples.len());
        for (index, (param, sample)) in function.params.iter().zip(samples).enumerate() {
            let content = contents.get(index).copied().flatten();
            values.push(match sample {
                ArgumentSpec::Scalar { dtype, bits } => Value::Scalar(ScalarArgument { dtype: *dtype, bits: *bits }),
                ArgumentSpec::Tensor { dtype, dims, .. } => tensor(*dtype, dims, index, param.direction, content)?,
                ArgumentSpec::Unknown => {
                    let (kernel, parameter) = (function.name.name.to_owned(), param.name.name.to_owned());
                    return Err(TuneError::Argument { kernel, parameter }.into());
                }
            });
        }
        let carries = function.params.iter().any(|param| param.direction == Direction::InOut);
        Ok(Arguments { values, carries })
    }

    /// Whether a call changes what the next one does.
    pub fn carry(&self) -> bool {
        self.carries
    }

    /// Calls a candidate `calls` times on the contents that the user gave; gives the time, and what the last call returned.
    ///
    /// # Errors
    /// As the call of the kernel.
    pub fn run(&mut self, candidate: &Ready, calls: u32) -> Result<(Duration, Vec<DynamicTensor>)> {
        for value in &mut self.values {
            if let Value::Written { initial, current } = value {
                current.clone_from(initial);
            }
        }
        let mut arguments: Vec<Argument<'_>> = self.values.iter_mut().map(Value::argument).collect();
        for (index, bits) in &candidate.scalars {
            if let Argument::Scalar(scalar) = &mut arguments[*index] {
                scalar.bits = *bits;
            }
        }
        let (mut returned, start) = (Vec::new(), Instant::now());
        for _ in 0..calls {
            returned = call_dynamic(&candidate.variant, &arguments, Execution::on(thread_count()))?;
        }
        Ok((start.elapsed(), returned))
    }

    /// What the last call wrote, by the names of parameters.
    pub fn written(&self, function: &'static Function) -> Vec<(String, DynamicTensor)> {
        let named = function.params.iter().zip(&self.values);
        let written = named.filter_map(|(param, value)| match value {
            Value::Written { current, .. } => Some((param.name.name.to_owned(), current.clone())),
            _ => None,
        });
        written.collect()
    }
}

impl Value<'_> {
    fn argument(&mut self) -> Argument<'_> {
        match self {
            Value::Scalar(scalar) => Argument::Scalar(*scalar),
            Value::Given(content) => content.argument(),
            Value::Made(tensor) => tensor.as_argument(),
            Value::Written { current, .. } => current.as_argument_mut(),
        }
    }
}

fn tensor<'a>(
    dtype: DType,
    dims: &[i64],
    index: usize,
    direction: Direction,
    content: Option<&'a dyn Content>,
) -> Result<Value<'a>> {
    let made = || golden::generated(dtype, dims, index).map_err(|error| Error::host(error.to_string()));
    if direction == Direction::In {
        return Ok(match content {
            Some(content) => Value::Given(content),
            None => Value::Made(made()?),
        });
    }
    // An `#[out]` parameter that is not written in full keeps its contents, as in calls.
    let initial = match content {
        Some(content) => content.copy(),
        None => made()?,
    };
    Ok(Value::Written { current: initial.clone(), initial })
}

/// The layouts of the arguments where the signature alone tells them.
pub(super) fn of_signature(
    function: &'static Function,
    types: &[DType],
    specialization: &Specialization,
) -> Vec<ArgumentSpec> {
    let params = function.params.iter().zip(&specialization.params);
    let spec = params.map(|(param, spec)| match (param.ty, spec) {
        (ValueType::Tensor { element, .. }, ParamSpec::Tensor { dims, .. }) => {
            match dims.iter().copied().collect::<Option<Vec<i64>>>() {
                Some(dims) => ArgumentSpec::Tensor { dtype: element.resolve(types), dims, contiguous: true },
                None => ArgumentSpec::Unknown,
            }
        }
        (ValueType::Scalar(element), ParamSpec::Scalar { value: Some(bits) }) => {
            ArgumentSpec::Scalar { dtype: element.resolve(types), bits: *bits }
        }
        _ => ArgumentSpec::Unknown,
    });
    spec.collect()
}
