//! Directories that are damaged, edited, or made to harm: refused, with the reason.

use std::path::PathBuf;

use pypto::artifact::{ArtifactError, Manifest, read_manifest};

use super::*;

/// An artifact to damage.
struct Victim {
    place: tempfile::TempDir,
}

impl Victim {
    fn new() -> Victim {
        let place = tempfile::tempdir().unwrap();
        written(&program("scale", "2.0"), &place.path().join("a"));
        Victim { place }
    }

    fn directory(&self) -> PathBuf {
        self.place.path().join("a")
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory().join(file)
    }

    /// Changes the manifest, sealed anew.
    fn with_manifest(self, change: impl FnOnce(&mut Manifest)) -> Victim {
        let mut manifest = read_manifest(&self.directory()).unwrap();
        change(&mut manifest);
        std::fs::write(self.path("manifest.json"), serde_json::to_string(&manifest.sealed()).unwrap()).unwrap();
        self
    }

    fn refused(&self) -> ArtifactError {
        match CompiledProgram::from_dir(self.directory()) {
            Err(error) => error,
            Ok(compiled) => panic!("{compiled:?} was accepted"),
        }
    }

    #[track_caller]
    fn is_refused_because(&self, reason: &str) {
        let error = self.refused().to_string();
        assert!(error.contains(reason), "{error}\ndoes not say: {reason}");
    }
}

#[test]
fn directories_without_an_artifact() {
    let place = tempfile::tempdir().unwrap();
    for directory in [place.path().to_owned(), place.path().join("missing")] {
        let error = CompiledProgram::from_dir(&directory).unwrap_err();
        assert_eq!(error, ArtifactError::Missing(directory));
    }
    std::fs::write(place.path().join("manifest.json"), "[]").unwrap();
    assert!(matches!(CompiledProgram::from_dir(place.path()), Err(ArtifactError::Manifest { .. })));
    std::fs::write(place.path().join("manifest.json"), [0xff, 0xfe, 0]).unwrap();
    assert!(matches!(CompiledProgram::from_dir(place.path()), Err(ArtifactError::Manifest { .. })));
    std::fs::remove_file(place.path().join("manifest.json")).unwrap();
    std::fs::create_dir(place.path().join("manifest.json")).unwrap();
    assert!(CompiledProgram::from_dir(place.path()).unwrap_err().to_string().contains("no plain file"));
}

#[test]
fn truncated_files() {
    let victim = Victim::new();
    for file in files(&victim.directory()) {
        let whole = std::fs::read(victim.path(&file)).unwrap();
        for length in [0, whole.len() / 2, whole.len() - 1] {
            std::fs::write(victim.path(&file), &whole[..length]).unwrap();
            let error = victim.refused().to_string();
            assert!(
                file == "manifest.json" || error.contains(&format!("{length} bytes instead of")),
                "{file}: {error}"
            );
        }
        std::fs::write(victim.path(&file), &whole).unwrap();
    }
    CompiledProgram::from_dir(victim.directory()).unwrap();
}

#[test]
fn edited_files() {
    let victim = Victim::new();
    for file in files(&victim.directory()) {
        let whole = std::fs::read(victim.path(&file)).unwrap();
        for at in [0, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
            let mut edited = whole.clone();
            edited[at] ^= 0x20;
            std::fs::write(victim.path(&file), &edited).unwrap();
            let error = victim.refused().to_string();
            assert!(file == "manifest.json" || error.contains("its hash differs"), "{file}: {error}");
        }
        std::fs::remove_file(victim.path(&file)).unwrap();
        assert!(file == "manifest.json" || victim.refused().to_string().contains("is missing"), "{file}");
        std::fs::write(victim.path(&file), &whole).unwrap();
    }
    CompiledProgram::from_dir(victim.directory()).unwrap();
}

#[test]
fn numbers_of_the_manifest_edited_by_hand() {
    let victim = Victim::new();
    let path = victim.path("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"name\": \"scale\"", "\"name\": \"scalp\"")).unwrap();
    victim.is_refused_because("its seal is not that of its contents");
    std::fs::write(&path, text.replacen('{', "{\"extra\": 1,", 1)).unwrap();
    victim.is_refused_because("unknown field `extra`");
}

#[test]
fn links() {
    let victim = Victim::new();
    let object = victim.path("ir/lowered.ir");
    let outside = victim.place.path().join("outside");
    std::fs::rename(&object, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &object).unwrap();
    victim.is_refused_because("a link is on the way to it");
    let victim = Victim::new();
    let outside = victim.place.path().join("elsewhere");
    std::fs::rename(victim.path("kernels"), &outside).unwrap_or_default();
    if outside.exists() {
        std::os::unix::fs::symlink(&outside, victim.path("kernels")).unwrap();
        victim.is_refused_because("a link is on the way to it");
    }
    let victim = Victim::new();
    let outside = victim.place.path().join("manifest");
    std::fs::rename(victim.path("manifest.json"), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, victim.path("manifest.json")).unwrap();
    victim.is_refused_because("no plain file");
}

#[test]
fn paths_that_leave_the_directory() {
    for path in
        ["../outside", "/etc/passwd", "ir/../../outside", "ir/./lowered.ir", "a\\b", "", "a//b", "manifest.json"]
    {
        let victim = Victim::new();
        std::fs::write(victim.place.path().join("outside"), "secret").unwrap();
        let victim = victim.with_manifest(|manifest| manifest.files[0].path = path.to_owned());
        assert!(matches!(victim.refused(), ArtifactError::Path { .. }), "{path}: {}", victim.refused());
    }
    let victim = Victim::new().with_manifest(|manifest| manifest.program = "../outside".to_owned());
    victim.is_refused_because("it is not among the files of the artifact");
    let victim = Victim::new().with_manifest(|manifest| manifest.files.push(manifest.files[0].clone()));
    victim.is_refused_because("it is listed twice");
}

#[test]
fn claims_of_huge_files() {
    let victim = Victim::new().with_manifest(|manifest| manifest.files[0].bytes = 10 << 30);
    victim.is_refused_because("claims more than");
    let victim = Victim::new().with_manifest(|manifest| {
        for file in &mut manifest.files {
            file.bytes = u64::MAX / 2;
        }
    });
    victim.is_refused_because("claims more than");
    // The file is there, and without content: it takes no space.
    let victim = Victim::new();
    let file = std::fs::File::options().write(true).open(victim.path("ir/lowered.ir")).unwrap();
    file.set_len(10 << 30).unwrap();
    victim.is_refused_because("bytes instead of");
    let manifest = std::fs::File::options().write(true).open(victim.path("manifest.json")).unwrap();
    manifest.set_len(10 << 30).unwrap();
    victim.is_refused_because("bytes long");
}

#[test]
fn other_schemas() {
    for schema in [0u32, 2, u32::MAX] {
        let victim = Victim::new().with_manifest(|manifest| manifest.schema = schema);
        victim.is_refused_because(&format!("has schema {schema}, and this version of pypto reads schema 1"));
    }
    let victim = Victim::new();
    let text = std::fs::read_to_string(victim.path("manifest.json")).unwrap();
    std::fs::write(victim.path("manifest.json"), text.replace("\"schema\": 1", "\"schema\": -1")).unwrap();
    assert!(matches!(victim.refused(), ArtifactError::Manifest { .. }));
}

#[test]
fn contents_that_contradict_each_other() {
    let victim = Victim::new().with_manifest(|manifest| manifest.params.clear());
    victim.is_refused_because("its parameters are not those of the program");
    let victim = Victim::new().with_manifest(|manifest| manifest.kernels.clear());
    victim.is_refused_because("it does not have the kernel");
    let victim = Victim::new().with_manifest(|manifest| manifest.kernels.push(manifest.kernels[0].clone()));
    victim.is_refused_because("it does not have the kernel");
    let victim = Victim::new().with_manifest(|manifest| manifest.orchestrations = vec!["other".to_owned()]);
    victim.is_refused_because("its entry is not that of the program");
    let victim = Victim::new().with_manifest(|manifest| manifest.files[0].blake3 = "00".repeat(32));
    victim.is_refused_because("its hash differs");
}

#[test]
fn code_for_another_machine() {
    let victim = Victim::new().with_manifest(|manifest| manifest.machine = "neon on the moon".to_owned());
    let compiled = CompiledProgram::from_dir(victim.directory()).unwrap();
    if compiled.interpreted_kernels().is_empty() {
        let error = compiled.load().map(drop).unwrap_err().to_string();
        assert!(error.contains("compiled for another machine (neon on the moon"), "{error}");
    }
}

#[test]
fn damaged_objects_with_a_right_hash() {
    let compiled = CompiledProgram::from_dir(Victim::new().directory()).unwrap();
    if !compiled.interpreted_kernels().is_empty() {
        return;
    }
    for length in [0, 10, 64, 500] {
        let victim = Victim::new();
        let directory = victim.directory();
        let name = read_manifest(&directory).unwrap().kernels[0].object.clone().unwrap();
        let mut object = std::fs::read(directory.join(&name)).unwrap();
        object.truncate(length);
        std::fs::write(directory.join(&name), &object).unwrap();
        let hash = blake3::hash(&object).to_hex().to_string();
        let victim = victim.with_manifest(|manifest| {
            let file = manifest.files.iter_mut().find(|file| file.path == name).unwrap();
            (file.bytes, file.blake3) = (length as u64, hash);
        });
        let error = CompiledProgram::from_dir(victim.directory()).unwrap().load().map(drop).unwrap_err().to_string();
        assert!(error.contains("cannot be loaded"), "{error}");
    }
}

/// Random edits of the manifest's JSON, sealed anew where it still reads: no panic, whatever comes out.
#[test]
fn random_manifests_never_panic() {
    let victim = Victim::new();
    let path = victim.path("manifest.json");
    let text = std::fs::read(&path).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let mut accepted = 0;
    for _ in 0..2000 {
        let mut edited = text.clone();
        for _ in 0..1 + random(3) {
            let at = random(edited.len());
            match random(4) {
                0 => edited[at] = b"0123456789{}[]\",:-"[random(18)],
                1 => drop(edited.remove(at)),
                2 => edited.insert(at, b"0123456789{}[]\",:-"[random(18)]),
                _ => {
                    let to = random(edited.len());
                    edited.swap(at, to);
                }
            }
        }
        let edited = match serde_json::from_slice::<Manifest>(&edited) {
            Ok(manifest) => serde_json::to_vec(&manifest.sealed()).unwrap(),
            Err(_) => edited,
        };
        std::fs::write(&path, edited).unwrap();
        if let Ok(compiled) = CompiledProgram::from_dir(victim.directory()) {
            accepted += usize::from(compiled.load().is_ok());
        }
    }
    assert!(accepted < 2000);
}
