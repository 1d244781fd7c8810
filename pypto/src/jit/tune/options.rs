//! How a kernel is tuned.

use std::time::Duration;

/// Options of `kernel.tune_with(..)`.
///
/// ```
/// use pypto::jit::TuneOptions;
/// use std::time::Duration;
/// let options = TuneOptions::new().with_limit(1000).with_time(Duration::from_secs(10));
/// assert_eq!(options.limit, 1000);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TuneOptions {
    /// The most combinations that are tried; more are an error, not a choice among them. Default: 256.
    pub limit: usize,
    /// How long calls are timed, all candidates together; compilation and the first run of each come before. Every candidate
    /// is timed at least five times, however long that takes. Default: one second.
    pub time: Duration,
    /// Results may differ from the first candidate's by `atol + rtol * |its|`. Default: what
    /// [`Tolerance::of`](crate::golden::Tolerance::of) says of the element type.
    pub rtol: Option<f64>,
    /// See [`TuneOptions::rtol`].
    pub atol: Option<f64>,
    /// Whether a choice that was made earlier is taken from disk, and this one is kept there. Default: yes.
    pub cache: bool,
}

impl TuneOptions {
    /// The defaults.
    pub fn new() -> TuneOptions {
        TuneOptions { limit: 256, time: Duration::from_secs(1), rtol: None, atol: None, cache: true }
    }

    /// With another limit of combinations.
    pub fn with_limit(self, limit: usize) -> TuneOptions {
        TuneOptions { limit, ..self }
    }

    /// With another time for measuring.
    pub fn with_time(self, time: Duration) -> TuneOptions {
        TuneOptions { time, ..self }
    }

    /// With other bounds for results that differ.
    pub fn with_tolerance(self, rtol: f64, atol: f64) -> TuneOptions {
        TuneOptions { rtol: Some(rtol), atol: Some(atol), ..self }
    }

    /// Using the disk, or measuring anew and keeping nothing.
    pub fn with_cache(self, cache: bool) -> TuneOptions {
        TuneOptions { cache, ..self }
    }
}

impl Default for TuneOptions {
    fn default() -> TuneOptions {
        TuneOptions::new()
    }
}
