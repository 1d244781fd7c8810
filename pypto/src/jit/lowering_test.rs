//! What the tests do that `#[pypto::jit(check(..))]` makes: they lower the kernel; where `PYPTO_WARM` names a file, they
//! compile it into the cache on disk and tell so there.

use std::path::Path;

use super::handle::JitFn;
use super::sample::Samples;
use super::warmed::{WarmState, Warmed};
use super::{Error, Upcoming};
use crate::config::environment::Environment;
use crate::diagnostics::{Diagnostics, json};

/// Runs such a test.
///
/// # Errors
/// The text of its failure.
#[doc(hidden)]
pub fn run<Marker, F: JitFn<Marker>, S: Samples + ?Sized>(kernel: &F, samples: &S) -> Result<(), String> {
    match &Environment::process_or_default().warm {
        None => kernel.lower(samples).map(drop).map_err(|error| failure(&error)),
        Some(journal) => warm(kernel.ir().name.name, &kernel.for_arguments(samples), journal),
    }
}

fn warm(kernel: &str, upcoming: &Upcoming, journal: &Path) -> Result<(), String> {
    let warmed = upcoming.keep().unwrap_or_else(|error| {
        let state = WarmState::Failed(failure(&error));
        Warmed { kernel: kernel.to_owned(), state, milliseconds: 0.0 }
    });
    warmed.append(journal).map_err(|error| format!("{} cannot be written: {error}", journal.display()))?;
    match warmed.state {
        WarmState::Failed(text) => Err(text),
        _ => Ok(()),
    }
}

/// The text of a test's failure: diagnostics as users read them, or, where `PYPTO_MESSAGE_FORMAT=json`, as editors do.
fn failure(error: &Error) -> String {
    let diagnostics = error.diagnostics();
    if Environment::process_or_default().messages_as_json && !diagnostics.is_empty() {
        return format!("\n{}", json::lines(&Diagnostics(diagnostics.to_vec())));
    }
    error.to_string()
}
