//! Files that show what the compiler did.

use std::io;
use std::path::{Path, PathBuf};

/// A directory that receives numbered files, or nothing where no dumps are wanted.
#[derive(Clone, Debug, Default)]
pub struct Dump(Option<PathBuf>);

impl Dump {
    /// Dumps into `directory`, which is made if need be.
    pub fn new(directory: Option<&Path>) -> io::Result<Dump> {
        if let Some(directory) = directory {
            std::fs::create_dir_all(directory)?;
        }
        Ok(Dump(directory.map(Path::to_owned)))
    }

    /// Writes a file, if dumps are wanted; `text` is made only then.
    pub fn write(&self, name: &str, text: impl FnOnce() -> String) -> io::Result<()> {
        match &self.0 {
            Some(directory) => std::fs::write(directory.join(name), text()),
            None => Ok(()),
        }
    }

    /// Whether dumps are wanted.
    pub fn is_wanted(&self) -> bool {
        self.0.is_some()
    }
}
