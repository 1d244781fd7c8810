//! Programs with several entries: one directory, whole or not at all, and refused where it is damaged.

use pypto::artifact::ArtifactError;
use pypto::config::{RunOptions, VerificationLevel};
use pypto::runtime::worker::{ChipWorker, Worker};
use pypto::{CompiledEntries, compile_entries};
use pypto_tests::two_roots::two_roots;

use super::*;

fn compiled_into(directory: &Path, names: [&str; 2]) -> CompiledEntries {
    let options = CompileOptions {
        output_dir: Some(directory.to_owned()),
        verification_level: Some(VerificationLevel::Basic),
        ..CompileOptions::default()
    };
    compile_entries(&two_roots(names), &options).unwrap()
}

#[test]
fn every_entry_is_called_by_name_before_and_after_it_was_written() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("both");
    let made = compiled_into(&directory, ["double", "triple"]);
    let read = CompiledEntries::from_dir(&directory).unwrap();
    let worker = ChipWorker::new(RunOptions::default()).unwrap();
    for entries in [&made, &read] {
        assert_eq!((entries.name(), entries.names()), ("both", vec!["double", "triple"]));
        for (name, factor) in [("double", 2.0), ("triple", 3.0)] {
            let entry = entries.get(name).unwrap();
            assert_eq!(results(entry), [factor, 2.0 * factor, 3.0 * factor, 4.0 * factor]);
            assert_eq!(entry.orchestration_names(), [name]);
            assert!(entry.output_dir().unwrap().starts_with(entries.output_dir().unwrap()));
            // An entry is an artifact like any other.
            assert_eq!(CompiledProgram::from_dir(entry.output_dir().unwrap()).unwrap().name(), "both");
            let x = pypto::language::DynamicTensor::from_vec(vec![1.0f32; 4], &[4]).unwrap();
            assert_eq!(worker.run(entry, (&x,)).unwrap()[0].elements::<f32>(), Some(&[factor; 4][..]));
        }
        assert!(entries.get("nobody").is_none());
    }
    // In memory, where no directory is asked for.
    let entries = compile_entries(&two_roots(["double", "triple"]), &CompileOptions::default()).unwrap();
    assert!(entries.output_dir().is_none() && entries.iter().count() == 2);
}

#[test]
fn one_is_not_taken_for_several_nor_several_for_one() {
    let place = tempfile::tempdir().unwrap();
    let (many, one) = (place.path().join("many"), place.path().join("one"));
    compiled_into(&many, ["double", "triple"]);
    written(&program("p", "2.0"), &one);
    let error = CompiledProgram::from_dir(&many).unwrap_err();
    assert!(matches!(error, ArtifactError::Several { .. }), "{error}");
    assert!(error.to_string().contains("entries/00_double, entries/01_triple"), "{error}");
    assert!(matches!(CompiledEntries::from_dir(&one), Err(ArtifactError::NoEntries(_))));
}

#[test]
fn rebuilding_leaves_nothing_of_another_build() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("both");
    let names = |below: &str| {
        let entries = std::fs::read_dir(directory.join(below)).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    compiled_into(&directory, ["double", "triple"]);
    std::fs::write(directory.join("notes.txt"), "mine").unwrap();
    compiled_into(&directory, ["twice", "thrice"]);
    assert_eq!(names(""), ["entries", "entries.json", "notes.txt"]);
    assert_eq!(names("entries"), ["00_twice", "01_thrice"]);
    // One entry instead of several, and back.
    written(&program("p", "2.0"), &directory);
    assert!(CompiledProgram::from_dir(&directory).is_ok() && !names("").contains(&"entries".to_owned()));
    compiled_into(&directory, ["double", "triple"]);
    assert_eq!(names(""), ["entries", "entries.json", "notes.txt"]);
    assert!(CompiledEntries::from_dir(&directory).is_ok());
    // Other files are never replaced.
    let foreign = place.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("letter"), "mine").unwrap();
    let options = CompileOptions { output_dir: Some(foreign), ..CompileOptions::default() };
    assert!(compile_entries(&two_roots(["double", "triple"]), &options).unwrap_err().to_string().contains("letter"));
}

#[test]
fn damaged_and_hostile_directories_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("both");
    compiled_into(&directory, ["double", "triple"]);
    let index = directory.join("entries.json");
    let whole = std::fs::read_to_string(&index).unwrap();
    let refused = |text: &str| {
        std::fs::write(&index, text).unwrap();
        CompiledEntries::from_dir(&directory).unwrap_err().to_string()
    };
    for end in 0..whole.len() {
        refused(&whole[..end]);
    }
    for (from, to, reason) in [
        ("\"schema\": 1", "\"schema\": 2", "schema 2"),
        ("entries/00_double", "../outside", "leaves the directory"),
        ("entries/00_double", "/etc", "leaves the directory"),
        ("entries/00_double", "entries/01_triple", "another build"),
        ("\"name\": \"triple\"", "\"name\": \"double\"", "twice"),
        ("\"name\": \"triple\"", "\"name\": \"other\"", "`other` is `triple`"),
    ] {
        let error = refused(&whole.replacen(from, to, 1));
        assert!(error.contains(reason), "{from} -> {to}: {error}");
    }
    std::fs::write(&index, &whole).unwrap();
    // An entry of another build, though whole in itself.
    let other = place.path().join("other");
    compiled_into(&other, ["triple", "double"]);
    std::fs::remove_dir_all(directory.join("entries/00_double")).unwrap();
    std::fs::rename(other.join("entries/01_double"), directory.join("entries/00_double")).unwrap();
    let error = CompiledEntries::from_dir(&directory).unwrap_err().to_string();
    assert!(error.contains("another build"), "{error}");
    #[cfg(unix)]
    {
        std::fs::remove_dir_all(directory.join("entries/00_double")).unwrap();
        std::os::unix::fs::symlink(other.join("entries/00_triple"), directory.join("entries/00_double")).unwrap();
        let error = CompiledEntries::from_dir(&directory).unwrap_err().to_string();
        assert!(error.contains("a link is on the way"), "{error}");
    }
}
