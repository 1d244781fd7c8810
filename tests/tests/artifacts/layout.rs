//! Which files an artifact has, and where those go that have no directory of their own.

use super::*;
use pypto::artifact::read_manifest;

#[test]
fn everything_asked_for_is_there_and_listed() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    let compiled = written(&program("scale", "2.0"), &directory);
    let manifest = read_manifest(&directory).unwrap();
    let mut listed: Vec<String> = manifest.files.iter().map(|file| file.path.clone()).collect();
    listed.push("manifest.json".to_owned());
    listed.sort();
    assert_eq!(files(&directory), listed);
    for path in [
        "ir/lowered.ir",
        "ir/program.ir",
        "passes_dump/00_frontend.ir",
        "passes_dump/index.txt",
        "report/pipeline_profile.json",
        "report/pipeline_profile.txt",
    ] {
        assert!(listed.iter().any(|file| file == path), "{path} is not in {listed:?}");
    }
    if compiled.interpreted_kernels().is_empty() {
        for end in [".o", ".ll", ".lir"] {
            assert!(listed.iter().any(|file| file.starts_with("kernels/00_") && file.ends_with(end)), "{end}");
        }
    }
    let profile = std::fs::read_to_string(directory.join("report/pipeline_profile.json")).unwrap();
    let profile: serde_json::Value = serde_json::from_str(&profile).unwrap();
    assert_eq!(profile["stages"][0]["name"], "passes");
    assert_eq!(profile["stages"][1]["name"], "codegen");
    assert!(profile["total_seconds"].as_f64().unwrap() > 0.0);
    // Nothing else beside the directory.
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn dumps_parse_and_levels_differ_in_places() {
    let place = tempfile::tempdir().unwrap();
    for (level, places) in [(PassDumpLevel::Concise, false), (PassDumpLevel::Explicit, true)] {
        let directory = place.path().join(level.name());
        let options = CompileOptions {
            output_dir: Some(directory.clone()),
            dump_passes: Some(level),
            emit_source_loc: Some(places),
            ..CompileOptions::default()
        };
        pypto::compile(&program("scale", "2.0"), &options).unwrap();
        let dumps: Vec<String> = files(&directory).into_iter().filter(|f| f.starts_with("passes_dump/")).collect();
        let (index, dumps) = dumps.split_last().unwrap();
        // Every pass is in the index, and those that change the program have a file.
        let index = std::fs::read_to_string(directory.join(index)).unwrap();
        assert!(index.lines().count() > 10 && index.contains(" inline: changed nothing\n"), "{index}");
        let indexed = index.lines().filter_map(|line| line.split(": ").nth(1)).filter(|file| file.ends_with(".ir"));
        let indexed: Vec<String> = indexed.map(|file| format!("passes_dump/{file}")).collect();
        assert!(dumps.len() == 3 && dumps == indexed, "{dumps:?} and {indexed:?}");
        for file in dumps.iter().chain([&"ir/lowered.ir".to_owned()]) {
            let text = std::fs::read_to_string(directory.join(file)).unwrap();
            parse(&text, file).unwrap();
            assert_eq!(text.contains(" loc("), places, "{file}");
        }
        CompiledProgram::from_dir(&directory).unwrap();
    }
}

#[test]
fn only_what_is_asked_for_is_written() {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "layout::child_with_build_directories", "--ignored"])
        .env("PYPTO_TESTS_PLACE", tempfile::tempdir().unwrap().path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let place = tempfile::tempdir().unwrap();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "layout::child_with_build_directories", "--ignored"])
        .env("PYPTO_PROG_BUILD_DIR", place.path().join("builds"))
        .env("PYPTO_DUMP", place.path().join("calls"))
        .env("PYPTO_TESTS_PLACE", place.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let names = |directory: &str| {
        let entries = std::fs::read_dir(place.path().join(directory)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    assert_eq!(names("builds").len(), 2, "two compilations of one program in one second have two directories");
    for directory in names("builds").into_iter().chain(names("calls")) {
        CompiledProgram::from_dir(&directory).unwrap();
    }
    assert_eq!(names("calls").len(), 1);
}

#[pypto::jit]
fn incremented(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x + 1.0);
}

#[test]
#[ignore = "the part of `only_what_is_asked_for_is_written` that runs with the variables"]
fn child_with_build_directories() {
    let Some(place) = std::env::var_os("PYPTO_TESTS_PLACE") else { return };
    std::fs::create_dir_all(&place).unwrap();
    std::env::set_current_dir(&place).unwrap();
    let (x, mut y) = (Tensor::<f32, 1>::zeros([4]), Tensor::<f32, 1>::zeros([4]));
    incremented(&x, &mut y).unwrap();
    assert_eq!(y.as_slice(), [1.0; 4]);
    let plain = pypto::compile(&program("scale", "2.0"), &CompileOptions::default()).unwrap();
    assert_eq!(plain.output_dir(), None);
    if std::env::var_os("PYPTO_PROG_BUILD_DIR").is_some() {
        let options = CompileOptions { dump_passes: Some(PassDumpLevel::Concise), ..CompileOptions::default() };
        for _ in 0..2 {
            let compiled = pypto::compile(&program("scale", "2.0"), &options).unwrap();
            assert_eq!(results(&compiled), [2.0, 4.0, 6.0, 8.0]);
        }
    } else {
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "nothing was asked for");
    }
}
