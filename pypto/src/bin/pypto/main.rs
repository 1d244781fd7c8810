//! The `pypto` command.

mod check;
mod checkpoint;
mod compile;
mod execute;
mod progress;
mod replay;
mod warm;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use pypto::tools::{doctor, explain};

/// Tools of PyPTO for Rust.
#[derive(Parser)]
#[command(name = "pypto", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What this machine offers, and how kernels run on it.
    Doctor,
    /// Cause, example and fix of a diagnostic, such as PTO0203; all codes where none is given.
    Explain { code: Option<String> },
    /// Lowers the kernels that say for which arguments, by `#[pypto::jit(check(..))]`: runs these tests of the package here.
    ///
    /// Exit codes: 0 all are right, 1 some are wrong, 3 cargo cannot be run.
    Check(check::Arguments),
    /// Compiles the kernels that say for which arguments, by `#[pypto::jit(check(..))]`, into the cache on disk, so that the
    /// programs of the package here find them.
    ///
    /// Exit codes: 0 all are there, 1 some are not, 2 the cache is off or no kernel says for which arguments, 3 cargo cannot
    /// be run.
    Warm(warm::Arguments),
    /// Runs an artifact's directory, or a list of them, and compares results; compiles nothing.
    ///
    /// Exit codes: 0 all passed, 1 failed, 2 usage, 3 infrastructure.
    ExecuteArtifact(Box<execute::Arguments>),
    /// Runs an artifact again after files of it were edited by hand: makes anew what follows from the edits, and says so.
    ///
    /// An edited `kernels/*.ll` becomes an object; from an edited program (`ir/` or `passes_dump/`) on, passes run and code is
    /// made. Exit codes as for execute-artifact.
    Replay(Box<replay::Arguments>),
    /// Runs two builds of a program on the same inputs and tells the first task whose values differ; or compares two
    /// recordings of `checkpoint!` and tells the first value that differs.
    ///
    /// Exit codes as for execute-artifact.
    Checkpoint(Box<checkpoint::Arguments>),
    /// Compiles a program that is given as text into an artifact's directory.
    ///
    /// Exit codes: 0 compiled, 1 the program is wrong, 2 an option is, 3 a file cannot be read or written.
    Compile(compile::Arguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Doctor => print(&doctor::report()),
        Command::Explain { code: None } => print(&explain::list()),
        Command::Explain { code: Some(code) } => match explain::explain(&code) {
            Ok(page) => print(page),
            Err(text) => {
                complain(&text);
                ExitCode::FAILURE
            }
        },
        Command::Check(arguments) => check::run(arguments),
        Command::Warm(arguments) => warm::run(arguments),
        Command::ExecuteArtifact(arguments) => execute::run(*arguments),
        Command::Replay(arguments) => replay::run(*arguments),
        Command::Checkpoint(arguments) => checkpoint::run(*arguments),
        Command::Compile(arguments) => compile::run(arguments),
    }
}

/// Prints; a reader that went away, as in `pypto explain | head`, is no error.
fn print(text: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}
