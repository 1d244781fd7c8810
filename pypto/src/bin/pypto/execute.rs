//! `pypto execute-artifact`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, Args};
use pypto::config::{ArgumentDump, ConfigError, DfxOptions, Platform, PmuEvent, RunOptions, SwimlaneLevel};
use pypto::tools::execution::{
    BatchEntry, BatchOptions, ExecutionError, ExecutionOptions, Status, execute_artifact_dir, execute_batch_manifest,
};

use super::progress::Progress;
use super::{complain, print};

#[derive(Args)]
#[command(group(ArgGroup::new("what").required(true).args(["work_dir", "batch_manifest", "entry"])))]
pub struct Arguments {
    /// The artifact's directory.
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// A list of artifacts as JSON lines: {"schema": 1}, then {"work_dir": .., "options": {..}} for each.
    #[arg(long, value_name = "FILE", requires = "results", conflicts_with_all = ["one", "call"])]
    batch_manifest: Option<PathBuf>,
    /// Where the journal and results of a batch are written, as JSON lines.
    #[arg(long, value_name = "FILE", requires = "batch_manifest")]
    results: Option<PathBuf>,
    /// Continue an interrupted batch: what is told as finished in its results is not run again.
    #[arg(long, requires = "batch_manifest")]
    resume: bool,
    /// Run each entry of a batch in a process of its own.
    #[arg(long, requires = "batch_manifest")]
    isolate: bool,
    /// One entry of a batch as JSON; its outcome is printed as JSON. What `--isolate` runs.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["one", "call"])]
    entry: Option<String>,
    #[command(flatten)]
    one: OneArguments,
    #[command(flatten)]
    call: CallArguments,
}

/// What belongs to one artifact.
#[derive(Args)]
#[group(id = "one", multiple = true)]
struct OneArguments {
    /// What outputs should be: a .safetensors file, a .npy file, or a directory of .npy files.
    #[arg(long, value_name = "FILE|DIR")]
    golden: Option<PathBuf>,
    /// A .safetensors file for the outputs.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Keep inputs and outputs in the artifact's directory, for `pypto replay`.
    #[arg(long)]
    save_inputs: bool,
    /// Run only, compare nothing.
    #[arg(long, conflicts_with = "golden")]
    no_validate: bool,
}

/// What belongs to one call; `pypto replay` takes the same.
#[derive(Args)]
#[group(id = "call", multiple = true)]
pub struct CallArguments {
    /// The artifact's platform, to be sure of it.
    #[arg(long, value_parser = |text: &str| text.parse::<Platform>())]
    platform: Option<Platform>,
    /// Which device.
    #[arg(long, value_name = "N")]
    device_id: Option<u32>,
    /// Inputs: a .safetensors file, a .npy file, or a directory of .npy files. Default: those saved or recorded in the
    /// directory, else generated ones.
    #[arg(long, value_name = "FILE|DIR")]
    pub inputs: Option<PathBuf>,
    /// Largest relative difference. Default: by element type.
    #[arg(long)]
    pub rtol: Option<f64>,
    /// Largest absolute difference. Default: by element type.
    #[arg(long)]
    pub atol: Option<f64>,
    /// Threads of the call.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Milliseconds that the call may take.
    #[arg(long, value_name = "N")]
    time_limit_ms: Option<u64>,
    /// Trace tasks, from 0 (off) to 4 (everything); 4 without a level.
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "4", require_equals = true)]
    enable_chip_swimlane: Option<i64>,
    /// Write arguments: 0 (off), 1 (of the call), 2 (of every task).
    #[arg(long, value_name = "LEVEL")]
    dump_args: Option<i64>,
    /// Read hardware counters: 0 (off), 1, 2, 4 or 5.
    #[arg(long, value_name = "EVENT")]
    enable_pmu: Option<i64>,
    /// Write the graph of dependencies.
    #[arg(long)]
    enable_dep_gen: bool,
    /// Write the memory and tasks of schedules.
    #[arg(long)]
    enable_scope_stats: bool,
}

impl CallArguments {
    /// The options of the dispatch.
    ///
    /// # Errors
    /// A level that there is not.
    pub fn run_options(&self) -> Result<RunOptions, ConfigError> {
        let dfx = DfxOptions {
            enable_chip_swimlane: self.enable_chip_swimlane.map(SwimlaneLevel::try_from).transpose()?,
            enable_dump_args: self.dump_args.map(ArgumentDump::try_from).transpose()?,
            enable_pmu: self.enable_pmu.map(PmuEvent::try_from).transpose()?,
            enable_dep_gen: self.enable_dep_gen.then_some(true),
            enable_scope_stats: self.enable_scope_stats.then_some(true),
        };
        Ok(RunOptions {
            platform: self.platform,
            device_id: self.device_id,
            threads: self.threads,
            time_limit_ms: self.time_limit_ms,
            dfx,
            ..RunOptions::default()
        })
    }
}

pub fn run(arguments: Arguments) -> ExitCode {
    match (&arguments.work_dir, &arguments.batch_manifest, &arguments.entry) {
        (Some(work_dir), ..) => one(work_dir, &arguments),
        (_, Some(manifest), _) => batch(manifest, &arguments),
        (_, _, Some(text)) => entry(text),
        _ => code(Status::Usage),
    }
}

pub fn code(status: Status) -> ExitCode {
    ExitCode::from(status.exit_code())
}

/// Tells an error and gives its exit code.
pub fn refused(error: &ExecutionError) -> ExitCode {
    let class = if error.status() == Status::Usage { "error" } else { "error: INFRASTRUCTURE" };
    complain(&format!("{class}: {error}"));
    code(error.status())
}

fn one(work_dir: &Path, arguments: &Arguments) -> ExitCode {
    let run = match arguments.call.run_options() {
        Ok(run) => run,
        Err(error) => return refused(&error.into()),
    };
    let options = ExecutionOptions {
        inputs: arguments.call.inputs.clone(),
        golden: arguments.one.golden.clone(),
        save: arguments.one.save.clone(),
        save_inputs: arguments.one.save_inputs,
        no_validate: arguments.one.no_validate,
        rtol: arguments.call.rtol,
        atol: arguments.call.atol,
        run,
    };
    match execute_artifact_dir(work_dir, &options) {
        Ok(report) => {
            print(&report.to_string());
            code(report.status())
        }
        Err(error) => refused(&error),
    }
}

fn batch(manifest: &Path, arguments: &Arguments) -> ExitCode {
    let Some(results) = &arguments.results else { return code(Status::Usage) };
    let isolate = match arguments.isolate.then(std::env::current_exe).transpose() {
        Ok(isolate) => isolate,
        Err(error) => {
            complain(&format!("error: INFRASTRUCTURE: this program cannot be found: {error}"));
            return code(Status::Infrastructure);
        }
    };
    let options = BatchOptions { resume: arguments.resume, isolate };
    let mut progress = Progress::default();
    match execute_batch_manifest(manifest, results, &options, &mut |event| progress.tell(event)) {
        Ok(summary) => {
            progress.end(&summary);
            code(summary.status())
        }
        Err(error) => refused(&error),
    }
}

fn entry(text: &str) -> ExitCode {
    let entry: BatchEntry = match serde_json::from_str(text) {
        Ok(entry) => entry,
        Err(error) => {
            complain(&format!("error: `--entry` is no entry: {error}"));
            return code(Status::Usage);
        }
    };
    let outcome = entry.run();
    match serde_json::to_string(&outcome) {
        Ok(text) => {
            print(&text);
            code(outcome.status)
        }
        Err(error) => {
            complain(&format!("error: INFRASTRUCTURE: the outcome has no text: {error}"));
            code(Status::Infrastructure)
        }
    }
}
