//! Why a replay was not run.

use crate::artifact::ArtifactError;
use crate::compile::CompileError;
use crate::config::{ConfigError, Platform};
use crate::golden::TensorFileError;
use crate::tools::execution::{ExecutionError, Status};

/// Why nothing was replayed. The artifact is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// An edited file is wrong.
    #[error("the edited {file} cannot be used: {reason}")]
    Edited { file: String, reason: String },
    /// Edits that contradict each other.
    #[error("{first} and {second} were both edited, and each tells what the program is: put one of them back")]
    TwoPrograms { first: String, second: String },
    /// An edited file that nothing is made from.
    #[error("{file} was edited, and nothing is made from it: {fix}")]
    WithoutEffect { file: String, fix: &'static str },
    /// Edits of an artifact for an accelerator.
    #[error(
        "{file} was edited, and artifacts for `{platform}` are not rebuilt from edited files: compile the program again"
    )]
    Platform { file: String, platform: Platform },
    /// The artifact without the edits, whose results are to be compared with, does not run.
    #[error("without the edits the artifact does not come to its end, so there is nothing to compare with: {0}")]
    Original(String),
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}

impl ReplayError {
    /// What it counts as: wrong edits have failed.
    pub fn status(&self) -> Status {
        match self {
            ReplayError::Edited { .. } | ReplayError::Compile(_) | ReplayError::Original(_) => Status::Failed,
            ReplayError::TwoPrograms { .. } | ReplayError::Platform { .. } | ReplayError::WithoutEffect { .. } => {
                Status::Usage
            }
            ReplayError::Execution(error) => error.status(),
        }
    }
}

impl From<ArtifactError> for ReplayError {
    fn from(error: ArtifactError) -> ReplayError {
        ReplayError::Execution(error.into())
    }
}

impl From<ConfigError> for ReplayError {
    fn from(error: ConfigError) -> ReplayError {
        ReplayError::Execution(error.into())
    }
}

impl From<TensorFileError> for ReplayError {
    fn from(error: TensorFileError) -> ReplayError {
        ReplayError::Execution(error.into())
    }
}
