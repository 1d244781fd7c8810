//! A list of artifacts, run one after another, with a journal.
//!
//! The manifest is JSON lines: first `{"schema": 1}`, then an entry a line, `{"work_dir": .., "options": {..}}` with the
//! fields of [`ExecutionOptions`]. Relative paths start at the manifest's directory. It is checked whole before anything runs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::artifact_dir::{ExecutionOptions, execute_artifact_dir};
use super::error::ExecutionError;
use super::isolated::run_isolated;
use super::journal::{EntryState, Journal, JournalLine, JournalWriter, Outcome, SCHEMA, read_journal};
use super::report::Status;

/// Most entries of a manifest.
pub(super) const MAX_ENTRIES: usize = 1_000_000;

/// An artifact to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchEntry {
    pub work_dir: PathBuf,
    #[serde(default)]
    pub options: ExecutionOptions,
}

impl BatchEntry {
    /// What comes of it, in this process.
    pub fn run(&self) -> Outcome {
        Outcome::of(&execute_artifact_dir(&self.work_dir, &self.options))
    }
}

/// How a batch is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchOptions {
    /// Continue a batch that was interrupted: what its results tell as finished is not run again.
    pub resume: bool,
    /// The `pypto` program, to run each entry in a process of its own: one that crashes, or that does not end within its
    /// `time_limit_ms`, is told as failed and the next one runs.
    pub isolate: Option<PathBuf>,
}

/// What happens, for whoever watches.
#[derive(Clone, Copy, Debug)]
pub enum BatchProgress<'a> {
    Begun { entries: usize, already_finished: usize },
    Started { entry: usize, work_dir: &'a Path },
    Finished { entry: usize, work_dir: &'a Path, outcome: &'a Outcome },
}

/// How many entries came to which end, those of an earlier run included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSummary {
    pub passed: usize,
    pub failed: usize,
    pub usage: usize,
    pub infrastructure: usize,
}

impl BatchSummary {
    /// Failed where any entry did; else infrastructure or usage where any entry has that; else passed.
    pub fn status(&self) -> Status {
        match self {
            BatchSummary { failed: 1.., .. } => Status::Failed,
            BatchSummary { infrastructure: 1.., .. } => Status::Infrastructure,
            BatchSummary { usage: 1.., .. } => Status::Usage,
            _ => Status::Passed,
        }
    }

    fn count(&mut self, status: Status) {
        *match status {
            Status::Passed => &mut self.passed,
            Status::Failed => &mut self.failed,
            Status::Usage => &mut self.usage,
            Status::Infrastructure => &mut self.infrastructure,
        } += 1;
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    schema: u32,
}

/// The entries of a manifest, with paths that start at its directory, and its hash.
///
/// # Errors
/// A file that cannot be read; the first line that is wrong.
pub fn read_batch_manifest(path: &Path) -> Result<(Vec<BatchEntry>, String), ExecutionError> {
    let text = std::fs::read_to_string(path).map_err(|error| ExecutionError::Io {
        action: "read",
        path: path.to_owned(),
        error,
    })?;
    let refused = |line: usize, reason: String| ExecutionError::Manifest { path: path.to_owned(), line, reason };
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let first = lines.next().and_then(|(_, line)| serde_json::from_str::<Header>(line).ok());
    match first {
        None => return Err(refused(1, format!("the first line must be {{\"schema\": {SCHEMA}}}"))),
        Some(Header { schema }) if schema != SCHEMA => {
            return Err(refused(1, format!("it has schema {schema}, and {SCHEMA} is read")));
        }
        Some(_) => {}
    }
    let base = path.parent().unwrap_or(Path::new(""));
    let mut entries = Vec::new();
    for (index, line) in lines {
        let mut entry: BatchEntry = serde_json::from_str(line).map_err(|e| refused(index + 1, e.to_string()))?;
        entry.options.validate().map_err(|error| refused(index + 1, error.to_string()))?;
        let BatchEntry { work_dir, options } = &mut entry;
        *work_dir = base.join(&*work_dir);
        for path in [&mut options.inputs, &mut options.golden, &mut options.save].into_iter().flatten() {
            *path = base.join(&*path);
        }
        entries.push(entry);
        if entries.len() > MAX_ENTRIES {
            return Err(refused(index + 1, format!("it has more than {MAX_ENTRIES} entries")));
        }
    }
    Ok((entries, blake3::hash(text.as_bytes()).to_hex().to_string()))
}

/// Runs the entries of a manifest in order and writes a journal of [`JournalLine`]s to `results`. An entry that fails does
/// not stop the others.
///
/// # Errors
/// A manifest that is wrong, before anything runs; a journal that cannot be written, or resumed.
pub fn execute_batch_manifest(
    manifest: &Path,
    results: &Path,
    options: &BatchOptions,
    watch: &mut dyn FnMut(BatchProgress<'_>),
) -> Result<BatchSummary, ExecutionError> {
    let (entries, hash) = read_batch_manifest(manifest)?;
    let (mut journal, states) = open_journal(results, options.resume, &hash, entries.len())?;
    let mut summary = BatchSummary::default();
    let finished = states.iter().filter(|state| matches!(state, EntryState::Finished(_))).count();
    watch(BatchProgress::Begun { entries: entries.len(), already_finished: finished });
    for (index, entry) in entries.iter().enumerate() {
        if let EntryState::Finished(status) = states[index] {
            summary.count(status);
            continue;
        }
        let work_dir = &entry.work_dir;
        journal.write(&JournalLine::Started { entry: index, work_dir: work_dir.clone() })?;
        watch(BatchProgress::Started { entry: index, work_dir });
        let outcome = match &options.isolate {
            Some(program) => run_isolated(program, entry),
            None => entry.run(),
        };
        summary.count(outcome.status);
        let (work_dir, entry) = (work_dir.clone(), index);
        journal.write(&JournalLine::Finished { entry, work_dir, outcome: outcome.clone() })?;
        watch(BatchProgress::Finished { entry, work_dir: &entries[index].work_dir, outcome: &outcome });
    }
    let BatchSummary { passed, failed, usage, infrastructure } = summary;
    journal.write(&JournalLine::End { passed, failed, usage, infrastructure })?;
    Ok(summary)
}

/// A new journal, or the one that is continued, with how far its entries came.
fn open_journal(
    results: &Path,
    resume: bool,
    manifest: &str,
    count: usize,
) -> Result<(JournalWriter, Vec<EntryState>), ExecutionError> {
    // A journal without a whole line was cut off before anything ran.
    let begun = || std::fs::read(results).is_ok_and(|bytes| bytes.contains(&b'\n'));
    if resume && begun() {
        let refused = |reason: &str| ExecutionError::Resume { path: results.to_owned(), reason: reason.to_owned() };
        let Journal { manifest: known, entries, ended, whole_bytes } = read_journal(results)?;
        if known != manifest || entries.len() != count {
            return Err(refused("it is the journal of another manifest"));
        }
        if ended {
            return Err(refused("that batch came to its end"));
        }
        return Ok((JournalWriter::append(results, whole_bytes)?, entries));
    }
    let begin = JournalLine::Begin { schema: SCHEMA, manifest: manifest.to_owned(), entries: count };
    Ok((JournalWriter::create(results, &begin)?, vec![EntryState::NotStarted; count]))
}
