//! Where two builds part: both run on the same inputs, and the values of every task are compared, then those that
//! `checkpoint!` names within tasks, where the builds were compiled with them.
//!
//! Tasks run one by one in program order, so that the first difference is where it arose and not where it was first seen.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::execution::{
    ExecutionError, InputSource, NamedTensors, Status, find_inputs, named_arguments, run_dumped, tensor_of_entry,
};
use super::named_values::{Bounds, NamedValues};
use super::replay::{Changes, ReplayError, original, rebuild};
use crate::artifact::{CompiledProgram, read_present};
use crate::config::{ConfigError, HarnessOptions, RunOptions};
use crate::golden::{Comparison, Tolerance, compare};
use crate::ir::report::Report;
use crate::ir::report::observer::recorded;
use crate::runtime::dfx::dump_args::{Content, Entry, Stage};

/// How two builds are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointOptions {
    /// Inputs of both. Default: those saved or recorded with the first one, else generated ones.
    pub inputs: Option<PathBuf>,
    /// Largest relative difference. Default: by element type.
    pub rtol: Option<f64>,
    /// Largest absolute difference. Default: by element type.
    pub atol: Option<f64>,
    /// The dispatches; nothing can be recorded.
    pub run: RunOptions,
}

/// What was found. Its `Display` is a report of a few lines.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointReport {
    /// The two builds.
    pub builds: [String; 2],
    pub inputs: InputSource,
    /// How many tasks each ran.
    pub tasks: [usize; 2],
    /// How many tasks, from the first on, take and give the same.
    pub equal: usize,
    pub parting: Option<Parting>,
    /// The values of checkpoints, where a build shows some.
    pub named: Option<NamedValues>,
    /// Why one of them, or both, stopped.
    pub stopped: [Option<String>; 2],
    /// The outputs of both, where both came to their end.
    pub outputs: Vec<Comparison>,
}

/// Where two builds part.
#[derive(Clone, Debug, PartialEq)]
pub enum Parting {
    /// Task `task`, which both run on equal values, gives other ones.
    Values { task: usize, kernel: String, comparison: Comparison },
    /// From task `task` on they do not run the same: what each runs there, if anything.
    Tasks { task: usize, runs: [Option<String>; 2] },
}

impl CheckpointReport {
    /// Passed where both ran and gave the same.
    pub fn status(&self) -> Status {
        let same = self.parting.is_none()
            && self.named.as_ref().is_none_or(|named| named.parting.is_none())
            && self.stopped.iter().all(Option::is_none);
        if same && self.outputs.iter().all(Comparison::passed) { Status::Passed } else { Status::Failed }
    }
}

impl fmt::Display for CheckpointReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CheckpointReport { builds: [a, b], inputs, tasks, equal, .. } = self;
        writeln!(f, "{}: {a} and {b}", self.status().name())?;
        writeln!(f, "  inputs    {inputs}")?;
        writeln!(f, "  tasks     {} and {}; the first {equal} give the same", tasks[0], tasks[1])?;
        for (build, stopped) in self.builds.iter().zip(&self.stopped) {
            if let Some(reason) = stopped {
                writeln!(f, "  stopped   {build}: {}", reason.replace('\n', "\n            "))?;
            }
        }
        match &self.parting {
            Some(Parting::Values { task, kernel, comparison }) => {
                let comparison = comparison.to_string().replace('\n', "\n            ");
                writeln!(f, "  part at   task {task}, kernel `{kernel}`: {comparison}")?;
            }
            Some(Parting::Tasks { task, runs }) => {
                let [a, b] = runs.each_ref().map(|run| run.as_deref().unwrap_or("nothing"));
                writeln!(f, "  part at   task {task}: {a} here, {b} there")?;
            }
            None => {}
        }
        if let Some(named) = &self.named {
            write!(f, "{named}")?;
        }
        for output in &self.outputs {
            writeln!(f, "  output    {}", output.to_string().replace('\n', "\n            "))?;
        }
        Ok(())
    }
}

/// Runs two builds of a program and finds where they part. Edits of either are rebuilt first, as
/// [`replay`](super::replay::replay) does; without `second`, the first is compared with itself before it was edited.
///
/// # Errors
/// Directories that cannot be used; inputs that do not fit both.
pub fn checkpoint(
    first: &Path,
    second: Option<&Path>,
    options: &CheckpointOptions,
) -> Result<CheckpointReport, ReplayError> {
    HarnessOptions { rtol: options.rtol, atol: options.atol, ..HarnessOptions::default() }.validate()?;
    if options.run.dfx.any() {
        let allowed = "nothing to record: the values of all tasks are compared, and no files are written";
        return Err(ConfigError::value("dfx", "set", allowed).into());
    }
    let (a, b, name) = match second {
        Some(second) => (build(first)?, build(second)?, second.display().to_string()),
        None => {
            let before = original(&read_present(first)?)?.ok_or(ExecutionError::NothingToCompare)?;
            (build(first)?, before, "what it was before the edits".to_owned())
        }
    };
    let (tensors, inputs) = find_inputs(&a, first, options.inputs.as_deref())?;
    let (a, b) = (run(&a, &tensors, &inputs, options)?, run(&b, &tensors, &inputs, options)?);
    let (left, right) = (tasks(&a.values), tasks(&b.values));
    let (equal, parting) = part(&a.values, &left, &b.values, &right, options)?;
    let bounds = Bounds { rtol: options.rtol, atol: options.atol };
    let some = !(a.named.is_empty() && b.named.is_empty());
    let named =
        some.then(|| NamedValues::compare(std::slice::from_ref(&a.named), std::slice::from_ref(&b.named), bounds));
    let outputs = match (&a.outputs, &b.outputs) {
        (Ok(a), Ok(b)) => compare_all(a, b, options),
        _ => Vec::new(),
    };
    Ok(CheckpointReport {
        builds: [first.display().to_string(), name],
        inputs,
        tasks: [left.len(), right.len()],
        equal,
        parting,
        named,
        stopped: [a.outputs.err(), b.outputs.err()],
        outputs,
    })
}

fn build(directory: &Path) -> Result<CompiledProgram, ReplayError> {
    let present = read_present(directory)?;
    Ok(rebuild(&present, &Changes::of(&present)?)?.program)
}

/// What a build did.
struct Ran {
    values: Content,
    /// What checkpoints showed.
    named: Vec<Report>,
    /// The outputs, or why it stopped.
    outputs: Result<NamedTensors, String>,
}

fn run(
    program: &CompiledProgram,
    tensors: &NamedTensors,
    inputs: &InputSource,
    options: &CheckpointOptions,
) -> Result<Ran, ReplayError> {
    let arguments = named_arguments(program, tensors, inputs)?;
    let ((values, outcome), named) = recorded(|| run_dumped(program, arguments, &options.run));
    let outputs = match outcome {
        Ok(results) => Ok(results.outputs),
        Err(error) => match ExecutionError::of_run(error) {
            Ok(error) => return Err(error.into()),
            Err(stopped) => Err(stopped.to_string()),
        },
    };
    Ok(Ran { values, named, outputs })
}

/// The values of each task in order.
fn tasks(values: &Content) -> Vec<Vec<&Entry>> {
    let mut tasks: BTreeMap<u32, Vec<&Entry>> = BTreeMap::new();
    for entry in &values.entries {
        if let Some(task) = entry.task {
            tasks.entry(task).or_default().push(entry);
        }
    }
    tasks.into_values().collect()
}

/// How many tasks are equal, and what is not.
fn part(
    a: &Content,
    left: &[Vec<&Entry>],
    b: &Content,
    right: &[Vec<&Entry>],
    options: &CheckpointOptions,
) -> Result<(usize, Option<Parting>), ReplayError> {
    for task in 0..left.len().max(right.len()) {
        let (Some(here), Some(there)) = (left.get(task), right.get(task)) else {
            let runs = [left.get(task), right.get(task)].map(|entries| entries.map(|entries| signature(entries)));
            return Ok((task, Some(Parting::Tasks { task, runs })));
        };
        if signature(here) != signature(there) {
            let runs = [Some(signature(here)), Some(signature(there))];
            return Ok((task, Some(Parting::Tasks { task, runs })));
        }
        for (x, y) in here.iter().zip(there) {
            let (Some(actual), Some(expected)) = (tensor(a, x)?, tensor(b, y)?) else { continue };
            let tolerance = Tolerance::of(actual.dtype()).with(options.rtol, options.atol);
            let name = format!("`{}` {}", x.parameter, if x.stage == Stage::Before { "before it" } else { "after it" });
            match compare(&name, &actual, &expected, tolerance) {
                Ok(comparison) if !comparison.passed() => {
                    let kernel = x.function.clone();
                    return Ok((task, Some(Parting::Values { task, kernel, comparison })));
                }
                // Types and extents are in the signatures.
                _ => {}
            }
        }
    }
    Ok((left.len(), None))
}

/// The kernel of a task with its values' names, types and extents.
fn signature(entries: &[&Entry]) -> String {
    let kernel = entries.first().map_or("", |entry| &entry.function);
    let values = entries.iter().map(|entry| {
        let stage = if entry.stage == Stage::Before { "" } else { " after it" };
        let extents = entry.extents.as_ref().map(|extents| format!("{extents:?}")).unwrap_or_default();
        format!("{}: {}{extents}{stage}", entry.parameter, entry.dtype)
    });
    format!("`{kernel}`({})", values.collect::<Vec<_>>().join(", "))
}

/// A value that was kept; those beyond the limit were not.
fn tensor(values: &Content, entry: &Entry) -> Result<Option<crate::language::DynamicTensor>, ReplayError> {
    let refused =
        |reason| ExecutionError::Host(format!("a value of `{}` cannot be compared: {reason}", entry.function));
    let tensor = entry.offset.map(|_| tensor_of_entry(entry, &values.payload)).transpose();
    tensor.map_err(|reason| refused(reason).into())
}

fn compare_all(a: &NamedTensors, b: &NamedTensors, options: &CheckpointOptions) -> Vec<Comparison> {
    let both = a.iter().filter_map(|(name, actual)| Some((name, actual, b.get(name)?)));
    let compared = both.filter_map(|(name, actual, expected)| {
        let tolerance = Tolerance::of(actual.dtype()).with(options.rtol, options.atol);
        compare(name, actual, expected, tolerance).ok()
    });
    compared.collect()
}
