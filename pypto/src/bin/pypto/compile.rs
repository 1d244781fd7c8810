//! `pypto compile`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use pypto::CompileOptions;
use pypto::compile::{CompileError, Progress, Step, StepKind, compile_entries, compile_watched};
use pypto::config::{PassDumpLevel, Platform};
use pypto::ir::text::parse;
use pypto::ir::{Program, verify};
use pypto::tools::execution::Status;

use super::execute::code;
use super::{complain, print};

#[derive(Args)]
pub struct Arguments {
    /// The program as text: `ir/program.ir` of an artifact, a dump of a pass, or one that was written by hand.
    program: PathBuf,
    /// Where the artifact goes.
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
    /// What it is compiled for. Default: PYPTO_HOST, then `host`.
    #[arg(long, value_parser = |text: &str| text.parse::<Platform>())]
    platform: Option<Platform>,
    /// Threads that work is cut for.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Keep the program after every pass.
    #[arg(long)]
    dump_passes: bool,
    /// Keep the checkpoints of the program, whose values `pypto checkpoint` compares.
    #[arg(long)]
    checkpoints: bool,
    /// Write how long stages and passes took.
    #[arg(long)]
    profiling: bool,
}

pub fn run(arguments: Arguments) -> ExitCode {
    let path = &arguments.program;
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return refuse(Status::Infrastructure, &format!("cannot read {}: {error}", path.display())),
    };
    let program = match parse(&text, &path.display().to_string()) {
        Ok(program) => program,
        Err(error) => return refuse(Status::Failed, &format!("{}:{error}", path.display())),
    };
    if let Err(problems) = verify(&program) {
        let titles: String =
            problems.0.iter().map(|problem| format!("\n  {}: {}", problem.primary.loc, problem.title)).collect();
        return refuse(Status::Failed, &format!("{} is no valid program:{titles}", path.display()));
    }
    let options = CompileOptions {
        platform: arguments.platform,
        threads: arguments.threads,
        output_dir: Some(arguments.output_dir.clone()),
        dump_passes: arguments.dump_passes.then_some(PassDumpLevel::Explicit),
        checkpoints: arguments.checkpoints.then_some(true),
        profiling: arguments.profiling.then_some(true),
        ..CompileOptions::default()
    };
    match compiled(&program, &options) {
        Ok(names) => {
            print(&format!("compiled {} into {}\n", names.join(", "), shown(&arguments.output_dir)));
            ExitCode::SUCCESS
        }
        Err(error) => refuse(class(&error), &error.to_string()),
    }
}

/// Names of the entries.
fn compiled(program: &Program, options: &CompileOptions) -> Result<Vec<String>, CompileError> {
    if program.roots().len() > 1 {
        let entries = compile_entries(program, options)?;
        return Ok(entries.names().into_iter().map(str::to_owned).collect());
    }
    let progress: Arc<dyn Progress> = Arc::new(Bar::new());
    let compiled = compile_watched(program, options, &progress)?;
    Ok(compiled.orchestration_names().into_iter().map(str::to_owned).collect())
}

fn shown(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn class(error: &CompileError) -> Status {
    match error {
        CompileError::Config(_) => Status::Usage,
        CompileError::Artifact(_) => Status::Infrastructure,
        _ => Status::Failed,
    }
}

fn refuse(status: Status, reason: &str) -> ExitCode {
    complain(&format!("error: {reason}"));
    code(status)
}

/// A bar for passes, then one for kernels, on terminals alone; it goes away at the end.
struct Bar {
    bar: Option<ProgressBar>,
}

impl Bar {
    fn new() -> Bar {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            match ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Bar { bar }
    }
}

impl Progress for Bar {
    fn step(&self, step: Step<'_>) {
        let Some(bar) = &self.bar else { return };
        let kind = match step.kind {
            StepKind::Pass => "pass",
            StepKind::Kernel => "kernel",
        };
        bar.set_length(step.total as u64);
        bar.set_position(step.done as u64);
        bar.set_message(format!("{kind} {}", step.name));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
