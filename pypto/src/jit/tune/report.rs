//! What was tried, what was chosen, and why.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::jit::meta::MetaValues;

/// What tuning found. `Display` gives a table with one candidate a line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TuneReport {
    /// The kernel.
    pub kernel: String,
    /// What the arguments were.
    pub arguments: String,
    /// Threads that a call uses.
    pub threads: usize,
    /// Where the times come from.
    pub origin: TuneOrigin,
    /// In the order of the space; the first one that runs is what the others are compared with.
    pub candidates: Vec<Candidate>,
    /// The index of the one that is used.
    pub chosen: usize,
}

/// Where times come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuneOrigin {
    /// They were measured now.
    Measured,
    /// An earlier run measured them, for such arguments.
    Disk { measured_for: String },
}

/// One combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub values: MetaValues,
    pub outcome: Outcome,
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// It gives the right results, in these times a call.
    Measured { best: Duration, median: Duration, samples: usize },
    /// It cannot be compiled, or its call fails.
    Failed { reason: String },
    /// Its results differ from those of the first candidate by more than the tolerance.
    Differs { reason: String },
}

impl Outcome {
    /// The best time of a call.
    pub fn best(&self) -> Option<Duration> {
        match self {
            Outcome::Measured { best, .. } => Some(*best),
            _ => None,
        }
    }
}

impl TuneReport {
    /// The candidate that is used.
    pub fn chosen(&self) -> &Candidate {
        &self.candidates[self.chosen]
    }

    /// The first candidate that ran: its results are what the others were compared with.
    pub fn first(&self) -> &Candidate {
        let ran = self.candidates.iter().find(|candidate| candidate.outcome.best().is_some());
        ran.unwrap_or_else(|| self.chosen())
    }

    /// How many times as fast the chosen candidate is as the first one that ran.
    pub fn speedup(&self) -> f64 {
        self.to_first(self.chosen()).unwrap_or(1.0)
    }

    fn to_first(&self, candidate: &Candidate) -> Option<f64> {
        Some(self.first().outcome.best()?.as_secs_f64() / candidate.outcome.best()?.as_secs_f64())
    }
}

impl fmt::Display for TuneReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TuneReport { kernel, arguments, threads, origin, candidates, .. } = self;
        let plural = if *threads == 1 { "" } else { "s" };
        writeln!(f, "{kernel}({arguments}) on {threads} thread{plural}: {}", values(&self.chosen().values))?;
        match (self.chosen() == self.first(), origin) {
            (true, _) => writeln!(f, "  no other candidate is faster than the first by more than noise")?,
            (false, _) => {
                let first = values(&self.first().values);
                writeln!(f, "  {:.2} times as fast as the first candidate, {first}", self.speedup())?;
            }
        }
        if let TuneOrigin::Disk { measured_for } = origin {
            writeln!(f, "  measured by an earlier run, for ({measured_for})")?;
        }
        let width = candidates.iter().map(|c| values(&c.values).len()).max().unwrap_or(0);
        writeln!(f, "  {:<width$} {:>10} {:>10} {:>8}", "", "best", "median", "to first")?;
        candidates.iter().enumerate().try_for_each(|(index, candidate)| self.line(f, index, candidate, width))
    }
}

impl TuneReport {
    fn line(&self, f: &mut fmt::Formatter<'_>, index: usize, candidate: &Candidate, width: usize) -> fmt::Result {
        write!(f, "  {:<width$}", values(&candidate.values))?;
        match &candidate.outcome {
            Outcome::Measured { best, median, .. } => {
                let ratio = self.to_first(candidate).unwrap_or(1.0);
                write!(f, " {:>10} {:>10} {ratio:>8.2}", time(*best), time(*median))?;
                writeln!(f, "{}", if index == self.chosen { "  chosen" } else { "" })
            }
            Outcome::Failed { reason } => writeln!(f, " dropped, it fails: {reason}"),
            Outcome::Differs { reason } => writeln!(f, " dropped, its results differ: {reason}"),
        }
    }
}

/// `TM = 16, TN = 64`.
pub(super) fn values(values: &MetaValues) -> String {
    values.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s => format!("{:.3} ms", s * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_say_what_was_chosen_and_why() {
        let candidate = |tm, outcome| Candidate { values: MetaValues::new().set("TM", tm), outcome };
        let measured = |nanoseconds| Outcome::Measured {
            best: Duration::from_nanos(nanoseconds),
            median: Duration::from_nanos(nanoseconds + 500),
            samples: 9,
        };
        let mut report = TuneReport {
            kernel: "softmax<f32>".into(),
            arguments: "x: [64, 1024]".into(),
            threads: 2,
            origin: TuneOrigin::Disk { measured_for: "x: [60, 1000]".into() },
            candidates: vec![
                candidate(7, Outcome::Failed { reason: "PTO0221: TM divides M".into() }),
                candidate(16, measured(3000)),
                candidate(128, measured(2000)),
                candidate(64, Outcome::Differs { reason: "y: 3 elements".into() }),
            ],
            chosen: 2,
        };
        let expected = "\
softmax<f32>(x: [64, 1024]) on 2 threads: TM = 128
  1.50 times as fast as the first candidate, TM = 16
  measured by an earlier run, for (x: [60, 1000])
                 best     median to first
  TM = 7   dropped, it fails: PTO0221: TM divides M
  TM = 16     3.00 us    3.50 us     1.00
  TM = 128    2.00 us    2.50 us     1.50  chosen
  TM = 64  dropped, its results differ: y: 3 elements
";
        assert_eq!(report.to_string(), expected);
        (report.chosen, report.origin) = (1, TuneOrigin::Measured);
        assert!(report.to_string().contains("no other candidate is faster"), "{report}");
    }
}
