//! Source locations. Every operation, value and function has one: an error without a place helps nobody.

use std::fmt;
use std::sync::{OnceLock, RwLock};

/// An interned file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

fn files() -> &'static RwLock<Vec<&'static str>> {
    static FILES: OnceLock<RwLock<Vec<&'static str>>> = OnceLock::new();
    FILES.get_or_init(|| RwLock::new(Vec::new()))
}

impl FileId {
    /// The id of `name`. Names live as long as the process: there are as many as source files with kernels.
    pub fn intern(name: &str) -> FileId {
        let mut names = files().write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(index) = names.iter().position(|n| *n == name) {
            return FileId(index as u32);
        }
        names.push(Box::leak(name.to_owned().into_boxed_str()));
        FileId(names.len() as u32 - 1)
    }

    /// The file name as it was interned.
    pub fn name(self) -> &'static str {
        files().read().unwrap_or_else(|poisoned| poisoned.into_inner())[self.0 as usize]
    }
}

/// A range of source text; lines and columns count from 1, the end column is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loc {
    pub file: FileId,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

impl Loc {
    /// A range within one file.
    pub fn new(file: FileId, line: u32, column: u32, end_line: u32, end_column: u32) -> Loc {
        Loc { file, line, column, end_line, end_column }
    }

    /// The smallest range that covers both; `self` where the files differ.
    pub fn to(self, other: Loc) -> Loc {
        if self.file != other.file {
            return self;
        }
        let start = (self.line, self.column).min((other.line, other.column));
        let end = (self.end_line, self.end_column).max((other.end_line, other.end_column));
        Loc::new(self.file, start.0, start.1, end.0, end.1)
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.name(), self.line, self.column)
    }
}
