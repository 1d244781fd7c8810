//! `pypto checkpoint`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pypto::config::RunOptions;
use pypto::ir::report::file::is_recording_path;
use pypto::tools::checkpoint::{CheckpointOptions, checkpoint};
use pypto::tools::execution::Status;
use pypto::tools::named_values::{Bounds, RecordingsError, compare_recordings};

use super::execute::{CallArguments, code, refused};
use super::replay::refused_replay;
use super::{complain, print};

#[derive(Args)]
pub struct Arguments {
    /// An artifact's directory, whose saved or recorded inputs are used; or a recording of checkpoints, as a file or as the
    /// directory that PYPTO_CHECKPOINTS named.
    first: PathBuf,
    /// Another build of the program, or another recording. Default: the first build as it was before it was edited.
    second: Option<PathBuf>,
    #[command(flatten)]
    call: CallArguments,
}

pub fn run(arguments: Arguments) -> ExitCode {
    let Arguments { first, second, call } = arguments;
    let run = match call.run_options() {
        Ok(run) => run,
        Err(error) => return refused(&error.into()),
    };
    let CallArguments { inputs, rtol, atol, .. } = call;
    if is_recording_path(&first) {
        if inputs.is_some() || run != RunOptions::default() {
            complain("error: recordings are compared as they are: of the options they take --rtol and --atol alone");
            return code(Status::Usage);
        }
        return recordings(&first, second.as_deref(), Bounds { rtol, atol });
    }
    match checkpoint(&first, second.as_deref(), &CheckpointOptions { inputs, rtol, atol, run }) {
        Ok(report) => {
            print(&report.to_string());
            code(report.status())
        }
        Err(error) => refused_replay(&error),
    }
}

fn recordings(first: &Path, second: Option<&Path>, bounds: Bounds) -> ExitCode {
    let Some(second) = second else {
        complain("error: a recording is compared with another one: name it, too");
        return code(Status::Usage);
    };
    match compare_recordings(first, second, bounds) {
        Ok(report) => {
            print(&report.to_string());
            code(report.status())
        }
        Err(error @ RecordingsError::Config(_)) => {
            complain(&format!("error: {error}"));
            code(Status::Usage)
        }
        Err(error) => {
            complain(&format!("error: INFRASTRUCTURE: {error}"));
            code(Status::Infrastructure)
        }
    }
}
