//! `pypto warm`, with a stand-in for cargo that leaves what the tests of kernels would. That these tests leave it is tested
//! where there are such kernels.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use pypto::jit::warmed::{WarmState, Warmed};

/// A script in cargo's place that notes its arguments, leaves these kernels, prints `output` and ends with `code`.
fn stand_in(place: &Path, kernels: &[Warmed], output: &str, code: i32) -> std::path::PathBuf {
    let (script, left) = (place.join("cargo"), place.join("left"));
    let _ = std::fs::remove_file(&left);
    std::fs::write(&left, "").unwrap();
    kernels.iter().for_each(|kernel| kernel.append(&left).unwrap());
    let here = place.display();
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {here}/arguments\ncat {here}/left >> \"$PYPTO_WARM\"\necho '{output}'\nexit {code}\n",
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

fn warm(cargo: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pypto"));
    let command = command.arg("warm").args(arguments).env("CARGO", cargo).env("PYPTO_CACHE_DIR", "/where/kernels/lie");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn kernel(name: &str, state: WarmState, milliseconds: f64) -> Warmed {
    Warmed { kernel: name.to_owned(), state, milliseconds }
}

#[test]
fn it_tells_what_it_compiled_and_what_was_there() {
    let place = tempfile::tempdir().unwrap();
    let kernels = [
        kernel("softmax(x: [8, 8])", WarmState::Compiled, 31.42),
        kernel("gelu(x: [64])", WarmState::Found, 0.6),
        // Another test of the same package made the same kernel.
        kernel("softmax(x: [8, 8])", WarmState::Found, 0.5),
    ];
    let cargo = stand_in(place.path(), &kernels, "running 3 tests", 0);
    let (code, out, error) = warm(&cargo, &[], &["-p", "kernels"]);
    let expected = "there already         gelu(x: [64])\ncompiled     31.4 ms  softmax(x: [8, 8])\n\
        1 compiled, 1 there already, 0 not kept, 0 failed, in 32 ms; cache /where/kernels/lie\n";
    assert_eq!((code, out.as_str(), error.as_str()), (0, expected, ""));
    let arguments = std::fs::read_to_string(place.path().join("arguments")).unwrap();
    assert_eq!(arguments.lines().collect::<Vec<_>>(), ["test", "--no-fail-fast", "-p", "kernels", "_lowers"]);
}

#[test]
fn kernels_that_are_wrong_or_not_kept_are_failures() {
    let place = tempfile::tempdir().unwrap();
    let wrong = kernel("gemm", WarmState::Failed("error[PTO0203]: extents differ".to_owned()), 0.0);
    let cargo = stand_in(place.path(), &[wrong], "test gemm_lowers ... FAILED", 101);
    let (code, out, error) = warm(&cargo, &[], &[]);
    assert_eq!((code, error.as_str()), (1, ""));
    assert!(out.contains("FAILED                gemm:\nerror[PTO0203]: extents differ\n0 compiled"), "{out}");
    let not_kept = kernel("table(y: [4])", WarmState::NotKept("it has code of the program".to_owned()), 2.0);
    let cargo = stand_in(place.path(), &[not_kept], "", 0);
    let (code, out, _) = warm(&cargo, &[], &[]);
    assert_eq!(code, 1);
    assert!(out.contains("NOT KEPT              table(y: [4]): it has code of the program\n"), "{out}");
}

#[test]
fn nothing_to_warm_and_nowhere_to_keep_it_are_errors() {
    let place = tempfile::tempdir().unwrap();
    let cargo = stand_in(place.path(), &[], "running 0 tests", 0);
    let (code, _, error) = warm(&cargo, &[], &[]);
    assert!(code == 2 && error.contains("no kernel of these packages says for which arguments"), "{error}");
    let (code, _, error) = warm(&cargo, &[("PYPTO_CACHE", "off")], &[]);
    assert!(code == 2 && error.contains("there is no cache to warm: `PYPTO_CACHE` is `off`"), "{error}");
    let (code, _, error) = warm(&cargo, &[("PYPTO_THREADS", "none")], &[]);
    assert!(code == 2 && error.contains("PYPTO_THREADS"), "{error}");
    // Packages that do not build, and tests that crash.
    let cargo = stand_in(place.path(), &[], "signal: 11", 101);
    let (code, _, error) = warm(&cargo, &[], &[]);
    assert!(code == 1 && error.contains("`cargo test` failed\nsignal: 11"), "{error}");
    let (code, _, error) = warm(&place.path().join("missing"), &[], &[]);
    assert!(code == 3 && error.contains("`cargo test` cannot be started"), "{error}");
}
