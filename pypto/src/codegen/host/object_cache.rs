//! A cache of bytes on disk, addressed by hash: compiled objects, and whatever else is expensive to make again.
//!
//! Nothing here is ever fatal: what cannot be read is a miss, what cannot be written is forgotten. An entry carries its length and checksum;
//! one that does not fit them is removed and counts as a miss. Entries are written to a temporary file and renamed into place, so processes
//! may share a directory. Since entries become machine code, a directory that others may write to is not used.
//!
//! `PYPTO_CACHE=off` disables it, `PYPTO_CACHE_DIR` names the directory (otherwise `pypto` in the user's cache directory).

use crate::config::environment::Environment;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

/// Address of an entry.
pub type Key = blake3::Hash;

const MAGIC: &[u8; 8] = b"PYPTOBIN";
const FORMAT: u32 = 1;
/// Magic, format, length, checksum.
const HEADER: usize = 8 + 4 + 8 + 32;
/// Default limit of the directory's size.
pub const DEFAULT_LIMIT: u64 = 1 << 30;
/// Entries used within this time are not marked as used again.
const MARK_INTERVAL: Duration = Duration::from_secs(3600);

/// Hashes parts so that no two lists of parts give the same text to hash.
pub fn key(parts: &[&[u8]]) -> Key {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

/// Counts since the cache was opened.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Entries found.
    pub hits: u64,
    /// Entries not found.
    pub misses: u64,
    /// Entries removed because they were damaged.
    pub damaged: u64,
    /// Entries written.
    pub writes: u64,
    /// Entries that could not be written.
    pub failures: u64,
}

/// A directory of entries; without a directory it holds nothing.
#[derive(Debug)]
pub struct ObjectCache {
    directory: Option<PathBuf>,
    limit: u64,
    hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    writes: AtomicU64,
    failures: AtomicU64,
    /// Bytes written since the last look at the directory's size; starts high so that the first write looks.
    unchecked: AtomicU64,
}

/// The process-wide cache that the environment describes.
pub fn object_cache() -> &'static ObjectCache {
    static CACHE: OnceLock<ObjectCache> = OnceLock::new();
    CACHE.get_or_init(|| ObjectCache::new(Environment::process_or_default().cache_directory(), DEFAULT_LIMIT))
}

impl ObjectCache {
    /// A cache in that directory, which is made when first needed, of about `limit` bytes. `None` disables it.
    pub fn new(directory: Option<PathBuf>, limit: u64) -> ObjectCache {
        ObjectCache {
            directory,
            limit,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            unchecked: AtomicU64::new(u64::MAX / 2),
        }
    }

    /// Where entries are, if the cache is enabled.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The counts so far.
    #[cfg(test)]
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            damaged: self.damaged.load(Relaxed),
            writes: self.writes.load(Relaxed),
            failures: self.failures.load(Relaxed),
        }
    }

    /// The bytes stored under the key.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let found = self.path(key).and_then(|path| self.read(key, &path));
        if found.is_some() { &self.hits } else { &self.misses }.fetch_add(1, Relaxed);
        found
    }

    fn read(&self, key: &Key, path: &Path) -> Option<Vec<u8>> {
        if !is_private(path.parent()?) {
            return None;
        }
        let mut bytes = fs::read(path).ok()?;
        if !is_intact(key, &bytes) {
            self.damaged.fetch_add(1, Relaxed);
            let _ = fs::remove_file(path);
            return None;
        }
        mark_used(path);
        bytes.drain(..HEADER);
        Some(bytes)
    }

    /// Stores bytes under the key.
    pub fn put(&self, key: &Key, bytes: &[u8]) {
        let Some(path) = self.path(key) else { return };
        match write(key, &path, bytes) {
            Ok(()) => self.writes.fetch_add(1, Relaxed),
            Err(_) => self.failures.fetch_add(1, Relaxed),
        };
        let written = (HEADER + bytes.len()) as u64;
        if self.unchecked.fetch_add(written, Relaxed).saturating_add(written) > self.limit / 16 {
            self.unchecked.store(0, Relaxed);
            self.evict();
        }
    }

    /// `<directory>/<first two digits>/<the others>`, so that directories stay small.
    fn path(&self, key: &Key) -> Option<PathBuf> {
        let name = key.to_hex();
        Some(self.directory.as_ref()?.join(&name[..2]).join(&name[2..]))
    }

    /// Removes the entries that were not used for longest until three quarters of the limit are left.
    fn evict(&self) {
        let Some(directory) = &self.directory else { return };
        let mut files = files(directory);
        let mut total: u64 = files.iter().map(|f| f.size).sum();
        if total <= self.limit {
            return;
        }
        files.sort_by_key(|f| f.used);
        for file in files {
            if total <= self.limit / 4 * 3 {
                break;
            }
            if fs::remove_file(&file.path).is_ok() {
                total -= file.size;
            }
        }
    }
}

struct File {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

/// The files one level below the directory. Only names that the cache itself gives are listed, so that nothing else is ever removed.
fn files(directory: &Path) -> Vec<File> {
    let list = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().collect::<Vec<_>>();
    let is_hex =
        |name: &std::ffi::OsStr| name.to_str().is_some_and(|n| n.bytes().all(|b| b.is_ascii_hexdigit() || b == b'.'));
    let groups = list(directory).into_iter().filter(|g| g.file_name().len() == 2 && is_hex(&g.file_name()));
    let entries =
        groups.flat_map(|group| list(&group.path())).filter(|e| e.file_name().len() >= 62 && is_hex(&e.file_name()));
    entries
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            metadata.is_file().then(|| File { path: entry.path(), size: metadata.len(), used })
        })
        .collect()
}

/// The checksum also covers the key: an entry under a wrong name is as damaged as one with wrong bytes.
fn checksum(key: &Key, bytes: &[u8]) -> Key {
    self::key(&[key.as_bytes(), bytes])
}

fn is_intact(key: &Key, bytes: &[u8]) -> bool {
    let Some((header, body)) = bytes.split_at_checked(HEADER) else { return false };
    header[..8] == MAGIC[..]
        && header[8..12] == FORMAT.to_le_bytes()
        && header[12..20] == (body.len() as u64).to_le_bytes()
        && header[20..] == checksum(key, body).as_bytes()[..]
}

fn write(key: &Key, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private(directory)?;
    if !is_private(directory) {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    // Named apart by process and count, in hexadecimal like the entries: a crash leaves a file that eviction finds.
    let suffix = format!(".{:x}.{:x}", std::process::id(), COUNTER.fetch_add(1, Relaxed));
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(suffix);
    let temporary = PathBuf::from(temporary);
    let fill = || {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(MAGIC)?;
        file.write_all(&FORMAT.to_le_bytes())?;
        file.write_all(&(bytes.len() as u64).to_le_bytes())?;
        file.write_all(checksum(key, bytes).as_bytes())?;
        file.write_all(bytes)
    };
    let done = fill().and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// Renews the time by which entries are kept.
fn mark_used(path: &Path) {
    let now = SystemTime::now();
    let old = fs::metadata(path)
        .and_then(|m| m.modified())
        .is_ok_and(|t| now.duration_since(t).is_ok_and(|age| age > MARK_INTERVAL));
    if old {
        let _ = fs::File::options().write(true).open(path).and_then(|file| file.set_modified(now));
    }
}

#[cfg(unix)]
fn create_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(not(unix))]
fn create_private(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)
}

/// Whether only this user (or root) can put files there.
#[cfg(unix)]
fn is_private(directory: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    fs::metadata(directory).is_ok_and(|m| (m.uid() == user || m.uid() == 0) && m.mode() & 0o002 == 0)
}

#[cfg(not(unix))]
fn is_private(directory: &Path) -> bool {
    directory.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fresh directory, removed at the end.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let path = std::env::temp_dir().join(format!("pypto-cache-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Place(path)
        }

        fn cache(&self, limit: u64) -> ObjectCache {
            ObjectCache::new(Some(self.0.clone()), limit)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn entries_come_back_and_survive_reopening() {
        let place = Place::new("basic");
        let cache = place.cache(DEFAULT_LIMIT);
        let (a, b) = (key(&[b"a"]), key(&[b"b"]));
        assert_eq!(cache.get(&a), None);
        cache.put(&a, b"bytes");
        cache.put(&b, b"");
        let again = place.cache(DEFAULT_LIMIT);
        assert_eq!((again.get(&a).as_deref(), again.get(&b).as_deref()), (Some(&b"bytes"[..]), Some(&b""[..])));
        assert_eq!(again.stats(), CacheStats { hits: 2, ..Default::default() });
        assert_ne!(key(&[b"ab", b"c"]), key(&[b"a", b"bc"]));
    }

    #[test]
    fn damaged_entries_are_misses_and_are_removed() {
        let place = Place::new("damaged");
        let cache = place.cache(DEFAULT_LIMIT);
        let a = key(&[b"a"]);
        let path = cache.path(&a).unwrap();
        cache.put(&a, b"some bytes");
        let good = fs::read(&path).unwrap();
        for length in [0, 7, HEADER - 1, HEADER, good.len() - 1] {
            fs::write(&path, &good[..length]).unwrap();
            assert_eq!(cache.get(&a), None);
            assert!(!path.exists());
        }
        for at in [0, 9, 13, 25, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert_eq!(cache.get(&a), None, "byte {at}");
        }
        // Bytes of another entry.
        let b = key(&[b"b"]);
        fs::create_dir_all(cache.path(&b).unwrap().parent().unwrap()).unwrap();
        fs::write(cache.path(&b).unwrap(), &good).unwrap();
        assert_eq!(cache.get(&b), None);
    }

    #[test]
    fn failures_are_silent() {
        let a = key(&[b"a"]);
        let off = ObjectCache::new(None, 0);
        off.put(&a, b"x");
        assert_eq!(off.get(&a), None);
        let blocked = ObjectCache::new(Some("/dev/null/nowhere".into()), 100);
        blocked.put(&a, b"x");
        assert_eq!((blocked.get(&a), blocked.stats().failures), (None, 1));
    }

    #[test]
    fn the_oldest_entries_go_first() {
        let place = Place::new("evict");
        let cache = place.cache(10 * 1024);
        let keys: Vec<Key> = (0..20u8).map(|i| key(&[&[i]])).collect();
        for (i, key) in keys.iter().enumerate() {
            cache.put(key, &[i as u8; 1000]);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + i as u64);
            if let Ok(file) = fs::File::options().write(true).open(cache.path(key).unwrap()) {
                file.set_modified(time).unwrap();
            }
        }
        assert!(files(&place.0).iter().map(|f| f.size).sum::<u64>() <= 10 * 1024);
        assert_eq!(cache.get(&keys[0]), None);
        assert!(cache.get(&keys[18]).is_some() && cache.get(&keys[19]).is_some());
    }

    #[test]
    fn writers_at_the_same_time_leave_a_whole_entry() {
        let place = Place::new("race");
        let cache = place.cache(DEFAULT_LIMIT);
        let a = key(&[b"a"]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| cache.put(&a, &[7; 50_000])));
            }
        });
        assert_eq!(cache.get(&a), Some(vec![7; 50_000]));
    }
}
