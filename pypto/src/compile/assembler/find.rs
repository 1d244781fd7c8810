//! Where the assembler is.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::config::ConfigError;
use crate::config::environment::Environment;

/// The name of the program.
const NAME: &str = "ptoas";

/// An assembler that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembler {
    program: PathBuf,
    /// Changes when the program does.
    identity: String,
}

impl Assembler {
    /// The assembler of the environment: of `PTOAS_ROOT` where that is set, else the first on the `PATH`.
    ///
    /// # Errors
    /// A `PTOAS_ROOT` without an assembler.
    pub fn find(environment: &Environment) -> Result<Option<Assembler>, ConfigError> {
        if let Some(root) = &environment.ptoas_root {
            let found = [root.join("bin").join(NAME), root.join(NAME)].into_iter().find_map(Assembler::at);
            return found.map(Some).ok_or_else(|| ConfigError::Environment {
                variable: "PTOAS_ROOT".to_owned(),
                value: format!("`{}`", root.display()),
                allowed: "a directory with the program `ptoas` or `bin/ptoas`".to_owned(),
            });
        }
        let Some(path) = &environment.search_path else { return Ok(None) };
        Ok(std::env::split_paths(path).map(|directory| directory.join(NAME)).find_map(Assembler::at))
    }

    /// The assembler at a path; `None` where no program is.
    pub fn at(program: PathBuf) -> Option<Assembler> {
        let metadata = std::fs::metadata(&program).ok().filter(std::fs::Metadata::is_file)?;
        if !is_executable(&metadata) {
            return None;
        }
        let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let nanoseconds = changed.map_or(0, |time| time.as_nanos());
        let identity = format!("{} {} {nanoseconds}", program.display(), metadata.len());
        Some(Assembler { program, identity })
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}
