//! Programs that calls may start at in several places: an artifact for each, in one directory.
//!
//! ```text
//! entries.json           the names and where each lies, with the hash of its manifest
//! entries/NN_name/       an artifact like any other
//! ```

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ArtifactError;
use super::load::{read_manifest, read_versioned};
use super::manifest::check_path;
use super::program::CompiledProgram;
use super::save::numbered;
use super::staging::Staging;

/// Name of the file.
pub const ENTRIES: &str = "entries.json";
/// The directory of the artifacts.
pub const DIRECTORY: &str = "entries";
/// The version of the format. Readers refuse every other.
const SCHEMA: u32 = 1;
/// Largest file of names that is read.
const MAX_BYTES: u64 = 16 << 20;

/// A program with several entries, each compiled.
#[derive(Clone, Debug)]
pub struct CompiledEntries {
    name: String,
    entries: Vec<CompiledProgram>,
    output_dir: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    schema: u32,
    name: String,
    entries: Vec<Record>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    /// Relative, with `/`.
    directory: String,
    /// What the artifact's manifest is sealed with: it is the one that was built with the others.
    seal: String,
}

impl CompiledEntries {
    /// The entries of what was just built.
    pub(crate) fn of_build(name: &str, entries: Vec<CompiledProgram>) -> CompiledEntries {
        CompiledEntries { name: name.to_owned(), entries, output_dir: None }
    }

    /// The entries that lie in a directory; checked as by [`CompiledProgram::from_dir`].
    ///
    /// # Errors
    /// A directory without entries, of another version, damaged, edited, or made to harm.
    pub fn from_dir(directory: impl AsRef<Path>) -> Result<CompiledEntries, ArtifactError> {
        let directory = directory.as_ref();
        let Index { name, entries, .. } = read_index(directory)?;
        let read = |Record { name, directory: below, seal }: &Record| {
            let place = directory.join(below);
            refuse_links(directory, below)?;
            if read_manifest(&place)?.content_hash() != seal {
                let reason = "is of another build than the other entries".to_owned();
                return Err(ArtifactError::Changed { directory: directory.to_owned(), file: below.clone(), reason });
            }
            let program = CompiledProgram::from_dir(&place)?;
            if program.entry().name != *name {
                return Err(damaged(directory, format!("the entry `{name}` is `{}` there", program.entry().name)));
            }
            Ok(program)
        };
        let entries = entries.iter().map(read).collect::<Result<_, _>>()?;
        let place = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        Ok(CompiledEntries { name, entries, output_dir: Some(place) })
    }

    /// The program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the entries in order.
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.entry().name.as_str()).collect()
    }

    /// The entry of that name, to call, to register with a worker, to measure.
    pub fn get(&self, name: &str) -> Option<&CompiledProgram> {
        self.entries.iter().find(|entry| entry.entry().name == name)
    }

    /// Every entry in order.
    pub fn iter(&self) -> impl Iterator<Item = &CompiledProgram> {
        self.entries.iter()
    }

    /// Where they lie on disk, if they were written or read.
    pub fn output_dir(&self) -> Option<&Path> {
        self.output_dir.as_deref()
    }
}

/// Writes entries beside their directory until all are there.
pub(crate) struct EntriesWriter {
    staging: Staging,
}

impl EntriesWriter {
    /// For this directory.
    ///
    /// # Errors
    /// A directory that holds other files, or that cannot be written.
    pub(crate) fn beside(target: &Path) -> Result<EntriesWriter, ArtifactError> {
        Ok(EntriesWriter { staging: Staging::beside(target)? })
    }

    /// Where the artifact of an entry goes until then.
    pub(crate) fn entry_directory(&self, index: usize, name: &str) -> PathBuf {
        self.staging.path().join(place(index, name))
    }

    /// Puts everything in its place. The entries are those whose artifacts were written, in order.
    ///
    /// # Errors
    /// What the operating system refuses; the directory is as it was.
    pub(crate) fn publish(self, name: &str, entries: Vec<CompiledProgram>) -> Result<CompiledEntries, ArtifactError> {
        let mut records = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let (name, directory) = (entry.entry().name.clone(), place(index, &entry.entry().name));
            let seal = read_manifest(&self.staging.path().join(&directory))?.content_hash().to_owned();
            records.push(Record { name, directory, seal });
        }
        let index = Index { schema: SCHEMA, name: name.to_owned(), entries: records };
        let text = serde_json::to_string_pretty(&index).map_err(|e| damaged(self.staging.path(), e.to_string()))?;
        self.staging.write(ENTRIES, text.as_bytes())?;
        let written = self.staging.publish()?;
        let moved = index.entries.iter().zip(entries).map(|(record, entry)| entry.at(written.join(&record.directory)));
        Ok(CompiledEntries { name: index.name.clone(), entries: moved.collect(), output_dir: Some(written) })
    }
}

/// Names of the entries of a directory, if it has several.
pub(super) fn names(directory: &Path) -> Option<Vec<String>> {
    Some(read_index(directory).ok()?.entries.into_iter().map(|entry| entry.directory).collect())
}

fn place(index: usize, name: &str) -> String {
    format!("{DIRECTORY}/{}", numbered(index, name))
}

fn damaged(directory: &Path, reason: String) -> ArtifactError {
    ArtifactError::Manifest { path: directory.join(ENTRIES), reason }
}

fn read_index(directory: &Path) -> Result<Index, ArtifactError> {
    let Some(index) = read_versioned::<Index>(&directory.join(ENTRIES), SCHEMA, MAX_BYTES)? else {
        return Err(ArtifactError::NoEntries(directory.to_owned()));
    };
    let refused = |record: &Record, reason: &str| ArtifactError::Path {
        directory: directory.to_owned(),
        file: record.directory.clone(),
        reason: reason.to_owned(),
    };
    for (number, record) in index.entries.iter().enumerate() {
        check_path(&record.directory).map_err(|reason| refused(record, reason))?;
        if index.entries[..number].iter().any(|other| other.name == record.name) {
            return Err(damaged(directory, format!("it names `{}` twice", record.name)));
        }
    }
    Ok(index)
}

/// Refuses an entry that a link leads to.
fn refuse_links(directory: &Path, below: &str) -> Result<(), ArtifactError> {
    let mut path = directory.to_owned();
    for part in below.split('/') {
        path.push(part);
        if std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
            let (directory, file) = (directory.to_owned(), below.to_owned());
            return Err(ArtifactError::Path { directory, file, reason: "a link is on the way to it".to_owned() });
        }
    }
    Ok(())
}
