//! `pypto replay` and `debug/run.sh`.

use super::*;
use pypto::artifact::KernelCode;

/// An artifact of `y = 2 x` with saved inputs and outputs.
fn artifact(place: &Path) -> PathBuf {
    let directory = place.join("a");
    compiled(&directory, "2.0");
    let inputs = tensor_file(place.join("x.safetensors"), "x", [1.0, 2.0, 3.0, 4.0]);
    let (code, out, error) = pypto(&[
        &"execute-artifact",
        &"--work-dir",
        &directory,
        &"--inputs",
        &inputs,
        &"--no-validate",
        &"--save-inputs",
    ]);
    assert_eq!(code, 0, "{out}{error}");
    directory
}

/// Changes a file as an editor does.
fn edit(file: PathBuf, from: &str, to: &str) {
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    std::fs::write(file, text.replace(from, to)).unwrap();
}

fn factor_three(place: &Path) -> PathBuf {
    tensor_file(place.join("three.safetensors"), "y", [3.0, 6.0, 9.0, 12.0])
}

#[test]
fn nothing_edited_runs_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let directory = artifact(place.path());
    let (code, out, error) = pypto(&[&"replay", &directory]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.starts_with("nothing was edited\npassed: ") && out.contains("saved in"), "{out}");
}

#[test]
fn edited_programs_are_compiled_from_there_on() {
    let stages = [
        ("ir/lowered.ir", "no pass runs"),
        ("ir/program.ir", "passes run from `flatten_dispatch` on"),
        ("passes_dump/13_after_tensor_tiling.ir", "passes run from `carry_around_calls` on"),
    ];
    for (file, said) in stages {
        let place = tempfile::tempdir().unwrap();
        let directory = artifact(place.path());
        edit(directory.join(file), "value = 2.0", "value = 3.0");
        let (code, out, error) = pypto(&[&"replay", &directory]);
        assert_eq!(code, 1, "the saved outputs are those of 2 x\n{out}{error}");
        assert!(out.contains(&format!("{file} was edited: {said}, and code is made for")), "{out}");
        let golden = factor_three(place.path());
        let (code, out, error) = pypto(&[&"replay", &directory, &"--golden", &golden]);
        assert_eq!(code, 0, "{out}{error}");
        // The sealed artifact is as it was, and still refused.
        let sealed = CompiledProgram::from_dir(&directory).unwrap_err().to_string();
        assert!(sealed.contains(file), "{sealed}");
        let (code, out, error) = pypto(&[&"replay", &directory, &"--golden", &golden, &"--write"]);
        assert!(code == 0 && out.contains("  written   "), "{out}{error}");
        CompiledProgram::from_dir(&directory).unwrap();
        let index = std::fs::read_to_string(directory.join("passes_dump/index.txt")).unwrap();
        let dumped = index.lines().filter_map(|line| line.split(": ").nth(1)).filter(|name| name.ends_with(".ir"));
        assert!(dumped.clone().all(|name| directory.join("passes_dump").join(name).is_file()), "{index}");
        assert_eq!(dumped.count() + 1, std::fs::read_dir(directory.join("passes_dump")).unwrap().count(), "{index}");
        let (code, out, _) = pypto(&[&"replay", &directory, &"--golden", &golden]);
        assert!(code == 0 && out.starts_with("nothing was edited"), "{out}");
    }
}

#[test]
fn edits_that_change_no_code_keep_it() {
    let place = tempfile::tempdir().unwrap();
    let directory = artifact(place.path());
    let file = directory.join("ir/lowered.ir");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "\n").unwrap();
    let (code, out, error) = pypto(&[&"replay", &directory]);
    assert_eq!(code, 0, "{out}{error}");
    let native = CompiledProgram::from_dir(compiled(&place.path().join("b"), "2.0").output_dir().unwrap()).unwrap();
    if native.interpreted_kernels().is_empty() {
        assert!(out.contains("every kernel keeps its code"), "{out}");
    }
}

#[test]
fn edited_texts_become_objects() {
    let place = tempfile::tempdir().unwrap();
    let directory = artifact(place.path());
    let program = CompiledProgram::from_dir(&directory).unwrap();
    if program.executable().kernels.iter().any(|kernel| kernel.code == KernelCode::Interpreted) {
        return;
    }
    let kernels: Vec<PathBuf> =
        std::fs::read_dir(directory.join("kernels")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let text = kernels.iter().find(|path| path.extension().is_some_and(|end| end == "ll")).unwrap();
    let name = format!("kernels/{}", text.file_name().unwrap().to_string_lossy());
    // A comment changes the text and not the code; what is expected is told by the saved outputs.
    let was = std::fs::read_to_string(text).unwrap();
    std::fs::write(text, format!("; by hand\n{was}")).unwrap();
    let (code, out, error) = pypto(&[&"replay", &directory]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.contains(&format!("{name} was edited: its object is made anew")), "{out}");
    // Two is 0x4000000000000000 or 2.0 as an LLVM constant; a sum in the place of the product computes x + 2.
    if was.contains("fmul") {
        std::fs::write(text, was.replace("fmul", "fadd")).unwrap();
        let golden = tensor_file(place.path().join("sum.safetensors"), "y", [3.0, 4.0, 5.0, 6.0]);
        let (code, out, error) = pypto(&[&"replay", &directory, &"--golden", &golden, &"--write"]);
        assert!(code == 0, "{out}{error}");
        assert!(std::fs::read_to_string(text).unwrap().contains("fadd"));
        assert_eq!(pypto(&[&"replay", &directory, &"--golden", &golden]).0, 0);
    }
    std::fs::write(text, "nonsense").unwrap();
    let (code, _, error) = pypto(&[&"replay", &directory]);
    assert!(code == 1 && error.contains(&format!("the edited {name} cannot be used")), "{error}");
}

#[test]
fn contradicting_and_wrong_edits_are_told() {
    let place = tempfile::tempdir().unwrap();
    let directory = artifact(place.path());
    edit(directory.join("ir/program.ir"), "value = 2.0", "value = 3.0");
    edit(directory.join("ir/lowered.ir"), "value = 2.0", "value = 4.0");
    let (code, _, error) = pypto(&[&"replay", &directory]);
    assert!(code == 2 && error.contains("were both edited"), "{error}");
    edit(directory.join("ir/program.ir"), "value = 3.0", "value = 2.0");
    std::fs::write(directory.join("ir/lowered.ir"), "program").unwrap();
    let (code, _, error) = pypto(&[&"replay", &directory]);
    assert!(code == 1 && error.contains("the edited ir/lowered.ir cannot be used"), "{code} {error}");
    std::fs::remove_file(directory.join("ir/lowered.ir")).unwrap();
    let (code, _, error) = pypto(&[&"replay", &directory]);
    assert!(code == 3 && error.contains("is missing"), "{code} {error}");
}

#[cfg(unix)]
#[test]
fn every_artifact_has_a_script_that_runs_it() {
    let place = tempfile::tempdir().unwrap();
    let directory = artifact(place.path());
    let moved = place.path().join("moved here");
    std::fs::rename(&directory, &moved).unwrap();
    let script = Command::new(moved.join("debug/run.sh")).env("PYPTO", env!("CARGO_BIN_EXE_pypto")).output().unwrap();
    let text = String::from_utf8_lossy(&script.stdout).into_owned();
    assert!(script.status.success() && text.contains("passed: "), "{text}{}", String::from_utf8_lossy(&script.stderr));
}
