//! The `pypto` command.

use std::io::Write;
use std::process::ExitCode;

use pypto::tools::{doctor, explain};

const USAGE: &str = "\
usage: pypto COMMAND

  doctor         what this machine offers, and how kernels run on it
  explain CODE   cause, example and fix of a diagnostic, such as PTO0203
  explain        all codes
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["doctor"] => Ok(doctor::report()),
        ["explain"] => Ok(explain::list()),
        ["explain", code] => explain::explain(code).map(str::to_owned),
        ["--help" | "-h" | "help"] => Ok(USAGE.to_owned()),
        ["--version" | "-V"] => Ok(format!("pypto {}\n", env!("CARGO_PKG_VERSION"))),
        _ => Err(USAGE.to_owned()),
    };
    // A reader that went away, as in `pypto explain | head`, is no error.
    match outcome {
        Ok(text) => {
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(text) => {
            let _ = std::io::stderr().write_all(text.as_bytes());
            ExitCode::FAILURE
        }
    }
}
