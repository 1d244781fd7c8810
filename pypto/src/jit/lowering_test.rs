//! What the tests say that `#[pypto::jit(check(..))]` makes.

use super::Error;
use crate::config::environment::Environment;
use crate::diagnostics::{Diagnostics, json};

/// The text of the test's failure: diagnostics as users read them, or, where `PYPTO_MESSAGE_FORMAT=json`, as editors do.
#[doc(hidden)]
pub fn failure(error: &Error) -> String {
    let diagnostics = error.diagnostics();
    if Environment::process_or_default().messages_as_json && !diagnostics.is_empty() {
        return format!("\n{}", json::lines(&Diagnostics(diagnostics.to_vec())));
    }
    error.to_string()
}
