//! `pypto checkpoint`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pypto::tools::checkpoint::{CheckpointOptions, checkpoint};

use super::execute::{CallArguments, code, refused};
use super::print;
use super::replay::refused_replay;

#[derive(Args)]
pub struct Arguments {
    /// An artifact's directory, whose saved or recorded inputs are used.
    first: PathBuf,
    /// Another build of the program. Default: the first one as it was before it was edited.
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
    match checkpoint(&first, second.as_deref(), &CheckpointOptions { inputs, rtol, atol, run }) {
        Ok(report) => {
            print(&report.to_string());
            code(report.status())
        }
        Err(error) => refused_replay(&error),
    }
}
