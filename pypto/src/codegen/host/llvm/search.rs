//! Where a libLLVM may be found.
//!
//! `PYPTO_LLVM` decides alone when set. Otherwise the Rust toolchains come first, because whoever compiles this crate usually has one and
//! its LLVM is the fastest to open; then the system's libraries, the newest first. Asking `rustc` for its sysroot takes 90 ms, so it is
//! asked only when the usual directories hold no toolchain.

use std::path::{Path, PathBuf};

use crate::config::environment::{Environment, system_path, system_text};

/// Environment variable with the path of the library to use.
pub const ENV: &str = "PYPTO_LLVM";

/// Oldest version that reads opaque pointers.
pub const MINIMUM_VERSION: u32 = 15;

/// Versions looked for by name, the newest first.
const NAMED_VERSIONS: std::ops::RangeInclusive<u32> = MINIMUM_VERSION..=30;

/// One place that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Path, or bare name that the dynamic loader resolves.
    pub path: PathBuf,
    /// Why it was rejected; `None` for the one in use.
    pub rejected: Option<String>,
}

/// What the search tried, in order, and which library it chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchReport {
    /// Candidates up to and with the chosen one.
    pub tried: Vec<Candidate>,
    /// The chosen library.
    pub chosen: Option<PathBuf>,
    /// Its version, when found.
    pub version: Option<(u32, u32, u32)>,
}

/// Tries candidates in order until `open` accepts one; `open` gives its version and a library of the caller's kind.
pub(super) fn search<T>(open: impl Fn(&Path) -> Result<(T, (u32, u32, u32)), String>) -> (Option<T>, SearchReport) {
    let mut report = SearchReport::default();
    for group in groups() {
        for path in group() {
            let rejected = match open(&path) {
                Ok((library, version)) => {
                    report.tried.push(Candidate { path: path.clone(), rejected: None });
                    (report.chosen, report.version) = (Some(path), Some(version));
                    return (Some(library), report);
                }
                Err(reason) => Some(reason),
            };
            report.tried.push(Candidate { path, rejected });
        }
    }
    (None, report)
}

type Group = fn() -> Vec<PathBuf>;

fn groups() -> Vec<Group> {
    match Environment::process_or_default().llvm {
        Some(_) => vec![|| Environment::process_or_default().llvm.clone().into_iter().collect()],
        None => vec![toolchains, rustc_sysroot, system_directories, system_names],
    }
}

/// LLVM libraries of the installed Rust toolchains: that of the build and of the environment first, then the newest version.
fn toolchains() -> Vec<PathBuf> {
    let home = system_path("RUSTUP_HOME").or_else(|| system_path("HOME").map(|home| home.join(".rustup")));
    let Some(home) = home else { return Vec::new() };
    let mut names = entries(&home.join("toolchains"));
    let preferred = [option_env!("RUSTUP_TOOLCHAIN").map(String::from), system_text("RUSTUP_TOOLCHAIN")];
    names.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let rank = preferred.iter().position(|p| p.as_deref() == Some(name.as_str())).unwrap_or(preferred.len());
        (rank, std::cmp::Reverse(version_number(&name)), name)
    });
    names.iter().flat_map(|toolchain| libraries(&toolchain.join("lib"))).collect()
}

/// Major, minor and patch of `1.95.0-x86_64-..`; channel names count as oldest, because a pinned version is a deliberate choice.
fn version_number(name: &str) -> [u32; 3] {
    let mut parts = name.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

fn rustc_sysroot() -> Vec<PathBuf> {
    if !toolchains().is_empty() {
        return Vec::new();
    }
    let rustc = system_path("RUSTC").unwrap_or_else(|| "rustc".into());
    match std::process::Command::new(rustc).args(["--print", "sysroot"]).output() {
        Ok(output) => libraries(&Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("lib")),
        Err(_) => Vec::new(),
    }
}

fn system_directories() -> Vec<PathBuf> {
    let directories = NAMED_VERSIONS.rev().map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/lib")));
    directories.flat_map(|directory| libraries(&directory)).collect()
}

fn system_names() -> Vec<PathBuf> {
    let names = |version: u32| {
        [format!("libLLVM.so.{version}.1"), format!("libLLVM-{version}.so"), format!("libLLVM.so.{version}")]
    };
    NAMED_VERSIONS.rev().flat_map(names).map(PathBuf::from).collect()
}

/// Files of the directory that are named like an LLVM library, each underlying file once.
fn libraries(directory: &Path) -> Vec<PathBuf> {
    let is_llvm = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let versioned = name.starts_with("libLLVM.so") || (name.starts_with("libLLVM-") && name.contains(".so"));
        // rustup installs a linker script of a few bytes beside the library.
        versioned && std::fs::metadata(path).is_ok_and(|m| m.len() > 4096)
    };
    let mut found: Vec<PathBuf> = entries(directory).into_iter().filter(is_llvm).collect();
    found.dedup_by_key(|path| path.canonicalize().ok());
    found
}

/// Entries in name order; empty when the directory cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = read.collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchain_versions_order() {
        assert!(version_number("1.95.0-x86_64-unknown-linux-gnu") > version_number("1.88.0-x86_64-unknown-linux-gnu"));
        assert!(version_number("1.88.0-x86_64-unknown-linux-gnu") > version_number("nightly-x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn rejections_are_reported_in_order() {
        let (none, report) = search::<()>(|path| Err(format!("no {}", path.display())));
        assert!(none.is_none() && report.chosen.is_none());
        assert!(report.tried.iter().all(|c| c.rejected.as_deref().is_some_and(|r| r.starts_with("no "))));
        let (some, report) = search(|_| Ok(((), (20, 1, 0))));
        assert!(some.is_some());
        assert_eq!((report.tried.len(), report.version), (1, Some((20, 1, 0))));
    }
}
