//! One artifact directory, run once.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::arguments::{ArtifactResults, named_arguments, run_artifact};
use super::error::ExecutionError;
use super::inputs::{NamedTensors, SAVED_INPUTS, SAVED_OUTPUTS, find_inputs, save_tensors};
use super::report::ExecutionReport;
use crate::artifact::CompiledProgram;
use crate::config::{HarnessOptions, RunOptions};
use crate::golden::{Tolerance, compare, read_tensors};
use crate::runtime::observe::{DIRECTORY, OVERHEAD, Overhead};

/// How to run an artifact's directory. Paths are `.safetensors` files, `.npy` files or directories of `.npy` files, with
/// tensors by the names of parameters; scalars are tensors with one element.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExecutionOptions {
    /// Inputs. Default: those saved or recorded in the directory, else generated ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<PathBuf>,
    /// What outputs should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub golden: Option<PathBuf>,
    /// A `.safetensors` file that the outputs are written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub save: Option<PathBuf>,
    /// Keep inputs and outputs in the artifact's directory, for replays.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub save_inputs: bool,
    /// Run only, compare nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_validate: bool,
    /// Largest relative difference. Default: by element type, see [`Tolerance::of`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtol: Option<f64>,
    /// Largest absolute difference. Default: by element type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atol: Option<f64>,
    /// The dispatch: platform, device, threads, what it records.
    pub run: RunOptions,
}

impl ExecutionOptions {
    /// Checks what can be checked without the artifact.
    ///
    /// # Errors
    /// A value that an option cannot have; a comparison without anything to compare with.
    pub fn validate(&self) -> Result<(), ExecutionError> {
        self.run.validate()?;
        HarnessOptions { rtol: self.rtol, atol: self.atol, ..HarnessOptions::default() }.validate()?;
        match self.golden.is_none() && !self.no_validate {
            true => Err(ExecutionError::NothingToCompare),
            false => Ok(()),
        }
    }
}

/// Runs the artifact that lies in a directory, and compares what it writes. Compiles nothing.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// # let directory = place.path().join("doubled");
/// # let text = "program \"double\" entry @double\nfn @double incore (%0 \"x\": tensor<f32>[4] in, %1 \"y\": tensor<f32>[4] out) {\n  %2: i64 = constant() {value = 0, dtype = i64}\n  %3: tile<f32>[4] = load(%0, %2)\n  %4: tile<f32>[4] = add(%3, %3)\n  store(%4, %1, %2)\n}\n";
/// # let program = pypto::ir::text::parse(text, "double")?;
/// # let options = pypto::CompileOptions { output_dir: Some(directory.clone()), ..Default::default() };
/// # pypto::compile(&program, &options)?;
/// use pypto::tools::execution::{ExecutionOptions, Status, execute_artifact_dir};
/// let options = ExecutionOptions { no_validate: true, ..ExecutionOptions::default() };
/// let report = execute_artifact_dir(&directory, &options)?;
/// assert_eq!(report.status(), Status::Passed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What could not be set up. A run that stopped and results that differ are in the report.
pub fn execute_artifact_dir(work_dir: &Path, options: &ExecutionOptions) -> Result<ExecutionReport, ExecutionError> {
    options.validate()?;
    let program = CompiledProgram::from_dir(work_dir)?;
    options.run.check_for(program.platform())?;
    let expected = match (&options.golden, options.no_validate) {
        (Some(path), false) => Some(read_tensors(path)?),
        _ => None,
    };
    let (tensors, source) = find_inputs(&program, work_dir, options.inputs.as_deref())?;
    let inputs = named_arguments(&program, &tensors, &source)?;
    if options.save_inputs {
        save_tensors(&work_dir.join(SAVED_INPUTS), &tensors)?;
    }
    let mut report = ExecutionReport::of(work_dir, &program, source);
    let ArtifactResults { outputs, milliseconds } = match run_artifact(&program, inputs, &options.run) {
        Ok(results) => results,
        Err(error) => return report.stopped(error).map(|()| report),
    };
    report.milliseconds = milliseconds;
    report.recorded = find_recorded(work_dir, &options.run);
    if let Some(path) = &options.save {
        save_tensors(path, &outputs)?;
        report.saved = Some(path.clone());
    }
    if options.save_inputs {
        save_tensors(&work_dir.join(SAVED_OUTPUTS), &outputs)?;
    }
    if let Some(expected) = expected {
        compare_outputs(&mut report, &outputs, &expected, (options.rtol, options.atol));
    }
    Ok(report)
}

/// Where a dispatch with these options left its records, and what they cost.
pub(in crate::tools) fn find_recorded(work_dir: &Path, options: &RunOptions) -> Option<(PathBuf, u64)> {
    let directory = options.dfx.any().then(|| work_dir.join(DIRECTORY))?;
    let overhead: Overhead = serde_json::from_slice(&std::fs::read(directory.join(OVERHEAD)).ok()?).ok()?;
    Some((directory, overhead.overhead_ns))
}

/// Compares outputs with what is expected of them, into the report. Expected tensors may also be there for inputs; those
/// are not looked at. Without a single comparison the report has failed.
pub fn compare_outputs(
    report: &mut ExecutionReport,
    outputs: &NamedTensors,
    expected: &NamedTensors,
    (rtol, atol): (Option<f64>, Option<f64>),
) {
    for (name, actual) in outputs {
        let Some(expected) = expected.get(name) else {
            report.not_compared.push(name.clone());
            continue;
        };
        match compare(name, actual, expected, Tolerance::of(actual.dtype()).with(rtol, atol)) {
            Ok(comparison) => report.comparisons.push(comparison),
            Err(unlike) => report.unlike.push(unlike.to_string()),
        }
    }
    if report.comparisons.is_empty() && report.unlike.is_empty() {
        let names = |tensors: &NamedTensors| tensors.keys().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        report.failure = Some(format!(
            "nothing was compared: the outputs are {}, and expected are {}",
            names(outputs),
            names(expected)
        ));
    }
}
