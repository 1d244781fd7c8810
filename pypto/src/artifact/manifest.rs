//! `manifest.json`: what an artifact's directory holds.
//!
//! It lists every file that belongs to the artifact with its size and hash, and is sealed with a hash of itself: nothing of a
//! directory is used that is not the very file that was written. The hashes find damage and edits; they are no signature,
//! so code of a directory is to be trusted as far as those are who may write it.

use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::parameters::ParamInfo;
use super::record::KernelRecord;
use crate::config::{OptimizationStrategy, Platform};

/// The version of the format. Readers refuse every other.
pub const SCHEMA: u32 = 1;

/// Name of the file.
pub const MANIFEST: &str = "manifest.json";

/// Largest manifest that is read.
pub const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// Most bytes of all files together.
pub const MAX_TOTAL_BYTES: u64 = 4 << 30;

/// Longest path of a file.
const MAX_PATH: usize = 400;

/// The contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub schema: u32,
    /// Version of the compiler.
    pub compiler: String,
    pub name: String,
    pub platform: Platform,
    /// The machine that objects are for; `interpreter` where there are none.
    pub machine: String,
    /// How it was compiled, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildRecord>,
    pub params: Vec<ParamInfo>,
    /// Functions that a call may start at.
    pub orchestrations: Vec<String>,
    /// File of the program before the passes, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// File of the program after the passes.
    pub program: String,
    pub kernels: Vec<KernelRecord>,
    /// Every file of the artifact but this one, in order of paths.
    pub files: Vec<FileRecord>,
    /// Hash of the manifest with this field empty.
    pub seal: String,
}

/// What decides which code a program becomes, beside the platform: replays compile so again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildRecord {
    pub strategy: OptimizationStrategy,
    /// Threads that work was cut for.
    pub threads: usize,
    /// Whether programs are written with places in the source.
    pub places: bool,
}

/// A file of the artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRecord {
    /// Relative to the directory, with `/` between its parts.
    pub path: String,
    pub bytes: u64,
    pub blake3: String,
}

impl Manifest {
    /// With the seal that its contents have.
    pub fn sealed(mut self) -> Manifest {
        self.seal = self.computed_seal();
        self
    }

    /// Whether the seal is that of the contents.
    pub fn is_intact(&self) -> bool {
        self.seal == self.computed_seal()
    }

    fn computed_seal(&self) -> String {
        let unsealed = Manifest { seal: String::new(), ..self.clone() };
        // Plain data with text keys always has a text.
        let text = serde_json::to_string(&unsealed).unwrap_or_default();
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// A hash that names the build: equal builds of equal programs by equal compilers have equal ones.
    pub fn content_hash(&self) -> &str {
        &self.seal
    }

    /// The record of a file.
    pub fn file(&self, path: &str) -> Option<&FileRecord> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Paths that the manifest refers to without listing them, and paths that leave the directory.
    ///
    /// # Errors
    /// The first wrong path, and what is wrong.
    pub fn check_paths(&self) -> Result<(), (String, String)> {
        for (index, file) in self.files.iter().enumerate() {
            let refuse = |reason: &str| Err((file.path.clone(), reason.to_owned()));
            if let Err(reason) = check_path(&file.path) {
                return refuse(reason);
            }
            if self.files[..index].iter().any(|other| other.path == file.path) {
                return refuse("it is listed twice");
            }
        }
        let objects = self.kernels.iter().filter_map(|kernel| kernel.object.as_ref());
        let named = self.source.iter().chain([&self.program]).chain(objects);
        match named.into_iter().find(|path| self.file(path).is_none()) {
            Some(path) => Err((path.clone(), "it is not among the files of the artifact".to_owned())),
            None => Ok(()),
        }
    }
}

/// Whether a path stays inside the directory.
///
/// # Errors
/// What is wrong with it.
pub fn check_path(path: &str) -> Result<(), &'static str> {
    if path.is_empty() || path.len() > MAX_PATH || path == MANIFEST {
        return Err("no such path is ever written");
    }
    if path.contains(['\\', '\0']) || path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return Err("it leaves the directory");
    }
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if plain { Ok(()) } else { Err("it leaves the directory") }
}
