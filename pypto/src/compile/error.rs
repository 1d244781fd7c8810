//! Why a program was not compiled.

use crate::artifact::ArtifactError;
use crate::config::ConfigError;
use crate::diagnostics::Diagnostics;

/// Why nothing was compiled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompileError {
    /// The kernel is wrong.
    #[error("{0}")]
    Kernel(Diagnostics),
    /// An option or an environment variable is wrong, or means nothing on the platform.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// More than one function can be called, and an artifact has one.
    #[error(
        "`{program}` has several functions that a call may start at: {}; `compile_entries` compiles all of them, and `program.rooted_at(\"{}\")` is one of them",
        .roots.join(", "), .roots.first().map_or("", String::as_str)
    )]
    SeveralRoots { program: String, roots: Vec<String> },
    /// The artifact could not be written; its directory is as it was.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// A stage broke its own rules.
    #[error("{0}")]
    Internal(String),
}

impl From<Diagnostics> for CompileError {
    fn from(list: Diagnostics) -> CompileError {
        CompileError::Kernel(list)
    }
}
