//! What became of kernels that were compiled into the cache on disk: the lines that the tests of `#[pypto::jit(check(..))]`
//! leave where `PYPTO_WARM` names a file, and `pypto warm` reads.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A kernel that was to be in the cache on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warmed {
    /// The kernel and what it is compiled for; the name alone where that cannot be told.
    pub kernel: String,
    pub state: WarmState,
    /// How long it took to make it, or to find it.
    pub milliseconds: f64,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmState {
    /// It was compiled now, and calls will find it.
    Compiled,
    /// It was there already.
    Found,
    /// It is right, but calls of other processes will not find it; with the reason.
    NotKept(String),
    /// It cannot be compiled; with what is wrong.
    Failed(String),
}

impl Warmed {
    /// Appends itself to a file as one line, whatever other processes write there.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn append(&self, path: &Path) -> io::Result<()> {
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        File::options().create(true).append(true).open(path)?.write_all(line.as_bytes())
    }

    /// Those of a file, each kernel once, in the order of names: of a kernel that several tests made, the first. None where no
    /// file is.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds something else.
    pub fn read(path: &Path) -> io::Result<Vec<Warmed>> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut all: Vec<Warmed> = Vec::new();
        for line in text.lines() {
            let warmed: Warmed = serde_json::from_str(line)?;
            if all.iter().all(|known| known.kernel != warmed.kernel) {
                all.push(warmed);
            }
        }
        all.sort_by(|a, b| a.kernel.cmp(&b.kernel));
        Ok(all)
    }
}
