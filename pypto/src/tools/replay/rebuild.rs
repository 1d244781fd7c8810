//! Makes anew what follows from edits, and nothing else: an object from an edited text; passes and code from an edited
//! program on, where kernels whose text comes out as it was keep their objects.

use super::changes::{Changes, Stage};
use super::error::ReplayError;
use crate::artifact::{
    ArtifactError, BuildRecord, Companions, CompiledProgram, HostExecutable, KernelCode, PresentArtifact, RUN_SCRIPT,
};
use crate::codegen::host::compile::compile_text;
use crate::codegen::host::cpu::Target;
use crate::compile::driver::{build_record, listing_files};
use crate::compile::host::{Built, pipeline, rebuild as rebuild_program};
use crate::compile::{CompileOptions, Settings, engine};
use crate::config::PassDumpLevel;
use crate::ir::text::parse;
use crate::ir::{Program, verify};
use crate::passes::dumps::{INDEX, joined_index, number_of};

/// The artifact after its edits.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    pub program: CompiledProgram,
    /// Whether anything was edited.
    pub edited: bool,
    /// What was edited and what followed, one a line.
    pub notes: Vec<String>,
    build: Option<BuildRecord>,
    /// Dumps and listings that were made anew.
    files: Vec<(String, Vec<u8>)>,
    /// Whether the kernels' listings are all among them.
    relisted: bool,
    /// The pass from which on dumps were made anew, by number.
    dumped_from: Option<usize>,
}

/// Makes anew what follows from the edits, in memory.
///
/// # Errors
/// An edited program or text that is wrong; code for another machine.
pub fn rebuild(present: &PresentArtifact, changes: &Changes) -> Result<Rebuilt, ReplayError> {
    let manifest = &present.manifest;
    if !manifest.platform.is_host() {
        return of_accelerator(present);
    }
    let mut notes: Vec<String> =
        changes.others.iter().map(|file| format!("{file} was edited: nothing is made from it")).collect();
    let (mut executable, mut files, mut build, dumped_from) = match &changes.program {
        Some((path, stage)) => of_program(present, path, stage, &mut notes)?,
        None => (present.executable(program(present, &manifest.program)?), Vec::new(), manifest.build, None),
    };
    let relisted = changes.program.is_some();
    let here = engine(manifest.platform).machine();
    let native = executable.kernels.iter().any(|kernel| kernel.code != KernelCode::Interpreted);
    if native && manifest.machine != here && !relisted {
        let (directory, found) = (present.directory.clone(), manifest.machine.clone());
        return Err(ArtifactError::Machine { directory, found, here }.into());
    }
    for (index, path) in &changes.objects {
        notes.push(format!("{path} was edited: it is taken as it is"));
        if relisted {
            replace(present, &mut executable, *index, present.bytes(path).to_vec(), path)?;
        }
    }
    for (index, path) in &changes.texts {
        let text = text(present, path)?;
        let object = compile_text(Target::host(), text)
            .map_err(|error| ReplayError::Edited { file: path.clone(), reason: error.to_string() })?;
        replace(present, &mut executable, *index, object, path)?;
        files.retain(|(file, _)| file != path);
        files.push((path.clone(), text.as_bytes().to_vec()));
        notes.push(format!("{path} was edited: its object is made anew"));
    }
    if notes.is_empty() {
        notes.push("nothing was edited".to_owned());
    }
    let source = manifest.source.as_ref().map(|path| program(present, path)).transpose()?;
    let fixed = present.fixed_scalars();
    let program = CompiledProgram::of_build(executable, manifest.platform, here, source, &fixed);
    build = build.or(manifest.build);
    let edited = changes.change_code() || !changes.others.is_empty();
    let program = program.at(present.directory.clone());
    Ok(Rebuilt { program, edited, notes, build, files, relisted, dumped_from })
}

/// The artifact of an accelerator, which is not rebuilt.
fn of_accelerator(present: &PresentArtifact) -> Result<Rebuilt, ReplayError> {
    if let Some(file) = present.edited().first() {
        return Err(ReplayError::Platform { file: (*file).to_owned(), platform: present.manifest.platform });
    }
    let program = CompiledProgram::from_dir(&present.directory)?;
    let (notes, build) = (vec!["nothing was edited".to_owned()], present.manifest.build);
    Ok(Rebuilt { program, edited: false, notes, build, files: Vec::new(), relisted: false, dumped_from: None })
}

/// The artifact as it was built, as long as the files it runs from are as they were written.
///
/// # Errors
/// A program that is damaged.
pub(in crate::tools) fn original(present: &PresentArtifact) -> Result<Option<CompiledProgram>, ReplayError> {
    let manifest = &present.manifest;
    if !manifest.platform.is_host() {
        return Ok(Some(CompiledProgram::from_dir(&present.directory)?));
    }
    let objects = manifest.kernels.iter().filter_map(|kernel| kernel.object.as_deref());
    if !objects.chain([manifest.program.as_str()]).all(|path| present.is_as_written(path)) {
        return Ok(None);
    }
    let executable = present.executable(program(present, &manifest.program)?);
    let (platform, machine) = (manifest.platform, manifest.machine.clone());
    Ok(Some(CompiledProgram::of_build(executable, platform, machine, None, &present.fixed_scalars())))
}

type Parts = (HostExecutable, Vec<(String, Vec<u8>)>, Option<BuildRecord>, Option<usize>);

/// Passes and code from a program on.
fn of_program(
    present: &PresentArtifact,
    path: &str,
    stage: &Stage,
    notes: &mut Vec<String>,
) -> Result<Parts, ReplayError> {
    let edited = program(present, path)?;
    let settings = settings(present, notes)?;
    let names: Vec<&str> = pipeline(&settings).names().collect();
    let passed = match stage {
        Stage::Lowered => names.len(),
        Stage::AfterPasses { count, last } => {
            let known = count.checked_sub(1).map(|index| names.get(index).copied());
            if known.is_some_and(|known| known != last.as_deref()) {
                let reason = "the passes of this version of pypto are others: compile the program again".to_owned();
                return Err(ReplayError::Edited { file: path.to_owned(), reason });
            }
            *count
        }
    };
    let same_machine = present.manifest.machine == engine(present.manifest.platform).machine();
    let reuse = |kernel: &str, text: &str| if same_machine { kept_object(present, kernel, text) } else { None };
    let Built { executable, dumps, listings, .. } = rebuild_program(edited, passed, &settings, &reuse, None)?;
    let from = if passed == names.len() { "all passes" } else { names.get(passed).copied().unwrap_or("frontend") };
    let what = if passed == names.len() { "no pass runs".to_owned() } else { format!("passes run from `{from}` on") };
    notes.push(format!("{path} was edited: {what}, and {}", code_note(&executable, &listings, present)));
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, text) in dumps {
        let path = format!("passes_dump/{name}");
        let text = match name == INDEX {
            true => joined_index(&String::from_utf8_lossy(present.bytes(&path)), &text, passed),
            false => text,
        };
        files.push((path, text.into_bytes()));
    }
    let kernels: Vec<String> = executable.kernels.iter().map(|kernel| kernel.name.clone()).collect();
    files.extend(listing_files(&kernels, listings));
    Ok((executable, files, Some(build_record(&settings)), Some(passed)))
}

/// Which kernels are compiled and which keep their objects.
fn code_note(executable: &HostExecutable, listings: &[crate::compile::Listing], present: &PresentArtifact) -> String {
    let kept = |name: &str| {
        listings.iter().any(|listing| listing.kernel == name && kept_object(present, name, &listing.ll).is_some())
    };
    let (kept, made): (Vec<&str>, Vec<&str>) =
        executable.kernels.iter().map(|kernel| kernel.name.as_str()).partition(|name| kept(name));
    let list = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match (made.is_empty(), kept.is_empty()) {
        (true, _) => "every kernel keeps its code".to_owned(),
        (_, true) => format!("code is made for {}", list(made)),
        _ => format!("code is made for {}; {} unchanged", list(made), list(kept)),
    }
}

/// The object of a kernel whose text was this one, if both are as they were written.
fn kept_object(present: &PresentArtifact, kernel: &str, text: &str) -> Option<Vec<u8>> {
    let record = present.manifest.kernels.iter().find(|record| record.name == kernel)?;
    let object = record.object.as_ref()?;
    let written = present.manifest.file(&format!("{}.ll", object.strip_suffix(".o")?))?;
    let same = blake3::hash(text.as_bytes()).to_hex().as_str() == written.blake3;
    (same && present.is_as_written(object)).then(|| present.bytes(object).to_vec())
}

/// Puts an object in the place of the code of the kernel that has the place `index` in the manifest.
fn replace(
    present: &PresentArtifact,
    executable: &mut HostExecutable,
    index: usize,
    object: Vec<u8>,
    file: &str,
) -> Result<(), ReplayError> {
    let name = &present.manifest.kernels[index].name;
    let kernel = executable.kernels.iter_mut().find(|kernel| kernel.name == *name);
    match kernel.map(|kernel| &mut kernel.code) {
        Some(KernelCode::Object { bytes, .. }) => {
            *bytes = object;
            Ok(())
        }
        _ => {
            let reason = format!("the edited program has no kernel `{name}` with machine code");
            Err(ReplayError::Edited { file: file.to_owned(), reason })
        }
    }
}

fn text<'a>(present: &'a PresentArtifact, path: &str) -> Result<&'a str, ReplayError> {
    let refused = |_| ReplayError::Edited { file: path.to_owned(), reason: "it is no text".to_owned() };
    std::str::from_utf8(present.bytes(path)).map_err(refused)
}

/// The program in a file as it is now.
fn program(present: &PresentArtifact, path: &str) -> Result<Program, ReplayError> {
    let refused = |reason: String| ReplayError::Edited { file: path.to_owned(), reason };
    let program = parse(text(present, path)?, path).map_err(|error| refused(error.to_string()))?;
    verify(&program).map_err(|problems| refused(problems.to_string()))?;
    Ok(program)
}

/// The settings that the artifact was compiled with.
fn settings(present: &PresentArtifact, notes: &mut Vec<String>) -> Result<Settings, ReplayError> {
    let build = present.manifest.build;
    if build.is_none() {
        notes.push("how the artifact was compiled is not known: the default strategy and threads are used".to_owned());
    }
    let places = build.is_none_or(|build| build.places);
    let dumped = present.files.keys().find(|path| path.starts_with("passes_dump/"));
    let has_places = |path: &String| present.bytes(path).windows(5).any(|window| window == b" loc(");
    let dump_passes = dumped.map(|path| match has_places(path) {
        true => PassDumpLevel::Explicit,
        false => PassDumpLevel::Concise,
    });
    let options = CompileOptions {
        platform: Some(present.manifest.platform),
        strategy: build.map(|build| build.strategy),
        threads: build.map(|build| build.threads),
        emit_source_loc: Some(places),
        dump_passes,
        // Nothing is written there; that there is a directory asks for listings.
        output_dir: Some(present.directory.clone()),
        ..CompileOptions::default()
    };
    Ok(Settings::of(&options)?)
}

/// The number of the pass that a file is the dump of.
fn dump_number(path: &str) -> Option<usize> {
    path.strip_prefix("passes_dump/").and_then(number_of)
}

impl Rebuilt {
    /// Puts the rebuilt artifact in the place of the edited one.
    ///
    /// # Errors
    /// A directory that cannot be written; it is as it was then.
    pub fn write(&self, present: &PresentArtifact) -> Result<CompiledProgram, ReplayError> {
        let manifest = &present.manifest;
        let saved_again = |path: &str| {
            path == manifest.program
                || Some(path) == manifest.source.as_deref()
                || path == RUN_SCRIPT
                || path.starts_with("kernels/") && (self.relisted || path.ends_with(".o"))
                || self.files.iter().any(|(made, _)| made == path)
                // A pass that changed something then may change nothing now.
                || dump_number(path).zip(self.dumped_from).is_some_and(|(number, from)| number >= from)
        };
        let kept = present.files.iter().filter(|(path, _)| !saved_again(path));
        let mut files: Vec<(String, Vec<u8>)> = kept.map(|(path, file)| (path.clone(), file.bytes.clone())).collect();
        files.extend(self.files.iter().cloned());
        Ok(self.program.save_with(&present.directory, &Companions { files, build: self.build })?)
    }
}
