//! What test harnesses choose beside compiling and running.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Fields that neither the compiler nor a dispatch reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HarnessOptions {
    /// Largest relative difference from golden results. Default: by element type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtol: Option<f64>,
    /// Largest absolute difference from golden results. Default: by element type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atol: Option<f64>,
    /// Where golden inputs and results are read, or kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub golden_data_dir: Option<PathBuf>,
    /// Whether the artifact stays after the test. Any diagnostic of a dispatch keeps it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub save_kernels: Option<bool>,
    /// Compile, but do not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codegen_only: Option<bool>,
}

impl HarnessOptions {
    /// Checks the values.
    ///
    /// # Errors
    /// A tolerance that is negative or not a number.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for (field, value) in [("rtol", self.rtol), ("atol", self.atol)] {
            if let Some(value) = value.filter(|v| !v.is_finite() || *v < 0.0) {
                return Err(ConfigError::value(field, value, "a finite number, 0 or more"));
            }
        }
        Ok(())
    }
}
