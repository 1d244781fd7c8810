//! Files and directories that appear whole or not at all, also after a kill or a power cut.
//!
//! What is made lies under a hidden name beside its target until it is complete and on disk; then it takes the target's
//! place in one step. Its maker holds a lock on it meanwhile, which ends with the process, however that ends. So what
//! lies under such a name without a lock is a leftover, and whoever makes the next thing for the same target removes it.
//! Where the file system has no such locks nothing is removed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How often a name is chosen before giving up: one is lost where another process takes it for a leftover just before it
/// is locked.
const ATTEMPTS: usize = 100;

/// A hidden name beside a target, with a file or a directory under it that is this value's alone. Dropping the value removes
/// what lies there then.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// Open for as long as the name is claimed; the lock is on it.
    file: File,
}

impl Claim {
    /// An empty directory beside the target, whose parent is there.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn directory(target: &Path) -> io::Result<Claim> {
        claim(target, |path| {
            fs::create_dir(path)?;
            match File::open(path) {
                // Taken for a leftover before it was open.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                opened => opened.map(Some),
            }
        })
    }

    /// An empty file beside the target, whose parent is there.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn file(target: &Path) -> io::Result<Claim> {
        claim(target, |path| File::create_new(path).map(Some))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // After publishing there is what was replaced, or nothing; a failure leaves a leftover and no harm.
        remove(&self.path);
    }
}

/// Writes a file whole, on disk, or not at all.
///
/// # Errors
/// What the operating system refuses; the file is as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut claim = Claim::file(path)?;
    claim.file.write_all(bytes)?;
    claim.file.sync_all()?;
    fs::rename(claim.path(), path)?;
    sync_directory(parent(path))
}

/// Waits until the names in a directory are on disk.
///
/// # Errors
/// What the operating system refuses.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    // Elsewhere directories cannot be opened, and their names need no waiting.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Distinct in this process, and from every process at the same time.
pub fn unique() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    format!("{:x}-{:x}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What hidden names of a target begin with.
fn prefix(target: &Path) -> String {
    format!(".{}.pypto-", target.file_name().unwrap_or_default().to_string_lossy())
}

fn claim(target: &Path, make: impl Fn(&Path) -> io::Result<Option<File>>) -> io::Result<Claim> {
    sweep(target);
    for _ in 0..ATTEMPTS {
        // The time keeps names apart from those of an earlier process with the same number.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let path = parent(target).join(format!("{}{}-{now:x}", prefix(target), unique()));
        if let Some(file) = make(&path)?
            && lock(&file) != Lock::Others
            && is_at(&file, &path)
        {
            return Ok(Claim { path, file });
        }
    }
    Err(io::Error::other("others take every hidden name at once"))
}

/// Removes what killed processes left for the target.
fn sweep(target: &Path) {
    let prefix = prefix(target);
    let entries = fs::read_dir(parent(target)).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)) {
        let path = entry.path();
        // Links are never followed: nobody of us makes any.
        let plain = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file());
        let Some(file) = plain.then(|| File::open(&path).ok()).flatten() else { continue };
        if lock(&file) == Lock::Own && is_at(&file, &path) {
            remove(&path);
        }
    }
}

fn remove(path: &Path) {
    // Whatever cannot be removed is tried again by the next one.
    let _ = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
}

/// Whose the lock of a file is.
#[derive(PartialEq, Eq)]
enum Lock {
    Own,
    Others,
    /// There are no locks.
    None,
}

#[cfg(target_os = "linux")]
fn lock(file: &File) -> Lock {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Lock::Own,
        Err(rustix::io::Errno::WOULDBLOCK) => Lock::Others,
        Err(_) => Lock::None,
    }
}

#[cfg(not(target_os = "linux"))]
fn lock(_: &File) -> Lock {
    Lock::None
}

/// Whether the open file is the one at the path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (open, there) = (file.metadata().map(of), fs::symlink_metadata(path).map(of));
    matches!((open, there), (Ok(open), Ok(there)) if open == there)
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_whole_and_leaves_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("a");
        write_whole(&target, b"one").unwrap();
        write_whole(&target, b"two").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"two");
        let missing = write_whole(&place.path().join("missing/a"), b"").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_eq!(Claim::directory(&place.path().join("missing/a")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(names(place.path()), ["a"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn leftovers_of_the_target_are_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("a");
        let others = [".a.backup", ".ab.pypto-1-0-0", ".b.pypto-1-0-0"];
        for name in [".a.pypto-1-0-0", others[0], others[1], others[2]] {
            fs::create_dir_all(place.path().join(name).join("kernels")).unwrap();
        }
        fs::write(place.path().join(".a.pypto-1-1-0"), "cut o").unwrap();
        std::os::unix::fs::symlink(place.path().join(others[0]), place.path().join(".a.pypto-1-2-0")).unwrap();
        // One that is being made stays.
        let running = Claim::directory(&target).unwrap();
        write_whole(&target, b"whole").unwrap();
        let running_name = running.path().file_name().unwrap().to_string_lossy().into_owned();
        let mut expected = vec![others[0], ".a.pypto-1-2-0", &running_name, others[1], others[2], "a"];
        expected.sort_unstable();
        assert_eq!(names(place.path()), expected);
        assert!(place.path().join(others[0]).join("kernels").is_dir());
        drop(running);
        assert_eq!(names(place.path()).len(), expected.len() - 1);
    }
}
