//! Writing an artifact's directory.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::ArtifactError;
use super::executable::KernelCode;
use super::manifest::{BuildRecord, FileRecord, MANIFEST, Manifest, SCHEMA};
use super::program::CompiledProgram;
use super::record::KernelRecord;
use super::staging::Staging;
use crate::ir::Program;
use crate::ir::text::{PrintOptions, print};
use crate::staged::unique;

/// Files that tell how the artifact was made: dumps, listings, reports. Paths are relative, with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Companions {
    pub files: Vec<(String, Vec<u8>)>,
    /// How the program was compiled; where it is not known, programs are written with places in the source.
    pub build: Option<BuildRecord>,
}

impl CompiledProgram {
    /// Writes the artifact into a directory: made where missing, replaced where it holds an earlier artifact. Others see the
    /// old one or the new one. Gives the handle of what was written.
    ///
    /// # Errors
    /// A directory that holds other files, or that cannot be written; nothing changed then.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<CompiledProgram, ArtifactError> {
        self.save_with(directory.as_ref(), &Companions::default())
    }

    /// As [`CompiledProgram::save`], with more files.
    ///
    /// # Errors
    /// As [`CompiledProgram::save`].
    pub(crate) fn save_with(
        &self,
        directory: &Path,
        companions: &Companions,
    ) -> Result<CompiledProgram, ArtifactError> {
        let staging = Staging::beside(directory)?;
        let mut files = Files { staging: &staging, records: Vec::new() };
        let print_options = PrintOptions { locations: companions.build.is_none_or(|build| build.places) };
        let text = |program: &Program| print(program, print_options).into_bytes();
        let source = self.program().map(|_| "ir/program.ir".to_owned());
        if let (Some(path), Some(program)) = (&source, self.program()) {
            files.add(path, &text(program))?;
        }
        files.add("ir/lowered.ir", &text(&self.executable().program))?;
        let mut kernels = Vec::new();
        for (index, kernel) in self.executable().kernels.iter().enumerate() {
            let object = match &kernel.code {
                KernelCode::Object { bytes, .. } => {
                    let path = format!("{}.o", kernel_stem(index, &kernel.name));
                    files.add(&path, bytes)?;
                    Some(path)
                }
                KernelCode::Interpreted => None,
            };
            kernels.push(KernelRecord::of(kernel, object));
        }
        for (path, bytes) in &companions.files {
            files.add(path, bytes)?;
        }
        files.add_script(RUN_SCRIPT, SCRIPT)?;
        let mut records = files.records;
        records.sort_by(|a, b| a.path.cmp(&b.path));
        let manifest = Manifest {
            schema: SCHEMA,
            compiler: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.name().to_owned(),
            platform: self.platform(),
            machine: self.machine().to_owned(),
            build: companions.build,
            params: self.params().to_vec(),
            orchestrations: self.orchestration_names().into_iter().map(str::to_owned).collect(),
            source,
            program: "ir/lowered.ir".to_owned(),
            kernels,
            files: records,
            seal: String::new(),
        };
        let text = serde_json::to_string_pretty(&manifest.sealed())
            .map_err(|e| ArtifactError::Manifest { path: directory.join(MANIFEST), reason: e.to_string() })?;
        staging.write(MANIFEST, text.as_bytes())?;
        let written = staging.publish()?;
        Ok(self.clone().at(written))
    }
}

/// The file that runs an artifact again.
pub const RUN_SCRIPT: &str = "debug/run.sh";

const SCRIPT: &str = r#"#!/bin/sh
# Runs this artifact again: with the inputs that were saved (`--save-inputs`) or recorded (`--dump-args`) in it, else with
# generated ones. Files that were edited are rebuilt first. Arguments are those of `pypto replay`: see `pypto replay --help`.
# PYPTO names the command where it is not on the path.
directory=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 3
exec "${PYPTO:-pypto}" replay "$directory" "$@"
"#;

/// The path of a kernel's files, without the extension. Names of functions may be any text.
pub fn kernel_stem(index: usize, name: &str) -> String {
    format!("kernels/{}", numbered(index, name))
}

/// A file name for a function of any name.
pub(super) fn numbered(index: usize, name: &str) -> String {
    format!("{index:02}_{}", plain(name))
}

fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name.chars().take(60).map(plain).collect()
}

/// A directory of its own below `root`: the program's name, the time, and what keeps processes apart.
pub fn new_directory(root: &Path, program: &str) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    root.join(format!("{}_{}_{}", plain(program), utc(seconds), unique()))
}

/// `20261129_173000` for seconds since 1970, in UTC.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years start in March here, so that the day of a leap year comes last; 719468 days from 0000-03-01 to 1970-01-01.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}_{:02}{:02}{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// The files written so far.
struct Files<'a> {
    staging: &'a Staging,
    records: Vec<FileRecord>,
}

impl Files<'_> {
    fn add(&mut self, path: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.staging.write(path, bytes)?;
        self.record(path, bytes);
        Ok(())
    }

    fn add_script(&mut self, path: &str, text: &str) -> Result<(), ArtifactError> {
        self.staging.write_script(path, text)?;
        self.record(path, text.as_bytes());
        Ok(())
    }

    fn record(&mut self, path: &str, bytes: &[u8]) {
        let blake3 = blake3::hash(bytes).to_hex().to_string();
        self.records.push(FileRecord { path: path.to_owned(), bytes: bytes.len() as u64, blake3 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        assert_eq!(utc(0), "19700101_000000");
        assert_eq!(utc(951_782_399), "20000228_235959");
        assert_eq!(utc(951_782_400), "20000229_000000");
        assert_eq!(utc(1_795_973_400), "20261129_173000");
    }

    #[test]
    fn names_of_directories_and_kernels_are_plain() {
        assert_eq!(kernel_stem(3, "../a b"), "kernels/03____a_b");
        let (a, b) = (new_directory(Path::new("r"), "p/q"), new_directory(Path::new("r"), "p/q"));
        assert!(a != b && a.starts_with("r") && a.components().count() == 2, "{}", a.display());
    }
}
