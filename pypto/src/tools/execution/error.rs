//! Why an execution was not set up.

use std::path::PathBuf;

use super::report::Status;
use crate::artifact::ArtifactError;
use crate::config::ConfigError;
use crate::golden::TensorFileError;
use crate::runtime::error::{Error, ErrorKind};

/// Why nothing ran, or why nothing is known of what ran.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    /// An option has a value that it cannot have, or that means nothing for the artifact.
    #[error(transparent)]
    Options(#[from] ConfigError),
    /// A comparison was asked for, and there is nothing to compare with.
    #[error(
        "there is nothing to compare results with: give golden tensors (`--golden`), or do without a comparison (`--no-validate`)"
    )]
    NothingToCompare,
    /// The batch manifest is none.
    #[error("{}:{line}: {reason}", path.display())]
    Manifest { path: PathBuf, line: usize, reason: String },
    /// The results of a batch are not those of this manifest.
    #[error("cannot resume from {}: {reason}", path.display())]
    Resume { path: PathBuf, reason: String },
    /// Tensors in a file that the program has no parameter for, or a parameter without a tensor.
    #[error("the inputs from {source_name} do not fit `{program}`: {reason}; its parameters are {parameters}")]
    Inputs { source_name: String, program: String, reason: String, parameters: String },
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    #[error(transparent)]
    Tensors(#[from] TensorFileError),
    #[error("cannot {action} {}: {error}", path.display())]
    Io { action: &'static str, path: PathBuf, error: std::io::Error },
    /// The host cannot run it: no memory, an object that cannot be loaded.
    #[error("{0}")]
    Host(String),
}

impl ExecutionError {
    /// What it counts as.
    pub fn status(&self) -> Status {
        match self {
            ExecutionError::Options(_)
            | ExecutionError::NothingToCompare
            | ExecutionError::Manifest { .. }
            | ExecutionError::Resume { .. } => Status::Usage,
            _ => Status::Infrastructure,
        }
    }

    /// The error of a run, if it is none of the program's: `Err` gives back what is.
    pub(in crate::tools) fn of_run(error: Error) -> Result<ExecutionError, Error> {
        match error.kind() {
            ErrorKind::Config(error) => Ok(error.clone().into()),
            ErrorKind::Artifact(error) => Ok(error.clone().into()),
            ErrorKind::Host(message) => Ok(ExecutionError::Host(message.clone())),
            _ => Err(error),
        }
    }
}
