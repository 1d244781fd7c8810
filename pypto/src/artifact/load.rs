//! Reading an artifact's directory. Nothing in it is trusted: every file is checked before anything is made of it, and what
//! was checked is what is used.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::error::ArtifactError;
use super::executable::{Accelerator, HostExecutable};
use super::manifest::{FileRecord, MANIFEST, MAX_MANIFEST_BYTES, MAX_TOTAL_BYTES, Manifest, SCHEMA};
use super::parameters::{ParamInfo, ParamKind, parameters};
use super::program::CompiledProgram;
use crate::codegen::ascend;
use crate::config::Platform;
use crate::diagnostics::Diagnostics;
use crate::ir::text::parse;
use crate::ir::{Program, verify};

/// How often a directory that is replaced while it is read is read again.
const ATTEMPTS: usize = 5;

impl CompiledProgram {
    /// The artifact that lies in a directory. Reads and checks every file; compiles nothing, needs no LLVM, writes nothing.
    ///
    /// # Errors
    /// A directory that is no artifact, of another version, damaged, edited, or made to harm.
    pub fn from_dir(directory: impl AsRef<Path>) -> Result<CompiledProgram, ArtifactError> {
        let directory = directory.as_ref();
        let mut attempt = 1;
        loop {
            let before = read_manifest(directory)?;
            match read(directory, before.clone()) {
                // Another process may have put a new artifact in place in between.
                Err(_) if attempt < ATTEMPTS && read_manifest(directory).is_ok_and(|now| now != before) => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    /// The program as it was before the passes; for an artifact that was read, its saved text. `None` where none was saved.
    /// From then on [`CompiledProgram::program`] gives it, too.
    ///
    /// # Errors
    /// A saved program that is damaged.
    pub fn read_program(&self) -> Result<Option<&Program>, ArtifactError> {
        if self.program().is_some() {
            return Ok(self.program());
        }
        let Some(directory) = self.output_dir() else { return Ok(None) };
        let manifest = read_manifest(directory)?;
        let Some(record) = manifest.source.as_ref().and_then(|path| manifest.file(path)) else { return Ok(None) };
        let program = parse_program(directory, &record.path, &read_file(directory, record)?)?;
        Ok(Some(self.set_program(program)))
    }
}

impl CompiledProgram {
    /// The program after each pass, from the artifact's dumps, in order: names without extension. Empty where there are none.
    ///
    /// # Errors
    /// A dump that is damaged.
    pub fn dumps(&self) -> Result<Vec<(String, Program)>, ArtifactError> {
        let Some(directory) = self.output_dir() else { return Ok(Vec::new()) };
        let manifest = read_manifest(directory)?;
        let named =
            |record: &FileRecord| Some(record.path.strip_prefix("passes_dump/")?.strip_suffix(".ir")?.to_owned());
        let dumps = manifest.files.iter().filter_map(|record| Some((named(record)?, record)));
        dumps
            .map(|(name, record)| {
                let program = parse_program(directory, &record.path, &read_file(directory, record)?)?;
                Ok((name, program))
            })
            .collect()
    }
}

/// The manifest of a directory, checked as far as it tells itself: schema, seal, paths, sizes claimed.
///
/// # Errors
/// What is wrong with it.
pub fn read_manifest(directory: &Path) -> Result<Manifest, ArtifactError> {
    let path = directory.join(MANIFEST);
    let Some(manifest) = read_versioned::<Manifest>(&path, SCHEMA, MAX_MANIFEST_BYTES)? else {
        return Err(match super::entries::names(directory) {
            Some(entries) => ArtifactError::Several { directory: directory.to_owned(), entries },
            None => ArtifactError::Missing(directory.to_owned()),
        });
    };
    let damaged = |reason: String| ArtifactError::Manifest { path: path.clone(), reason };
    // Paths first: what is meant to harm deserves its name.
    manifest.check_paths().map_err(|(file, reason)| ArtifactError::Path {
        directory: directory.to_owned(),
        file,
        reason,
    })?;
    let total = manifest.files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.bytes));
    if total.is_none_or(|total| total > MAX_TOTAL_BYTES) {
        return Err(damaged(format!("it claims more than {MAX_TOTAL_BYTES} bytes of files")));
    }
    if !manifest.is_intact() {
        return Err(damaged("its seal is not that of its contents".to_owned()));
    }
    Ok(manifest)
}

/// What a plain file of JSON holds, if its `schema` is the known one and it is not too long; `None` where no file is.
///
/// # Errors
/// What is wrong with it, or what the operating system refuses.
pub(super) fn read_versioned<T: DeserializeOwned>(
    path: &Path,
    known: u32,
    max_bytes: u64,
) -> Result<Option<T>, ArtifactError> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ArtifactError::io("read", path, &error)),
    };
    let damaged = |reason: String| ArtifactError::Manifest { path: path.to_owned(), reason };
    if !metadata.is_file() {
        return Err(damaged("it is no plain file".to_owned()));
    }
    if metadata.len() > max_bytes {
        return Err(damaged(format!("it is {} bytes long", metadata.len())));
    }
    let bytes = std::fs::read(path).map_err(|e| ArtifactError::io("read", path, &e))?;
    #[derive(serde::Deserialize)]
    struct Versioned {
        schema: u64,
    }
    let Versioned { schema } = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
    if schema != u64::from(known) {
        return Err(ArtifactError::Schema { path: path.to_owned(), found: schema, known });
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|e| damaged(e.to_string()))
}

fn read(directory: &Path, manifest: Manifest) -> Result<CompiledProgram, ArtifactError> {
    let wanted = |path: &str| {
        path == manifest.program || manifest.kernels.iter().any(|kernel| kernel.object.as_deref() == Some(path))
    };
    let mut kept = HashMap::new();
    for record in &manifest.files {
        let bytes = read_file(directory, record)?;
        if wanted(&record.path) {
            kept.insert(record.path.clone(), bytes);
        }
    }
    let program = parse_program(directory, &manifest.program, kept.get(&manifest.program).map_or(&[], Vec::as_slice))?;
    check_contents(&manifest, &program)
        .map_err(|reason| ArtifactError::Manifest { path: directory.join(MANIFEST), reason })?;
    let Manifest { platform, machine, params, kernels, .. } = manifest;
    let kernels = kernels
        .into_iter()
        .map(|record| {
            let object = record.object.as_ref().and_then(|path| kept.remove(path)).unwrap_or_default();
            record.into_kernel(object)
        })
        .collect();
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let accelerator = accelerator(&program, platform).map_err(|reason| ArtifactError::Manifest {
        path: directory.join(MANIFEST),
        reason: format!("its program cannot be generated again for `{platform}`: {reason}"),
    })?;
    let executable = HostExecutable { program, kernels, accelerator };
    Ok(CompiledProgram::of_directory(executable, platform, machine, params, directory))
}

/// The accelerator's code, generated again from the program: nothing that was read runs as code.
fn accelerator(program: &Program, platform: Platform) -> Result<Option<Accelerator>, Diagnostics> {
    let (Some(arch), Some(mode)) = (platform.backend_type(), platform.execution_mode()) else { return Ok(None) };
    let artifact = ascend::generate(program.clone(), ascend::target_of(arch), ascend::AscendOptions::default())?;
    Ok(Some(Accelerator { artifact: Arc::new(artifact), mode }))
}

/// The bytes of a file, if they are those that were written.
fn read_file(directory: &Path, record: &FileRecord) -> Result<Vec<u8>, ArtifactError> {
    let changed = |reason: &str| ArtifactError::Changed {
        directory: directory.to_owned(),
        file: record.path.clone(),
        reason: reason.to_owned(),
    };
    let (path, length) = find_file(directory, record)?;
    if length != record.bytes {
        return Err(changed(&format!("has {length} bytes instead of {}", record.bytes)));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&path).map_err(|e| ArtifactError::io("read", &path, &e))?;
    // One byte more than expected tells a file that grew meanwhile.
    file.take(record.bytes + 1).read_to_end(&mut bytes).map_err(|e| ArtifactError::io("read", &path, &e))?;
    if bytes.len() as u64 != record.bytes || blake3::hash(&bytes).to_hex().as_str() != record.blake3 {
        return Err(changed("is not what was written: its hash differs"));
    }
    Ok(bytes)
}

/// The path of a file and how long it is, if it is a plain one and no link leads to it.
pub(super) fn find_file(directory: &Path, record: &FileRecord) -> Result<(PathBuf, u64), ArtifactError> {
    let changed = |reason: &str| ArtifactError::Changed {
        directory: directory.to_owned(),
        file: record.path.clone(),
        reason: reason.to_owned(),
    };
    let mut path = directory.to_owned();
    for part in record.path.split('/') {
        path.push(part);
        let metadata = std::fs::symlink_metadata(&path).map_err(|_| changed("is missing"))?;
        if metadata.is_symlink() {
            return Err(ArtifactError::Path {
                directory: directory.to_owned(),
                file: record.path.clone(),
                reason: "a link is on the way to it".to_owned(),
            });
        }
    }
    let metadata = std::fs::symlink_metadata(&path).map_err(|_| changed("is missing"))?;
    if !metadata.is_file() {
        return Err(changed("is no plain file"));
    }
    Ok((path, metadata.len()))
}

fn parse_program(directory: &Path, file: &str, bytes: &[u8]) -> Result<Program, ArtifactError> {
    let damaged = |reason: String| ArtifactError::Manifest { path: directory.join(file), reason };
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is no text".to_owned()))?;
    let program = parse(text, file).map_err(|error| damaged(error.to_string()))?;
    match verify(&program) {
        Ok(()) => Ok(program),
        Err(problems) => Err(damaged(problems.0.first().map_or_else(String::new, |first| first.title.clone()))),
    }
}

/// What the manifest says of the program is what the program says.
fn check_contents(manifest: &Manifest, program: &Program) -> Result<(), String> {
    let derived = parameters(program.entry_function(), &fixed_bits(&manifest.params));
    if derived != manifest.params || program.name != manifest.name {
        return Err("its parameters are not those of the program".to_owned());
    }
    if manifest.orchestrations != [program.entry_function().name.clone()] {
        return Err("its entry is not that of the program".to_owned());
    }
    let callees = (0..program.functions.len()).filter(|index| *index != program.entry);
    for name in callees.map(|index| &program.functions[index].name) {
        if manifest.kernels.iter().filter(|kernel| kernel.name == *name).count() != 1 {
            return Err(format!("it does not have the kernel `{name}` once"));
        }
    }
    match manifest.kernels.iter().find(|kernel| kernel.symbol.is_some() != kernel.object.is_some()) {
        Some(kernel) => Err(format!("the kernel `{}` has a symbol or an object, but not both", kernel.name)),
        None => Ok(()),
    }
}

fn fixed_bits(params: &[ParamInfo]) -> Vec<Option<u64>> {
    let bits = |param: &ParamInfo| match param.kind {
        ParamKind::Scalar { fixed, .. } => fixed,
        ParamKind::Tensor { .. } => None,
    };
    params.iter().map(bits).collect()
}
