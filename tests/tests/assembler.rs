//! Whole compilations with a script that stands in for the assembler. Each runs in a process of its own, which reads the
//! environment that the test makes.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use pypto::CompiledProgram;
use pypto::config::{Platform, RunConfig};
use pypto::prelude::*;
use pypto_tests::examples::ffn;

/// Where a process that a test starts builds.
const BUILD: &str = "PYPTO_TEST_BUILD";

/// The place of a test: the assembler in `root/bin`, its notes in `notes`, kept results in `cache`.
struct Place(tempfile::TempDir);

/// How a compilation went, as its process tells: nothing, or the error.
struct Outcome(String);

impl Place {
    /// `$1` is the text, `$3` the file to make, `$notes` a directory.
    fn new(script: &str) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for directory in ["root/bin", "notes", "cache"] {
            std::fs::create_dir_all(place.at(directory)).unwrap();
        }
        std::fs::set_permissions(place.at("cache"), std::fs::Permissions::from_mode(0o700)).unwrap();
        place.script(script);
        place
    }

    fn script(&self, script: &str) {
        let program = self.at("root/bin/ptoas");
        let text = format!("#!/bin/sh\nnotes={}\n{script}\n", self.at("notes").display());
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles the ffn into a directory of the place.
    fn compile(&self, into: &str, variables: &[(&str, &str)]) -> Outcome {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "compile_in_this_process", "--ignored", "--nocapture"])
            .env(BUILD, self.at(into))
            .env("PTOAS_ROOT", self.at("root"))
            .env("PYPTO_CACHE_DIR", self.at("cache"))
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
        let (_, told) = out.split_once("<<").unwrap();
        Outcome(told.split_once(">>").unwrap().0.to_owned())
    }

    /// Files of a directory that end so, by name, in order.
    fn files(&self, directory: &str, end: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.at(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    }

    fn level(&self, directory: &str) -> String {
        let text = std::fs::read(self.at(directory).join("kernel_config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_slice(&text).unwrap();
        config["complete_up_to"].as_str().unwrap().to_owned()
    }
}

/// Started by the tests.
#[test]
#[ignore = "a part of the other tests"]
fn compile_in_this_process() {
    let Some(directory) = std::env::var_os(BUILD) else { return };
    let config = RunConfig::new().with_platform(Platform::A2a3Sim).with_output_dir(Path::new(&directory));
    let tensor = Tensor::<f32, 2>::meta;
    let (x, y) = (tensor([40, 64]), tensor([40, 64]));
    let (w1, b1, w2, b2) = (tensor([64, 96]), tensor([1, 96]), tensor([96, 64]), tensor([1, 64]));
    let outcome = ffn::ffn.compile(&(&x, &w1, &b1, &w2, &b2, &y), &config);
    println!("<<{}>>", outcome.map_or_else(|error| error.to_string(), |_| String::new()));
}

/// Makes C++, and notes who was made.
const WORKS: &str = r#"echo ran >> $notes/$(basename $1).run; echo "// made of $(basename $1)" > $3"#;

#[test]
fn an_artifact_has_what_the_assembler_makes_and_keeps_it() {
    let place = Place::new(WORKS);
    assert_eq!(place.compile("a", &[]).0, "");
    let kernels = place.files("a/ptoas", ".pto");
    assert!(kernels.len() >= 4, "{kernels:?}");
    assert_eq!(place.files("notes", ".run"), kernels.iter().map(|name| format!("{name}.run")).collect::<Vec<_>>());
    for kernel in &kernels {
        let made = std::fs::read_to_string(place.at("a/ptoas").join(kernel).with_extension("cpp")).unwrap();
        assert_eq!(made, format!("// made of {kernel}\n"));
    }
    assert_eq!(place.level("a"), "cpp");
    CompiledProgram::from_dir(place.at("a")).unwrap();
    // Another process, another directory: nothing runs again.
    assert_eq!(place.compile("b", &[]).0, "");
    assert_eq!(place.files("b/ptoas", ".cpp").len(), kernels.len());
    let runs = |name: &String| std::fs::read_to_string(place.at("notes").join(format!("{name}.run"))).unwrap();
    assert!(kernels.iter().all(|name| runs(name) == "ran\n"));
    // Without kept results it does.
    assert_eq!(place.compile("b", &[("PYPTO_CACHE", "off")]).0, "");
    assert!(kernels.iter().all(|name| runs(name) == "ran\nran\n"));
}

/// Every run waits until another one has begun, too.
#[test]
fn kernels_are_assembled_side_by_side() {
    let place = Place::new(
        r#"touch $notes/$(basename $1).begun
n=0; while [ $(ls $notes/*.begun | wc -l) -lt 2 ]; do sleep 0.01; n=$((n+1)); [ $n -gt 2000 ] && exit 1; done
echo ok > $3"#,
    );
    assert_eq!(place.compile("a", &[("PYPTO_THREADS", "4")]).0, "");
}

#[test]
fn what_it_says_is_told_at_the_line_of_rust_and_nothing_is_written() {
    let place = Place::new(
        r#"line=$(grep -n pto.tmul $1 | head -1 | cut -d: -f1); [ -n "$line" ] || { echo ok > $3; exit 0; }
echo "$1:$line:5: error: 'pto.tmul' op is not liked today" >&2; exit 1"#,
    );
    let told = place.compile("a", &[]).0;
    assert!(told.contains("PTO0222") && told.contains("'pto.tmul"), "{told}");
    let (file, line) = place_of(&told);
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(&file)).unwrap();
    let quoted = source.lines().nth(line - 1).unwrap();
    assert!(quoted.contains('*') || quoted.contains("gelu"), "{file}:{line}: {quoted}");
    assert!(!place.at("a").exists());
}

/// File and line of the first `--> FILE:LINE:COLUMN`.
fn place_of(told: &str) -> (String, usize) {
    let place = told.lines().find_map(|line| line.trim().strip_prefix("--> ")).unwrap();
    let mut parts = place.split(':');
    (parts.next().unwrap().to_owned(), parts.next().unwrap().parse().unwrap())
}

#[test]
fn one_that_does_not_end_is_an_error_of_its_kind() {
    let place = Place::new("exec sleep 300");
    let told = place.compile("a", &[("PYPTO_PTOAS_SECONDS", "1")]).0;
    assert!(told.contains("PTO0222") && told.contains("took longer than 1 s, and was ended"), "{told}");
    assert!(!place.at("a").exists());
}

#[test]
fn without_one_the_artifact_is_complete_to_the_text() {
    let place = Place::new(WORKS);
    assert_eq!(place.compile("a", &[("PTOAS_ROOT", ""), ("PATH", "/nowhere")]).0, "");
    assert!(place.files("a/ptoas", ".pto").len() >= 4 && place.files("a/ptoas", ".cpp").is_empty());
    assert_eq!(place.level("a"), "pto");
    assert!(place.files("notes", ".run").is_empty());
    // A root without one is a mistake.
    let told = place.compile("b", &[("PTOAS_ROOT", "/nowhere")]).0;
    assert!(told.contains("PTOAS_ROOT") && told.contains("`ptoas` or `bin/ptoas`"), "{told}");
}
