//! `pypto check`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

use clap::{Args, ValueEnum};
use pypto::diagnostics::json;

use super::complain;

#[derive(Args)]
pub struct Arguments {
    /// How messages are printed: `json` is one object a line, as cargo and rustc print them.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    message_format: Format,
    /// Options of `cargo test`: packages, features, targets.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "CARGO_TEST_OPTIONS")]
    options: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

/// `cargo test`, whatever fails.
pub fn cargo_test() -> Command {
    let cargo = pypto::config::environment::system_path("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--no-fail-fast"]);
    command
}

/// Part of the names of the tests that `check(..)` makes.
pub const TESTS: &str = "_lowers";

pub fn run(arguments: Arguments) -> ExitCode {
    let mut command = cargo_test();
    if arguments.message_format == Format::Json {
        command.arg("--message-format=json").env("PYPTO_MESSAGE_FORMAT", "json").stdout(Stdio::piped());
    }
    command.args(arguments.options).arg(TESTS);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            complain(&format!("error: `cargo test` cannot be started: {error}"));
            return ExitCode::from(3);
        }
    };
    if let Some(output) = child.stdout.take() {
        forward(BufReader::new(output));
    }
    match child.wait() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            complain(&format!("error: `cargo test` was lost: {error}"));
            ExitCode::from(3)
        }
    }
}

/// Prints the lines that are messages of cargo, or of a kernel's test.
fn forward(output: impl BufRead) {
    let mut out = std::io::stdout();
    for line in output.lines().map_while(Result::ok) {
        if (line.starts_with(json::START) || line.starts_with("{\"reason\"")) && writeln!(out, "{line}").is_err() {
            // The reader went away; the tests still end.
            return;
        }
    }
}
