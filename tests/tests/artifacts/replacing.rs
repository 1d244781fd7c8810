//! Compiling into a directory that is there already.

use super::*;
use pypto::artifact::ArtifactError;
use pypto::compile::CompileError;

#[test]
fn builds_never_mix() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    let options =
        |dump| CompileOptions { output_dir: Some(directory.clone()), dump_passes: dump, ..CompileOptions::default() };
    pypto::compile(&program("first", "2.0"), &options(Some(PassDumpLevel::Explicit))).unwrap();
    assert!(files(&directory).iter().any(|file| file.contains("passes_dump")));
    std::fs::write(directory.join("notes.txt"), "mine").unwrap();
    std::fs::create_dir_all(directory.join("data/in")).unwrap();
    std::fs::write(directory.join("data/in/x.npy"), "mine, too").unwrap();
    std::fs::create_dir(directory.join("dfx_outputs")).unwrap();
    std::fs::write(directory.join("dfx_outputs/swimlane.json"), "of the old build").unwrap();
    pypto::compile(&program("second", "5.0"), &options(None)).unwrap();
    let after = files(&directory);
    assert!(!after.iter().any(|file| file.contains("passes_dump") || file.contains("first")), "{after:?}");
    assert!(!after.iter().any(|file| file.contains("dfx_outputs")), "{after:?}");
    assert_eq!(std::fs::read_to_string(directory.join("notes.txt")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(directory.join("data/in/x.npy")).unwrap(), "mine, too");
    assert_eq!(results(&CompiledProgram::from_dir(&directory).unwrap()), [5.0, 10.0, 15.0, 20.0]);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "nothing temporary is left");
}

#[test]
fn other_directories_are_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("home");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("thesis.tex"), "years of work").unwrap();
    let options = CompileOptions { output_dir: Some(directory.clone()), ..CompileOptions::default() };
    let error = pypto::compile(&program("scale", "2.0"), &options).unwrap_err();
    assert!(matches!(&error, CompileError::Artifact(ArtifactError::Foreign { .. })), "{error}");
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    assert_eq!(files(place.path()), ["home/thesis.tex"]);
    // A file and a link are no directories.
    let file = CompileOptions { output_dir: Some(directory.join("thesis.tex")), ..CompileOptions::default() };
    assert!(pypto::compile(&program("scale", "2.0"), &file).unwrap_err().to_string().contains("no directory"));
    std::os::unix::fs::symlink(&directory, place.path().join("link")).unwrap();
    let link = CompileOptions { output_dir: Some(place.path().join("link")), ..CompileOptions::default() };
    assert!(
        pypto::compile(&program("scale", "2.0"), &link).unwrap_err().to_string().contains("links are not followed")
    );
    // An empty directory is taken.
    let empty = place.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    written(&program("scale", "2.0"), &empty);
}

#[test]
fn failures_leave_the_old_artifact() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    written(&program("scale", "2.0"), &directory);
    let before = files(place.path());
    let mut broken = program("scale", "3.0");
    broken.functions[0].body.ops.pop();
    broken.functions[0].body.ops[1].operands.clear();
    let options = CompileOptions { output_dir: Some(directory.clone()), ..CompileOptions::default() };
    assert!(matches!(pypto::compile(&broken, &options), Err(CompileError::Kernel(_))));
    let ascend = CompileOptions { platform: Some(pypto::config::Platform::A5), ..options };
    assert!(pypto::compile(&broken, &ascend).is_err());
    assert_eq!(files(place.path()), before);
    assert_eq!(results(&CompiledProgram::from_dir(&directory).unwrap()), [2.0, 4.0, 6.0, 8.0]);
    let nowhere = CompileOptions { output_dir: Some("/dev/null/a".into()), ..CompileOptions::default() };
    let error = pypto::compile(&program("scale", "3.0"), &nowhere).unwrap_err();
    assert!(error.to_string().contains("/dev/null"), "{error}");
}
