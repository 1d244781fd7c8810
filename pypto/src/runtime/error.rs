//! The error of a call, of a compilation and of everything else that a handle does.

use std::fmt;

use super::kernel::Failure;
use super::record::Stop;
use crate::artifact::ArtifactError;
use crate::compile::CompileError;
use crate::config::ConfigError;
use crate::diagnostics::{Code, Diagnostic, Diagnostics, codes, render_all};

pub use super::tune_error::TuneError;

/// The result of a call or of a handle's method.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call or a compilation failed. One pointer wide; `Debug` prints the rendered text, so that
/// `fn main() -> pypto::jit::Result<()>` shows what a user wants to read.
#[derive(thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

/// The kinds of errors, by who can do something about them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ErrorKind {
    /// The kernel is wrong for these arguments: found while it was specialized.
    #[error("{}", render_all(.0, false))]
    Compile(Diagnostics),
    /// The arguments do not fit the signature: nothing ran, nothing was written.
    #[error("{}", render_all(.0, false))]
    Call(Diagnostics),
    /// The kernel stopped at an operation: division by zero, an index outside, a failed assertion. What earlier
    /// operations wrote stays written.
    #[error("{}", render_all(.0, false))]
    Runtime(Diagnostics),
    /// The call did not end within its `time_limit_ms`. What was written stays written; nothing of it still runs.
    #[error("the call was stopped: its `time_limit_ms` was over before all of its work had begun")]
    TimeLimit,
    /// An option or an environment variable has a value that it cannot have, or that means nothing on the platform.
    #[error("{0}")]
    Config(ConfigError),
    /// The program is to be compiled another way.
    #[error("{0}")]
    Program(CompileError),
    /// An artifact's directory cannot be used or written.
    #[error("{0}")]
    Artifact(ArtifactError),
    /// Values to tune a kernel over that mean nothing for it, or of which none works.
    #[error("{0}")]
    Tune(TuneError),
    /// Something of the host is unusable: not enough memory, a damaged object.
    #[error("{0}")]
    Host(String),
    /// A fault of the compiler.
    #[error("internal error: {0}\nThis is a fault of PyPTO, not of the kernel; please report it.")]
    Internal(String),
}

impl Error {
    /// What kind of error it is.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// The diagnostics of a compile, call or run-time error; empty for the other kinds.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &*self.0 {
            ErrorKind::Compile(list) | ErrorKind::Call(list) | ErrorKind::Runtime(list) => &list.0,
            _ => &[],
        }
    }

    /// The code of the first diagnostic.
    pub fn code(&self) -> Option<Code> {
        self.diagnostics().first().map(|d| d.code)
    }

    /// An error of a host option or file.
    pub fn host(message: impl Into<String>) -> Error {
        ErrorKind::Host(message.into()).into()
    }

    /// Arguments that do not fit.
    pub fn call(list: Diagnostics) -> Error {
        ErrorKind::Call(list).into()
    }

    /// A fault of the compiler.
    pub fn internal(message: impl Into<String>) -> Error {
        ErrorKind::Internal(message.into()).into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error(Box::new(kind))
    }
}

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Error {
        match error {
            CompileError::Kernel(list) => list.into(),
            CompileError::Config(error) => error.into(),
            CompileError::Artifact(error) => error.into(),
            CompileError::Internal(message) => Error::internal(message),
            other @ CompileError::SeveralRoots { .. } => ErrorKind::Program(other).into(),
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Error {
        ErrorKind::Config(error).into()
    }
}

impl From<TuneError> for Error {
    fn from(error: TuneError) -> Error {
        ErrorKind::Tune(error).into()
    }
}

impl From<ArtifactError> for Error {
    fn from(error: ArtifactError) -> Error {
        ErrorKind::Artifact(error).into()
    }
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        match stop {
            Stop::Failed(diagnostic) => ErrorKind::Runtime((*diagnostic).into()).into(),
            Stop::Task(Failure::Stopped(site)) => {
                let diagnostic =
                    Diagnostic::error(codes::RUN_FAILED, site.loc, site.message, "the kernel stopped here");
                ErrorKind::Runtime(diagnostic.into()).into()
            }
            Stop::Task(Failure::Memory(refused)) => Error::host(refused.to_string()),
            Stop::Task(Failure::UnknownStatus(kernel, status)) => {
                Error::internal(format!("kernel `{kernel}` stopped with unknown status {status}"))
            }
            Stop::Task(Failure::TimeLimit) => ErrorKind::TimeLimit.into(),
            Stop::Task(Failure::Panicked) => Error::internal("a kernel's worker panicked"),
            Stop::Unsupported(message) => Error::internal(message),
        }
    }
}

impl From<Diagnostics> for Error {
    fn from(list: Diagnostics) -> Error {
        ErrorKind::Compile(list).into()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
