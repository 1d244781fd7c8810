//! Replays: an artifact is run again after files of it were edited by hand, with just what follows from the edits made anew.
//!
//! What was edited is told by the manifest's hashes, not by times. The artifact itself stays as it is, unless the result is
//! to be written.

mod changes;
mod error;
mod rebuild;

use std::fmt;
use std::path::{Path, PathBuf};

use super::execution::{
    ExecutionError, ExecutionReport, InputSource, NamedTensors, Status, compare_outputs, find_inputs, find_outputs,
    find_recorded, named_arguments, run_artifact, save_tensors,
};
use crate::artifact::{PresentArtifact, read_present};
use crate::config::{DfxOptions, HarnessOptions, RunOptions};
use crate::golden::read_tensors;

pub use changes::{Changes, Stage};
pub use error::ReplayError;
pub(in crate::tools) use rebuild::original;
pub use rebuild::{Rebuilt, rebuild};

/// How to replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayOptions {
    /// Inputs. Default: those saved or recorded in the directory, else generated ones.
    pub inputs: Option<PathBuf>,
    /// What outputs should be. Default: the outputs that were saved or recorded with the inputs, else what the artifact gives
    /// without the edits.
    pub golden: Option<PathBuf>,
    /// A `.safetensors` file that the outputs are written to.
    pub save: Option<PathBuf>,
    /// Run only, compare nothing.
    pub no_validate: bool,
    /// Largest relative difference. Default: by element type.
    pub rtol: Option<f64>,
    /// Largest absolute difference. Default: by element type.
    pub atol: Option<f64>,
    /// Put the rebuilt artifact in the place of the edited one, if it passed.
    pub write: bool,
    /// The dispatch.
    pub run: RunOptions,
}

/// What a replay did.
#[derive(Clone, Debug)]
pub struct ReplayReport {
    /// What was edited and what followed from it, one a line.
    pub changes: Vec<String>,
    pub execution: ExecutionReport,
    /// What the outputs were compared with.
    pub expected: Option<String>,
    /// Whether the artifact was replaced.
    pub written: bool,
}

impl ReplayReport {
    /// Passed or failed.
    pub fn status(&self) -> Status {
        self.execution.status()
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in &self.changes {
            writeln!(f, "{change}")?;
        }
        write!(f, "{}", self.execution)?;
        if let Some(expected) = &self.expected {
            writeln!(f, "  expected  {expected}")?;
        }
        if self.written { writeln!(f, "  written   {}", self.execution.work_dir.display()) } else { Ok(()) }
    }
}

/// Runs an artifact's directory again, after rebuilding what was edited.
///
/// # Errors
/// Files that cannot be used; edits that are wrong or contradict each other. What ran and failed is in the report.
pub fn replay(directory: &Path, options: &ReplayOptions) -> Result<ReplayReport, ReplayError> {
    HarnessOptions { rtol: options.rtol, atol: options.atol, ..HarnessOptions::default() }.validate()?;
    let present = read_present(directory)?;
    options.run.check_for(present.manifest.platform)?;
    let rebuilt = rebuild(&present, &Changes::of(&present)?)?;
    let program = &rebuilt.program;
    let (tensors, source) = find_inputs(program, directory, options.inputs.as_deref())?;
    let expected = expectation(&present, &tensors, &source, options)?;
    let mut execution = ExecutionReport::of(directory, program, source.clone());
    match run_artifact(program, named_arguments(program, &tensors, &source)?, &options.run) {
        Err(error) => execution.stopped(error)?,
        Ok(results) => {
            execution.milliseconds = results.milliseconds;
            execution.recorded = find_recorded(directory, &options.run);
            if let Some(path) = &options.save {
                save_tensors(path, &results.outputs)?;
                execution.saved = Some(path.clone());
            }
            if let Some((expected, _)) = &expected {
                compare_outputs(&mut execution, &results.outputs, expected, (options.rtol, options.atol));
            }
        }
    }
    let written = options.write && rebuilt.edited && execution.status() == Status::Passed;
    if written {
        rebuilt.write(&present)?;
    }
    let mut changes = rebuilt.notes;
    if options.write && rebuilt.edited && !written {
        changes.push("the artifact is not replaced: the replay did not pass".to_owned());
    }
    Ok(ReplayReport { changes, execution, expected: expected.map(|(_, name)| name), written })
}

/// What the outputs should be, and where that comes from: as documented at [`ReplayOptions::golden`].
fn expectation(
    present: &PresentArtifact,
    tensors: &NamedTensors,
    source: &InputSource,
    options: &ReplayOptions,
) -> Result<Option<(NamedTensors, String)>, ReplayError> {
    if options.no_validate {
        return Ok(None);
    }
    if let Some(path) = &options.golden {
        return Ok(Some((read_tensors(path)?, path.display().to_string())));
    }
    if let Some((outputs, path)) = find_outputs(&present.directory, source)? {
        return Ok(Some((outputs, path.display().to_string())));
    }
    let Some(original) = rebuild::original(present)? else { return Err(ExecutionError::NothingToCompare.into()) };
    // Recordings are of the replay alone.
    let run = RunOptions { dfx: DfxOptions::default(), ..options.run };
    let results = run_artifact(&original, named_arguments(&original, tensors, source)?, &run);
    let stopped = |error| match ExecutionError::of_run(error) {
        Ok(error) => error.into(),
        Err(stopped) => ReplayError::Original(stopped.to_string()),
    };
    Ok(Some((results.map_err(stopped)?.outputs, "what the artifact gives without the edits".to_owned())))
}
