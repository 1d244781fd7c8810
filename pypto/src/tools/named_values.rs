//! Where two recordings of named values part: `checkpoint!` of kernels, which eager, interpreted, compiled and simulated
//! runs record in the same order.

use std::fmt;
use std::path::{Path, PathBuf};

use super::execution::Status;
use crate::config::{ConfigError, HarnessOptions};
use crate::golden::{Comparison, Tolerance, compare};
use crate::ir::report::file::{RecordingError, read_recordings};
use crate::ir::report::{Report, Shown};
use crate::language::DynamicTensor;
use crate::ops::reference::{Element, with_element};

/// How far values may be apart. Default: by element type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    pub rtol: Option<f64>,
    pub atol: Option<f64>,
}

/// Two recordings, compared value by value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedValues {
    /// How many values each shows.
    pub counts: [usize; 2],
    /// How many, from the first on, are the same.
    pub equal: usize,
    pub parting: Option<NamedParting>,
}

/// The first value at which two recordings part.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedParting {
    /// Of which call, where there are several.
    pub call: usize,
    /// Its number among the values of the call.
    pub number: usize,
    /// What each shows there, if anything: name, element type and extents.
    pub shows: [Option<String>; 2],
    /// Where the checkpoint stands.
    pub place: String,
    /// The operation that made the value and its line; empty where neither recording tells, as of eager runs.
    pub origin: String,
    /// The elements, where both show the same.
    pub comparison: Option<Comparison>,
}

impl NamedValues {
    /// Compares the recordings of calls: value by value, in order.
    pub fn compare(a: &[Vec<Report>], b: &[Vec<Report>], bounds: Bounds) -> NamedValues {
        let count = |calls: &[Vec<Report>]| calls.iter().map(Vec::len).sum();
        let mut found = NamedValues { counts: [count(a), count(b)], ..NamedValues::default() };
        for call in 0..a.len().max(b.len()) {
            let [a, b] = [a, b].map(|calls| calls.get(call).map_or(&[][..], Vec::as_slice));
            for number in 0..a.len().max(b.len()) {
                found.parting = part(call, number, [a.get(number), b.get(number)], bounds);
                if found.parting.is_some() {
                    return found;
                }
                found.equal += 1;
            }
        }
        found
    }
}

fn part(call: usize, number: usize, reports: [Option<&Report>; 2], bounds: Bounds) -> Option<NamedParting> {
    let shows = reports.map(|report| report.map(signature));
    let mut comparison = None;
    if let ([Some(a), Some(b)], true) = (reports, shows[0] == shows[1]) {
        let (actual, expected) = (tensor(a)?, tensor(b)?);
        let tolerance = Tolerance::of(actual.dtype()).with(bounds.rtol, bounds.atol);
        let outcome = compare(&format!("`{}`", a.text), &actual, &expected, tolerance).ok()?;
        if outcome.passed() {
            return None;
        }
        comparison = Some(outcome);
    }
    let known = || reports.into_iter().flatten();
    let origin = known().map(|report| report.origin.clone()).find(|origin| !origin.is_empty()).unwrap_or_default();
    let place = known().map(|report| report.loc.to_string()).next().unwrap_or_default();
    Some(NamedParting { call, number, shows, place, origin, comparison })
}

fn signature(report: &Report) -> String {
    match report.values.first() {
        Some(Shown::Scalar(scalar)) => format!("`{}`: {}", report.text, scalar.dtype),
        Some(value) => format!("`{}`: {}{:?}", report.text, value.dtype(), value.extents()),
        None => format!("`{}`", report.text),
    }
}

fn tensor(report: &Report) -> Option<DynamicTensor> {
    let (value, dims) = (report.values.first()?, report.values.first()?.extents());
    with_element!(value.dtype(), T => DynamicTensor::from_vec(T::unwrap(value.elements())?, &dims).ok())
}

impl fmt::Display for NamedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamedValues { counts: [a, b], equal, parting } = self;
        writeln!(f, "  values    {a} and {b}; the first {equal} are the same")?;
        let Some(NamedParting { call, number, shows, place, origin, comparison }) = parting else { return Ok(()) };
        write!(f, "  part at   checkpoint {number}")?;
        if *call > 0 {
            write!(f, " of call {call}")?;
        }
        write!(f, ", {place}")?;
        if !origin.is_empty() {
            write!(f, ", made by {origin}")?;
        }
        match comparison {
            Some(comparison) => writeln!(f, ": {}", comparison.to_string().replace('\n', "\n            ")),
            None => {
                let [a, b] = shows.each_ref().map(|shown| shown.as_deref().unwrap_or("nothing"));
                writeln!(f, ": {a} here, {b} there")
            }
        }
    }
}

/// Why recordings cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum RecordingsError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Two recordings at paths. Its `Display` is a report of a few lines.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingsReport {
    pub paths: [PathBuf; 2],
    /// How many calls each has.
    pub calls: [usize; 2],
    pub values: NamedValues,
}

impl RecordingsReport {
    /// Passed where both show the same.
    pub fn status(&self) -> Status {
        if self.values.parting.is_none() && self.calls[0] == self.calls[1] { Status::Passed } else { Status::Failed }
    }
}

impl fmt::Display for RecordingsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordingsReport { paths: [a, b], calls, values } = self;
        writeln!(f, "{}: {} and {}", self.status().name(), a.display(), b.display())?;
        writeln!(f, "  calls     {} and {}", calls[0], calls[1])?;
        write!(f, "{values}")
    }
}

/// Compares two recordings: files, or directories that `PYPTO_CHECKPOINTS` named.
///
/// # Errors
/// A recording that cannot be read; bounds that are none.
pub fn compare_recordings(first: &Path, second: &Path, bounds: Bounds) -> Result<RecordingsReport, RecordingsError> {
    HarnessOptions { rtol: bounds.rtol, atol: bounds.atol, ..HarnessOptions::default() }.validate()?;
    let (a, b) = (read_recordings(first)?, read_recordings(second)?);
    Ok(RecordingsReport {
        paths: [first.to_owned(), second.to_owned()],
        calls: [a.len(), b.len()],
        values: NamedValues::compare(&a, &b, bounds),
    })
}
