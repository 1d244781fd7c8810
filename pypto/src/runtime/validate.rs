//! Which pass broke a program: every dumped state of it, interpreted and compared with what is expected.

use super::check_arguments::{Style, check};
use super::error::{Error, Result};
use super::signature::Signature;
use crate::artifact::CompiledProgram;
use crate::config::ConfigError;
use crate::golden::{Comparison, Tolerance, compare};
use crate::ir::interpreter::{self, Options};
use crate::ir::{Direction, Program};
use crate::language::DynamicTensor;
use crate::language::argument::{Argument, ScalarArgument};

/// An argument that is a value of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicArgument {
    Tensor(DynamicTensor),
    Scalar(ScalarArgument),
}

/// How the program after one pass compares.
#[derive(Clone, Debug, PartialEq)]
pub struct PassCheck {
    /// The dump: `00_frontend`, `01_after_inline`, ..
    pub pass: String,
    /// Each parameter that is written, compared with what is expected of it.
    pub comparisons: Vec<Comparison>,
    /// Why the program did not come to its end.
    pub stopped: Option<String>,
}

impl PassCheck {
    /// Whether everything agrees.
    pub fn passed(&self) -> bool {
        self.stopped.is_none() && self.comparisons.iter().all(Comparison::passed)
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
        check(self, &Signature::of(self.params()), &arguments, Style::InPlace).map_err(Error::call)?;
        // SAFETY: every argument is a tensor of its own, and fits its parameter.
        let ran = unsafe { interpreter::run(program, &arguments, Options::default()) };
        drop(arguments);
        let stopped = ran.err().map(|error| error.to_string());
        let mut outcome = PassCheck { pass: pass.to_owned(), comparisons: Vec::new(), stopped };
        let written = self.params().iter().zip(&values).filter(|(param, _)| param.direction != Direction::In);
        for ((param, value), expected) in written.zip(expected) {
            let DynamicArgument::Tensor(found) = value else { continue };
            let tolerance = tolerance.unwrap_or_else(|| Tolerance::of(found.dtype()));
            match compare(&param.name, found, expected, tolerance) {
                Ok(comparison) => outcome.comparisons.push(comparison),
                Err(unlike) => outcome.stopped = Some(unlike.to_string()),
            }
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
