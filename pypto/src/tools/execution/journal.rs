//! The journal of a batch: JSON lines, each written whole before anything that follows it happens, so that after any end of
//! the process the file tells which entries came to their end and which were running.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ExecutionError;
use super::report::{ExecutionReport, Status};
use crate::staged::write_whole;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// A line of the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub enum JournalLine {
    /// The first: which manifest, by its hash, and how many entries it has.
    Begin { schema: u32, manifest: String, entries: usize },
    /// The entry is about to run.
    Started { entry: usize, work_dir: PathBuf },
    /// The entry came to its end.
    Finished { entry: usize, work_dir: PathBuf, outcome: Outcome },
    /// The last: every entry came to its end.
    End { passed: usize, failed: usize, usage: usize, infrastructure: usize },
}

/// What came of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<f64>,
    /// Why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<Compared>,
    /// Outputs that nothing is expected of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<String>,
}

/// An output that was compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    pub name: String,
    pub elements: usize,
    pub mismatches: usize,
    pub max_error: f64,
    pub rtol: f64,
    pub atol: f64,
}

impl Outcome {
    /// That of an execution.
    pub fn of(result: &Result<ExecutionReport, ExecutionError>) -> Outcome {
        let report = match result {
            Ok(report) => report,
            Err(error) => return Outcome::problem(error.status(), error.to_string()),
        };
        let compared = report.comparisons.iter().map(|comparison| Compared {
            name: comparison.name.clone(),
            elements: comparison.elements,
            mismatches: comparison.mismatches,
            max_error: comparison.max_error,
            rtol: comparison.tolerance.rtol,
            atol: comparison.tolerance.atol,
        });
        Outcome {
            status: report.status(),
            milliseconds: report.failure.is_none().then_some(report.milliseconds),
            problem: report.problem(),
            compared: compared.collect(),
            not_compared: report.not_compared.clone(),
        }
    }

    /// One without results.
    pub fn problem(status: Status, problem: String) -> Outcome {
        let (compared, not_compared) = (Vec::new(), Vec::new());
        Outcome { status, milliseconds: None, problem: Some(problem), compared, not_compared }
    }
}

/// How far an entry came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryState {
    #[default]
    NotStarted,
    /// It was started, and nothing is known of its end.
    Unfinished,
    Finished(Status),
}

/// What a journal tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Hash of the manifest.
    pub manifest: String,
    pub entries: Vec<EntryState>,
    /// Whether the batch came to its end.
    pub ended: bool,
    /// Bytes of whole lines: what follows was cut off while it was written.
    pub whole_bytes: u64,
}

/// Reads a journal. A last line that was not written whole counts as not written.
///
/// # Errors
/// A file that cannot be read, or that is no journal.
pub fn read_journal(path: &Path) -> Result<Journal, ExecutionError> {
    let bytes =
        std::fs::read(path).map_err(|error| ExecutionError::Io { action: "read", path: path.to_owned(), error })?;
    let refused = |line: usize, reason: String| ExecutionError::Manifest { path: path.to_owned(), line, reason };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut journal: Option<Journal> = None;
    for (index, line) in bytes[..whole].split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let number = index + 1;
        let line: JournalLine = serde_json::from_slice(line).map_err(|error| refused(number, error.to_string()))?;
        match (line, &mut journal) {
            (JournalLine::Begin { schema, manifest, entries }, None) => {
                if schema != SCHEMA {
                    return Err(refused(number, format!("it has schema {schema}, and {SCHEMA} is read")));
                }
                let entries = vec![EntryState::NotStarted; entries.min(super::batch::MAX_ENTRIES)];
                journal = Some(Journal { manifest, entries, ended: false, whole_bytes: whole as u64 });
            }
            (JournalLine::Started { entry, .. }, Some(journal)) if entry < journal.entries.len() => {
                journal.entries[entry] = EntryState::Unfinished;
            }
            (JournalLine::Finished { entry, outcome, .. }, Some(journal)) if entry < journal.entries.len() => {
                journal.entries[entry] = EntryState::Finished(outcome.status);
            }
            (JournalLine::End { .. }, Some(journal)) => journal.ended = true,
            (line, _) => return Err(refused(number, format!("{line:?} cannot be there"))),
        }
    }
    journal.ok_or_else(|| refused(1, "there is no `begin` line".to_owned()))
}

/// Appends lines.
pub(super) struct JournalWriter {
    file: File,
    path: PathBuf,
}

impl JournalWriter {
    /// A new journal in the place of whatever was there.
    pub(super) fn create(path: &Path, begin: &JournalLine) -> Result<JournalWriter, ExecutionError> {
        write_whole(path, &line(path, begin)?).map_err(|error| cannot_write(path, error))?;
        let file = OpenOptions::new().append(true).open(path);
        Ok(JournalWriter { file: file.map_err(|e| cannot_write(path, e))?, path: path.to_owned() })
    }

    /// Continues after the whole lines of an earlier one.
    pub(super) fn append(path: &Path, whole_bytes: u64) -> Result<JournalWriter, ExecutionError> {
        let file = OpenOptions::new().append(true).open(path);
        let file = file.and_then(|file| file.set_len(whole_bytes).map(|()| file));
        Ok(JournalWriter { file: file.map_err(|e| cannot_write(path, e))?, path: path.to_owned() })
    }

    /// Writes a line, and waits until it is on disk.
    pub(super) fn write(&mut self, line: &JournalLine) -> Result<(), ExecutionError> {
        let bytes = self::line(&self.path, line)?;
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        written.map_err(|error| cannot_write(&self.path, error))
    }
}

fn line(path: &Path, line: &JournalLine) -> Result<Vec<u8>, ExecutionError> {
    let mut bytes = serde_json::to_vec(line).map_err(|error| cannot_write(path, error.into()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn cannot_write(path: &Path, error: std::io::Error) -> ExecutionError {
    ExecutionError::Io { action: "write", path: path.to_owned(), error }
}
