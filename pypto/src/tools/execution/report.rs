//! What came of an execution, for people and for programs.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ExecutionError;
use super::inputs::InputSource;
use crate::artifact::CompiledProgram;
use crate::config::Platform;
use crate::golden::Comparison;
use crate::runtime::error::Error;

/// The classes of outcomes; each has an exit code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It ran, and whatever was to be compared agrees.
    Passed,
    /// It ran into an error, or results differ.
    Failed,
    /// What was asked for means nothing.
    Usage,
    /// It could not be set up: the artifact, a file or the host is unusable.
    Infrastructure,
}

impl Status {
    /// 0, 1, 2 and 3.
    pub const fn exit_code(self) -> u8 {
        match self {
            Status::Passed => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Infrastructure => 3,
        }
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "FAILED",
            Status::Usage => "USAGE",
            Status::Infrastructure => "INFRASTRUCTURE",
        }
    }

    /// The status that an exit code stands for.
    pub fn of_exit_code(code: i32) -> Option<Status> {
        let all = [Status::Passed, Status::Failed, Status::Usage, Status::Infrastructure];
        all.into_iter().find(|status| i32::from(status.exit_code()) == code)
    }
}

/// What came of running an artifact once. Its `Display` is a report of a few lines.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionReport {
    pub work_dir: PathBuf,
    /// Name of the program.
    pub program: String,
    pub platform: Platform,
    /// Where its inputs came from.
    pub inputs: InputSource,
    /// How long the call took.
    pub milliseconds: f64,
    /// Why it stopped, if it did.
    pub failure: Option<String>,
    /// One for each output that was compared.
    pub comparisons: Vec<Comparison>,
    /// Outputs of another element type or other extents than expected.
    pub unlike: Vec<String>,
    /// Outputs that nothing is expected of.
    pub not_compared: Vec<String>,
    /// Where the outputs were written.
    pub saved: Option<PathBuf>,
    /// Where the dispatch's records are, and about how many nanoseconds they took, where it was recorded.
    pub recorded: Option<(PathBuf, u64)>,
}

impl ExecutionReport {
    /// That of a program which has not run yet.
    pub fn of(work_dir: &Path, program: &CompiledProgram, inputs: InputSource) -> ExecutionReport {
        ExecutionReport {
            work_dir: work_dir.to_owned(),
            program: program.name().to_owned(),
            platform: program.platform(),
            inputs,
            milliseconds: 0.0,
            failure: None,
            comparisons: Vec::new(),
            unlike: Vec::new(),
            not_compared: Vec::new(),
            saved: None,
            recorded: None,
        }
    }

    /// Notes that the run stopped.
    ///
    /// # Errors
    /// What is no fault of the program.
    pub fn stopped(&mut self, error: Error) -> Result<(), ExecutionError> {
        match ExecutionError::of_run(error) {
            Ok(error) => Err(error),
            Err(stopped) => {
                self.failure = Some(stopped.to_string());
                Ok(())
            }
        }
    }

    /// Passed or failed.
    pub fn status(&self) -> Status {
        let agrees =
            self.failure.is_none() && self.unlike.is_empty() && self.comparisons.iter().all(Comparison::passed);
        if agrees { Status::Passed } else { Status::Failed }
    }

    /// Why it failed, in one text; `None` where it did not.
    pub fn problem(&self) -> Option<String> {
        let different = self.comparisons.iter().filter(|comparison| !comparison.passed()).map(Comparison::to_string);
        let all: Vec<String> = self.failure.iter().chain(&self.unlike).cloned().chain(different).collect();
        if all.is_empty() { None } else { Some(all.join("\n")) }
    }
}

impl fmt::Display for ExecutionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.status().name(), self.work_dir.display())?;
        writeln!(f, "  program   {} for {}", self.program, self.platform)?;
        writeln!(f, "  inputs    {}", self.inputs)?;
        match &self.failure {
            Some(failure) => writeln!(f, "  stopped   {}", failure.replace('\n', "\n            "))?,
            None => writeln!(f, "  ran       {:.3} ms", self.milliseconds)?,
        }
        for comparison in &self.comparisons {
            writeln!(f, "  compared  {}", comparison.to_string().replace('\n', "\n            "))?;
        }
        for unlike in &self.unlike {
            writeln!(f, "  compared  {unlike}")?;
        }
        if !self.not_compared.is_empty() {
            writeln!(f, "  not compared: {}", self.not_compared.join(", "))?;
        }
        if let Some(path) = &self.saved {
            writeln!(f, "  outputs   in {}", path.display())?;
        }
        match &self.recorded {
            Some((path, nanoseconds)) => {
                let microseconds = *nanoseconds as f64 / 1e3;
                writeln!(f, "  recorded  in {}; that took about {microseconds:.1} us", path.display())
            }
            None => Ok(()),
        }
    }
}
