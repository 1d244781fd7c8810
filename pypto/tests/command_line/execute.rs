//! `pypto execute-artifact --work-dir`.

use super::*;
use pypto::golden::read_tensors;

#[test]
fn outcomes_have_exit_codes() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    let platform = compiled(&directory, "2.0").platform().to_string();
    let inputs = tensor_file(place.path().join("x.safetensors"), "x", [1.0, 2.0, 3.0, 4.0]);
    let right = tensor_file(place.path().join("right.safetensors"), "y", [2.0, 4.0, 6.0, 8.0]);
    let wrong = tensor_file(place.path().join("wrong.safetensors"), "y", [2.0, 4.0, 6.0, 9.0]);
    let other = tensor_file(place.path().join("other.safetensors"), "z", [2.0; 4]);
    let saved = place.path().join("saved.safetensors");
    let run = |rest: &[&dyn AsRef<std::ffi::OsStr>]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"execute-artifact", &"--work-dir", &directory];
        all.extend(rest);
        pypto(&all)
    };
    let (code, out, error) = run(&[&"--inputs", &inputs, &"--golden", &right, &"--save", &saved]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.starts_with("passed: ") && out.contains("y: agrees") | out.contains("compared  y"), "{out}");
    assert_eq!(read_tensors(&saved).unwrap()["y"].elements::<f32>(), Some(&[2.0, 4.0, 6.0, 8.0][..]));
    let (code, out, _) = run(&[&"--inputs", &inputs, &"--golden", &wrong]);
    assert!(code == 1 && out.contains("[3]: 8, expected 9"), "{code} {out}");
    assert_eq!(run(&[&"--inputs", &inputs, &"--golden", &wrong, &"--atol", &"2"]).0, 0);
    let (code, out, _) = run(&[&"--inputs", &inputs, &"--golden", &other]);
    assert!(code == 1 && out.contains("nothing was compared"), "{code} {out}");
    let (code, out, _) = run(&[&"--no-validate", &"--platform", &platform]);
    assert!(code == 0 && out.contains("generated"), "{out}");
    // What means nothing.
    let (code, _, error) = run(&[&"--inputs", &inputs]);
    assert!(code == 2 && error.contains("nothing to compare"), "{code} {error}");
    assert_eq!(run(&[&"--no-validate", &"--platform", &"a5"]).0, 2);
    assert_eq!(run(&[&"--no-validate", &"--platform", &"moon"]).0, 2);
    assert_eq!(run(&[&"--no-validate", &"--device-id", &"3"]).0, 2);
    assert_eq!(run(&[&"--no-validate", &"--dump-args", &"7"]).0, 2);
    assert_eq!(run(&[&"--golden", &right, &"--rtol=-1"]).0, 2);
    assert_eq!(run(&[&"--no-validate", &"--batch-manifest", &"m", &"--results", &"r"]).0, 2);
    // What cannot be set up.
    let (code, _, error) = run(&[&"--no-validate", &"--inputs", &"/nowhere.npy"]);
    assert!(code == 3 && error.contains("INFRASTRUCTURE") && error.contains("/nowhere.npy"), "{code} {error}");
    let (code, _, error) = run(&[&"--no-validate", &"--inputs", &other]);
    assert!(code == 3 && error.contains("there is no parameter `z`"), "{code} {error}");
    let nowhere = place.path().join("nowhere");
    assert_eq!(pypto(&[&"execute-artifact", &"--work-dir", &nowhere, &"--no-validate"]).0, 3);
}

#[test]
fn recordings_and_saved_inputs_are_the_next_inputs() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    compiled(&directory, "2.0");
    let inputs = tensor_file(place.path().join("x.safetensors"), "x", [1.0, 2.0, 3.0, 4.0]);
    let right = tensor_file(place.path().join("right.safetensors"), "y", [2.0, 4.0, 6.0, 8.0]);
    let run = |rest: &[&dyn AsRef<std::ffi::OsStr>]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"execute-artifact", &"--work-dir", &directory];
        all.extend(rest);
        pypto(&all)
    };
    let (code, out, error) =
        run(&[&"--no-validate", &"--inputs", &inputs, &"--dump-args", &"1", &"--enable-chip-swimlane"]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(directory.join("dfx_outputs/swimlane.trace.json").is_file());
    let (code, out, _) = run(&[&"--golden", &right]);
    assert!(code == 0 && out.contains("recorded in"), "{out}");
    assert_eq!(run(&[&"--golden", &right, &"--save-inputs"]).0, 0);
    let (code, out, _) = run(&[&"--golden", &right]);
    assert!(code == 0 && out.contains("saved in"), "{out}");
    // The artifact is as it was.
    CompiledProgram::from_dir(&directory).unwrap();
}
