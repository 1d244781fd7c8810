//! `pypto replay`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pypto::tools::execution::Status;
use pypto::tools::replay::{ReplayError, ReplayOptions, replay};

use super::execute::{CallArguments, code, refused};
use super::{complain, print};

#[derive(Args)]
pub struct Arguments {
    /// The artifact's directory.
    directory: PathBuf,
    /// What outputs should be. Default: the outputs saved or recorded with the inputs, else what the artifact gives without
    /// the edits.
    #[arg(long, value_name = "FILE|DIR")]
    golden: Option<PathBuf>,
    /// A .safetensors file for the outputs.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Run only, compare nothing.
    #[arg(long, conflicts_with = "golden")]
    no_validate: bool,
    /// Put the rebuilt artifact in the place of the edited one, if it passed.
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    call: CallArguments,
}

pub fn run(arguments: Arguments) -> ExitCode {
    let Arguments { directory, golden, save, no_validate, write, call } = arguments;
    let run = match call.run_options() {
        Ok(run) => run,
        Err(error) => return refused(&error.into()),
    };
    let CallArguments { inputs, rtol, atol, .. } = call;
    match replay(&directory, &ReplayOptions { inputs, golden, save, no_validate, rtol, atol, write, run }) {
        Ok(report) => {
            print(&report.to_string());
            code(report.status())
        }
        Err(error) => refused_replay(&error),
    }
}

/// Tells why builds were not run and gives the exit code.
pub fn refused_replay(error: &ReplayError) -> ExitCode {
    let class = if error.status() == Status::Infrastructure { "error: INFRASTRUCTURE" } else { "error" };
    complain(&format!("{class}: {error}"));
    code(error.status())
}
