//! Writing a directory so that others see the old one, or the new one, and never a mixture.
//!
//! Files go into a directory beside the target, which takes its place in one step once everything is on disk. Writers need
//! not wait for each other: the last one wins whole. Files in the target that no artifact owns move along; what runs of the
//! old artifact left there does not.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::entries::{DIRECTORY, ENTRIES};
use super::error::ArtifactError;
use super::manifest::{MANIFEST, MAX_MANIFEST_BYTES, Manifest};
use crate::staged::{Claim, sync_directory};

/// What runs of an artifact leave in its directory: it says nothing of another build.
pub const RUN_OUTPUTS: [&str; 1] = ["dfx_outputs"];

/// Where files stand that explain how an artifact came about: nothing that runs depends on them, so nobody waits until they
/// are on disk.
const EXPLANATIONS: [&str; 2] = ["passes_dump/", "report/"];

/// How often a directory that others replace at the same time is tried.
const ATTEMPTS: usize = 100;

/// A directory under construction; removed where it is not published.
pub struct Staging {
    claim: Claim,
    target: PathBuf,
    /// Directories in it that are there, relative.
    made: RefCell<BTreeSet<PathBuf>>,
}

impl Staging {
    /// A new directory beside the target. Its parents are made where missing; what a killed process left there is removed.
    ///
    /// # Errors
    /// A target that is no directory or holds files that are no artifact's; no place to write.
    pub fn beside(target: &Path) -> Result<Staging, ArtifactError> {
        refuse_foreign(target)?;
        let target = absolute(target)?;
        let parent = target.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).map_err(|e| ArtifactError::io("make the directory", parent, &e))?;
        let claim = Claim::directory(&target).map_err(|e| ArtifactError::io("make a directory in", parent, &e))?;
        Ok(Staging { claim, target, made: RefCell::default() })
    }

    /// Where it is until it is published.
    pub fn path(&self) -> &Path {
        self.claim.path()
    }

    /// Writes a file; `path` is relative and was checked.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        let file = self.claim.path().join(path);
        let refused = |e| ArtifactError::io("write", &file, &e);
        let parent = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| !self.made.borrow().contains(*parent)) {
            std::fs::create_dir_all(self.claim.path().join(parent)).map_err(refused)?;
            self.made.borrow_mut().insert(parent.to_owned());
        }
        let mut open = std::fs::File::create(&file).map_err(refused)?;
        std::io::Write::write_all(&mut open, bytes).map_err(refused)?;
        if EXPLANATIONS.iter().any(|directory| path.starts_with(directory)) {
            return Ok(());
        }
        open.sync_all().map_err(refused)
    }

    /// Writes a file that may be executed.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn write_script(&self, path: &str, text: &str) -> Result<(), ArtifactError> {
        self.write(path, text.as_bytes())?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let file = self.claim.path().join(path);
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&file, executable).map_err(|e| ArtifactError::io("make executable", &file, &e))?;
        }
        Ok(())
    }

    /// Puts the directory in the target's place.
    ///
    /// # Errors
    /// What the operating system refuses; the target is as it was.
    pub fn publish(self) -> Result<PathBuf, ArtifactError> {
        let refused = |e| ArtifactError::io("replace", &self.target, &e);
        let directory = self.claim.path();
        keep_foreign(&self.target, directory)?;
        sync_tree(directory, &EXPLANATIONS).map_err(refused)?;
        for _ in 0..ATTEMPTS {
            match rename_new(directory, &self.target) {
                Ok(()) => return self.published(),
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(refused(error)),
            }
            match exchange(directory, &self.target) {
                // The old one is removed with the claim.
                Ok(()) => return self.published(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(refused(std::io::Error::other("others replace it all the time")))
    }

    fn published(&self) -> Result<PathBuf, ArtifactError> {
        let parent = self.target.parent().unwrap_or(Path::new("/"));
        sync_directory(parent).map_err(|e| ArtifactError::io("write", parent, &e))?;
        Ok(self.target.clone())
    }
}

/// Waits until the names in a directory and below are on disk; not in the directories of it that are `skipped`.
fn sync_tree(directory: &Path, skipped: &[&str]) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_skipped = skipped.iter().any(|skipped| Some(skipped.trim_end_matches('/')) == name.to_str());
        if entry.file_type()?.is_dir() && !is_skipped {
            sync_tree(&entry.path(), &[])?;
        }
    }
    sync_directory(directory)
}

fn absolute(path: &Path) -> Result<PathBuf, ArtifactError> {
    std::path::absolute(path).map_err(|e| ArtifactError::io("find", path, &e))
}

/// A directory may be replaced if it is empty, or an artifact's.
fn refuse_foreign(target: &Path) -> Result<(), ArtifactError> {
    match std::fs::symlink_metadata(target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ArtifactError::io("look at", target, &error)),
        Ok(metadata) if !metadata.is_dir() => {
            let error = std::io::Error::other("it is no directory; links are not followed");
            return Err(ArtifactError::io("replace", target, &error));
        }
        Ok(_) => {}
    }
    if target.join(MANIFEST).is_file() || target.join(ENTRIES).is_file() {
        return Ok(());
    }
    let entries = std::fs::read_dir(target).map_err(|e| ArtifactError::io("read", target, &e))?;
    match entries.flatten().next() {
        Some(entry) => {
            let file = entry.file_name().to_string_lossy().into_owned();
            Err(ArtifactError::Foreign { directory: target.to_owned(), file })
        }
        None => Ok(()),
    }
}

/// Copies what the old artifact does not own into the new one, unless the new one has a file of the name.
fn keep_foreign(old: &Path, new: &Path) -> Result<(), ArtifactError> {
    if old.join(ENTRIES).is_file() {
        return copy_foreign(old, new, "", &|path| path == ENTRIES || path.starts_with(&format!("{DIRECTORY}/")));
    }
    let manifest = old.join(MANIFEST);
    let small = std::fs::metadata(&manifest).is_ok_and(|m| m.len() <= MAX_MANIFEST_BYTES);
    let owned: Vec<String> = match std::fs::read(&manifest).ok().filter(|_| small) {
        Some(bytes) => match serde_json::from_slice::<Manifest>(&bytes) {
            Ok(manifest) => manifest.files.into_iter().map(|file| file.path).collect(),
            // Whose the files of a damaged artifact are cannot be told: they go with it.
            Err(_) => return Ok(()),
        },
        None => return Ok(()),
    };
    copy_foreign(old, new, "", &|path| path == MANIFEST || owned.iter().any(|file| file == path))
}

fn copy_foreign(old: &Path, new: &Path, below: &str, owned: &dyn Fn(&str) -> bool) -> Result<(), ArtifactError> {
    let refused = |e| ArtifactError::io("keep", old, &e);
    for entry in std::fs::read_dir(old.join(below)).map_err(refused)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(refused)?;
        if RUN_OUTPUTS.contains(&path.as_str()) {
            continue;
        }
        if kind.is_dir() {
            copy_foreign(old, new, &path, owned)?;
        } else if kind.is_file() && !owned(&path) && !new.join(&path).exists() {
            let to = new.join(&path);
            if let Some(parent) = to.parent() {
                std::fs::create_dir_all(parent).map_err(refused)?;
            }
            std::fs::hard_link(entry.path(), &to)
                .or_else(|_| std::fs::copy(entry.path(), &to).map(drop))
                .map_err(refused)?;
        }
    }
    Ok(())
}

fn is_taken(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty)
}

/// Renames a directory to a name that is free, or that an empty directory has.
fn rename_new(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::rename(from, to)
}

/// Exchanges two directories in one step.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

/// Moves the old directory away and the new one in: for a moment there is none.
#[cfg(not(target_os = "linux"))]
fn exchange(new: &Path, target: &Path) -> std::io::Result<()> {
    let aside = new.with_extension("old");
    std::fs::rename(target, &aside)?;
    std::fs::rename(new, target)?;
    std::fs::rename(&aside, new)
}
