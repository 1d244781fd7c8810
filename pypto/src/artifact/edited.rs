//! An artifact's directory as it is now, where files may have been edited on purpose: what replays start from. The manifest is
//! sealed and trusted as ever; of every file it is known whether it is the one that was written.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::ArtifactError;
use super::executable::HostExecutable;
use super::load::{find_file, read_manifest};
use super::manifest::Manifest;
use super::parameters::ParamKind;
use crate::ir::Program;

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// A file as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentFile {
    pub bytes: Vec<u8>,
    /// Whether it is not the one that was written.
    pub edited: bool,
}

/// An artifact's directory as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct PresentArtifact {
    pub directory: PathBuf,
    pub manifest: Manifest,
    /// Every file of the manifest, by path.
    pub files: BTreeMap<String, PresentFile>,
}

/// Reads the directory.
///
/// # Errors
/// A manifest that is damaged; a file that is missing, no plain one or far too large.
pub fn read_present(directory: &Path) -> Result<PresentArtifact, ArtifactError> {
    let manifest = read_manifest(directory)?;
    let mut files = BTreeMap::new();
    for record in &manifest.files {
        let (path, length) = find_file(directory, record)?;
        if length > MAX_FILE_BYTES {
            let reason = format!("has {length} bytes, and {MAX_FILE_BYTES} is the limit");
            return Err(ArtifactError::Changed { directory: directory.to_owned(), file: record.path.clone(), reason });
        }
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path).map_err(|e| ArtifactError::io("read", &path, &e))?;
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(|e| ArtifactError::io("read", &path, &e))?;
        let edited = blake3::hash(&bytes).to_hex().as_str() != record.blake3;
        files.insert(record.path.clone(), PresentFile { bytes, edited });
    }
    Ok(PresentArtifact { directory: directory.to_owned(), manifest, files })
}

impl PresentArtifact {
    /// Paths of the files that are not those that were written, in order.
    pub fn edited(&self) -> Vec<&str> {
        self.files.iter().filter(|(_, file)| file.edited).map(|(path, _)| path.as_str()).collect()
    }

    /// Whether a file is there and the one that was written.
    pub fn is_as_written(&self, path: &str) -> bool {
        self.files.get(path).is_some_and(|file| !file.edited)
    }

    /// The bytes of a file as it is now; none for a file that the artifact does not have.
    pub fn bytes(&self, path: &str) -> &[u8] {
        self.files.get(path).map_or(&[], |file| &file.bytes)
    }

    /// A program with the host's kernels of the artifact, whose objects are as they are now.
    pub fn executable(&self, program: Program) -> HostExecutable {
        let kernels = self.manifest.kernels.iter().map(|record| {
            let object = record.object.as_ref().map_or(&[][..], |path| self.bytes(path));
            record.clone().into_kernel(object.to_vec())
        });
        HostExecutable { program, kernels: kernels.collect(), accelerator: None }
    }

    /// The bits of the scalars that the program was specialized on, by position.
    pub fn fixed_scalars(&self) -> Vec<Option<u64>> {
        let bits = |kind: &ParamKind| match kind {
            ParamKind::Scalar { fixed, .. } => *fixed,
            ParamKind::Tensor { .. } => None,
        };
        self.manifest.params.iter().map(|param| bits(&param.kind)).collect()
    }
}
