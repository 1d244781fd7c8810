//! Which pass broke a program: every dumped state of it, interpreted and compared with what is expected.

use super::check_arguments::{Style, check};
use super::error::{Error, Result};
use crate::artifact::CompiledProgram;
use crate::config::ConfigError;
use crate::ir::interpreter::{self, Options};
use crate::ir::{DType, Direction, Program};
use crate::language::DynamicTensor;
use crate::language::argument::{Argument, ScalarArgument};
use crate::ops::reference::{Element, with_element};

/// An argument that is a value of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicArgument {
    Tensor(DynamicTensor),
    Scalar(ScalarArgument),
}

/// How much results may differ: by `atol + rtol * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub rtol: f64,
    pub atol: f64,
}

impl Tolerance {
    /// What is usual for an element type: integers and booleans are equal.
    pub fn of(dtype: DType) -> Tolerance {
        match dtype {
            DType::F32 => Tolerance { rtol: 1e-5, atol: 1e-6 },
            DType::F16 => Tolerance { rtol: 1e-3, atol: 1e-4 },
            DType::BF16 => Tolerance { rtol: 1e-2, atol: 1e-3 },
            _ => Tolerance { rtol: 0.0, atol: 0.0 },
        }
    }
}

/// How the program after one pass compares.
#[derive(Clone, Debug, PartialEq)]
pub struct PassCheck {
    /// The dump: `00_frontend`, `01_after_inline`, ..
    pub pass: String,
    /// Elements compared.
    pub compared: usize,
    /// Elements that differ by more than the tolerance. NaN equals NaN.
    pub outside: usize,
    /// The largest difference of two numbers.
    pub largest: f64,
    /// Why the program did not come to its end.
    pub stopped: Option<String>,
}

impl PassCheck {
    /// Whether everything agrees.
    pub fn passed(&self) -> bool {
        self.stopped.is_none() && self.outside == 0
    }
}

impl CompiledProgram {
    /// Interprets the program as it was after every pass, and compares what it writes. `inputs` are the arguments without
    /// the outputs; `expected` is everything that is written, in the order of the parameters. `tolerance` is that of the
    /// element type where it is not given. The first entry that fails names the pass that broke the program.
    ///
    /// # Errors
    /// An artifact without dumps, or one that is damaged; inputs or expected values that do not fit.
    pub fn validate_ir(
        &self,
        inputs: &[DynamicArgument],
        expected: &[DynamicTensor],
        tolerance: Option<Tolerance>,
    ) -> Result<Vec<PassCheck>> {
        let dumps = self.dumps()?;
        if dumps.is_empty() {
            let allowed = "`concise` or `explicit`: `validate_ir` interprets the dumps of passes";
            return Err(ConfigError::value("dump_passes", "none", allowed).into());
        }
        let pure_outputs = self.output_indices().len();
        if inputs.len() + pure_outputs != self.params().len() {
            let allowed = format!("{} arguments, those that are not outputs", self.params().len() - pure_outputs);
            return Err(ConfigError::value("inputs", inputs.len(), allowed).into());
        }
        let outputs: usize = self.params().iter().filter(|param| param.direction != Direction::In).count();
        if expected.len() != outputs {
            let allowed = format!("{outputs} tensors, one for each parameter that is written");
            return Err(ConfigError::value("expected", expected.len(), allowed).into());
        }
        dumps.iter().map(|(pass, program)| self.check_dump(pass, program, inputs, expected, tolerance)).collect()
    }

    fn check_dump(
        &self,
        pass: &str,
        program: &Program,
        inputs: &[DynamicArgument],
        expected: &[DynamicTensor],
        tolerance: Option<Tolerance>,
    ) -> Result<PassCheck> {
        let mut values = self.values(inputs, expected)?;
        let arguments: Vec<Argument<'_>> = values
            .iter_mut()
            .map(|value| match value {
                DynamicArgument::Tensor(tensor) => tensor.as_argument_mut(),
                DynamicArgument::Scalar(scalar) => Argument::Scalar(*scalar),
            })
            .collect();
        check(self, &arguments, Style::InPlace).map_err(Error::call)?;
        // SAFETY: every argument is a tensor of its own, and fits its parameter.
        let ran = unsafe { interpreter::run(program, &arguments, Options::default()) };
        drop(arguments);
        let stopped = ran.err().map(|error| error.to_string());
        let mut outcome = PassCheck { pass: pass.to_owned(), compared: 0, outside: 0, largest: 0.0, stopped };
        let written = self.params().iter().zip(&values).filter(|(param, _)| param.direction != Direction::In);
        for ((_, value), expected) in written.zip(expected) {
            let DynamicArgument::Tensor(found) = value else { continue };
            let tolerance = tolerance.unwrap_or_else(|| Tolerance::of(found.dtype()));
            compare(found, expected, tolerance, &mut outcome);
        }
        Ok(outcome)
    }

    /// An argument for each parameter: inputs as given, outputs zero and as large as expected.
    fn values(&self, inputs: &[DynamicArgument], expected: &[DynamicTensor]) -> Result<Vec<DynamicArgument>> {
        let (mut inputs, mut expected) = (inputs.iter(), expected.iter());
        let mut values = Vec::new();
        for param in self.params() {
            let wanted = if param.direction == Direction::In { None } else { expected.next() };
            match (param.direction, wanted) {
                (Direction::Out, Some(wanted)) => {
                    let zeros = DynamicTensor::zeros(param.dtype(), wanted.dims());
                    values.push(DynamicArgument::Tensor(zeros.map_err(|error| Error::host(error.to_string()))?));
                }
                _ => values.extend(inputs.next().cloned()),
            }
        }
        Ok(values)
    }
}

fn compare(found: &DynamicTensor, expected: &DynamicTensor, tolerance: Tolerance, check: &mut PassCheck) {
    if (found.dtype(), found.dims()) != (expected.dtype(), expected.dims()) {
        check.stopped = Some(format!(
            "{}{:?} was expected, {}{:?} written",
            expected.dtype(),
            expected.dims(),
            found.dtype(),
            found.dims()
        ));
        return;
    }
    for (found, expected) in numbers(found).into_iter().zip(numbers(expected)) {
        check.compared += 1;
        if (found.is_nan() && expected.is_nan()) || found == expected {
            continue;
        }
        let difference = (found - expected).abs();
        check.largest = check.largest.max(difference);
        let allowed = tolerance.atol + tolerance.rtol * expected.abs();
        // A NaN is never within anything.
        check.outside += usize::from(difference.is_nan() || difference > allowed);
    }
}

fn numbers(tensor: &DynamicTensor) -> Vec<f64> {
    let dtype = tensor.dtype();
    with_element!(dtype, T => {
        let elements = tensor.elements::<T>().unwrap_or(&[]);
        elements.iter().map(|element| number(dtype, element.to_bits64())).collect()
    })
}

fn number(dtype: DType, bits: u64) -> f64 {
    use crate::frontend::specialization::{ScalarValue, scalar_from_bits};
    match scalar_from_bits(dtype, bits) {
        ScalarValue::Int(n) => n as f64,
        ScalarValue::Float(x) => x,
        ScalarValue::Bool(b) => f64::from(u8::from(b)),
    }
}
