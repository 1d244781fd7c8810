//! Why an artifact's directory was not read or written.

use std::path::{Path, PathBuf};

/// What is wrong with a directory. Nothing of it is used then; a directory that was to be written is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactError {
    /// There is no manifest.
    #[error("{} is no artifact: it has no manifest.json; compile the program with an output directory", .0.display())]
    Missing(PathBuf),
    /// There is not one entry, but several.
    #[error("{} holds several entries: read it with `CompiledEntries::from_dir`, or one of them: {}", directory.display(), entries.join(", "))]
    Several { directory: PathBuf, entries: Vec<String> },
    /// There are no several entries.
    #[error("{} has no entries.json: a program with one entry is read with `CompiledProgram::from_dir`", .0.display())]
    NoEntries(PathBuf),
    /// The operating system refused.
    #[error("cannot {action} {}: {reason}", path.display())]
    Io { action: &'static str, path: PathBuf, reason: String },
    /// The manifest is no manifest.
    #[error("{} is damaged: {reason}; compile the program again", path.display())]
    Manifest { path: PathBuf, reason: String },
    /// The manifest was written by another version.
    #[error("{} has schema {found}, and this version of pypto reads schema {known}: compile the program again", path.display())]
    Schema { path: PathBuf, found: u64, known: u32 },
    /// A path that leaves the directory, or does not lead to a plain file.
    #[error("the artifact {} names the file {file:?}, which is refused: {reason}", directory.display())]
    Path { directory: PathBuf, file: String, reason: String },
    /// A file is not the one that was written.
    #[error("the file {file} of the artifact {} {reason}; compile the program again, or run `pypto replay` if it was edited on purpose", directory.display())]
    Changed { directory: PathBuf, file: String, reason: String },
    /// The code is for another machine.
    #[error("the artifact {} was compiled for another machine ({found}; this is {here}): compile the program here", directory.display())]
    Machine { directory: PathBuf, found: String, here: String },
    /// A directory that is not an artifact's would be replaced.
    #[error("{} holds files that are no artifact's, such as {file}: choose an empty directory, or one of an earlier artifact", directory.display())]
    Foreign { directory: PathBuf, file: String },
}

impl ArtifactError {
    /// The operating system refused.
    pub(super) fn io(action: &'static str, path: &Path, error: &std::io::Error) -> ArtifactError {
        ArtifactError::Io { action, path: path.to_owned(), reason: error.to_string() }
    }
}
