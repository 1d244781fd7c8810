//! `pypto warm`.

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output, Stdio};

use clap::Args;
use pypto::config::environment::Environment;
use pypto::jit::warmed::{WarmState, Warmed};

use super::check::{TESTS, cargo_test};
use super::{complain, print};

#[derive(Args)]
pub struct Arguments {
    /// Options of `cargo test`: packages, features, targets.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "CARGO_TEST_OPTIONS")]
    options: Vec<String>,
}

pub fn run(arguments: Arguments) -> ExitCode {
    match warm(&arguments.options) {
        Ok(code) => code,
        Err((code, text)) => {
            complain(&format!("error: {text}"));
            ExitCode::from(code)
        }
    }
}

/// An exit code, and why.
type Refusal = (u8, String);

fn warm(options: &[String]) -> Result<ExitCode, Refusal> {
    let environment = Environment::process().map_err(|error| (2, error.to_string()))?;
    let Some(cache) = environment.cache_directory() else {
        return Err((
            2,
            "there is no cache to warm: `PYPTO_CACHE` is `off`, or no directory is known for it".to_owned(),
        ));
    };
    let journal = Journal::new();
    let Output { status, stdout, .. } = tests(options, &journal.0)?;
    let kernels =
        Warmed::read(&journal.0).map_err(|error| (3, format!("what the tests tell cannot be read: {error}")))?;
    print(&report(&kernels, &cache));
    let failed = kernels.iter().any(|kernel| matches!(kernel.state, WarmState::Failed(_)));
    if !status.success() && !failed {
        return Err((1, format!("`cargo test` failed\n{}", String::from_utf8_lossy(&stdout))));
    }
    if kernels.is_empty() {
        let fix = "write `#[pypto::jit(check(x = [512, 256]))]` at those that calls will need";
        return Err((2, format!("no kernel of these packages says for which arguments it is called: {fix}")));
    }
    let all_there = kernels.iter().all(|kernel| matches!(kernel.state, WarmState::Compiled | WarmState::Found));
    Ok(if all_there { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A file that goes away.
struct Journal(PathBuf);

impl Journal {
    fn new() -> Journal {
        let name = format!("pypto-warm-{}.jsonl", std::process::id());
        let journal = Journal(std::env::temp_dir().join(name));
        let _ = std::fs::remove_file(&journal.0);
        journal
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs the tests; what they say beside the journal is kept for the case that it tells nothing.
fn tests(options: &[String], journal: &Path) -> Result<Output, Refusal> {
    let mut command = cargo_test();
    command.args(options).arg(TESTS);
    command.env("PYPTO_WARM", journal).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let child = command.spawn().map_err(|error| (3, format!("`cargo test` cannot be started: {error}")))?;
    child.wait_with_output().map_err(|error| (3, format!("`cargo test` was lost: {error}")))
}

fn report(kernels: &[Warmed], cache: &Path) -> String {
    let mut text: String = kernels.iter().map(line).collect();
    let count = |wanted: fn(&WarmState) -> bool| kernels.iter().filter(|kernel| wanted(&kernel.state)).count();
    let compiled = count(|state| matches!(state, WarmState::Compiled));
    let found = count(|state| matches!(state, WarmState::Found));
    let not_kept = count(|state| matches!(state, WarmState::NotKept(_)));
    let failed = count(|state| matches!(state, WarmState::Failed(_)));
    let milliseconds: f64 = kernels.iter().map(|kernel| kernel.milliseconds).sum();
    text += &format!(
        "{compiled} compiled, {found} there already, {not_kept} not kept, {failed} failed, in {milliseconds:.0} ms; cache {}\n",
        cache.display()
    );
    text
}

fn line(Warmed { kernel, state, milliseconds }: &Warmed) -> String {
    match state {
        WarmState::Compiled => format!("compiled {milliseconds:8.1} ms  {kernel}\n"),
        WarmState::Found => format!("there already         {kernel}\n"),
        WarmState::NotKept(reason) => format!("NOT KEPT              {kernel}: {reason}\n"),
        WarmState::Failed(text) => format!("FAILED                {kernel}:\n{}\n", text.trim()),
    }
}
