//! `pypto check`, as an editor runs it: with a stand-in for cargo that says what a run of `cargo test` would.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use pypto::diagnostics::{Diagnostic, Diagnostics, codes, json};
use pypto::ir::{FileId, Loc};

/// A script in cargo's place that notes its arguments, prints `output` and ends with `code`.
fn stand_in(place: &Path, output: &str, code: i32) -> std::path::PathBuf {
    let (script, said) = (place.join("cargo"), place.join("said"));
    std::fs::write(&said, output).unwrap();
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}/arguments\nprintf '%s' \"$PYPTO_MESSAGE_FORMAT\" > {0}/format\ncat {1}\nexit {code}\n",
        place.display(),
        said.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

fn check(cargo: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pypto"));
    let output = command.arg("check").args(arguments).env("CARGO", cargo).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// What a test of `check(..)` prints where the kernel is wrong.
fn message() -> String {
    let loc = Loc::new(FileId::intern("src/kernels.rs"), 7, 13, 7, 25);
    let problem = Diagnostic::error(codes::CONTRACTION, loc, "contraction dimensions differ: 64 and 32", "here")
        .label(Loc::new(FileId::intern("src/kernels.rs"), 5, 9, 5, 20), "K = 64 comes from here")
        .help("load matching K slices");
    json::lines(&Diagnostics(vec![problem]))
}

#[test]
fn an_editor_reads_objects_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let artifact = r#"{"reason":"compiler-artifact","package_id":"kernels 0.1.0"}"#;
    let output = format!(
        "{artifact}\n\nrunning 1 test\ntest gemm_lowers ... FAILED\n\nfailures:\n\n---- gemm_lowers stdout ----\nthread 'gemm_lowers' panicked at src/kernels.rs:3:1:\n\n{}\nnote: run with `RUST_BACKTRACE=1`\n",
        message()
    );
    let cargo = stand_in(place.path(), &output, 101);
    let (code, out, error) = check(&cargo, &["--message-format=json", "-p", "kernels"]);
    assert_eq!((code, error.as_str()), (1, ""));
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [cargos, ours] = &lines[..] else { panic!("{out}") };
    assert_eq!(cargos["reason"], "compiler-artifact");
    // What rust-analyzer and cargo's own readers take from a diagnostic of rustc.
    assert_eq!(ours["$message_type"], "diagnostic");
    assert_eq!((ours["level"].as_str(), ours["code"]["code"].as_str()), (Some("error"), Some("PTO0203")));
    assert!(ours["message"].as_str().unwrap().contains("64 and 32"));
    assert!(ours["rendered"].as_str().unwrap().contains("error[PTO0203]"));
    let span = |span: &serde_json::Value| {
        let number = |key: &str| span[key].as_u64().unwrap();
        let columns = (number("column_start"), number("column_end"));
        assert!(span["byte_start"].is_u64() && span["byte_end"].is_u64() && span["text"].is_array());
        (span["file_name"].as_str().unwrap().to_owned(), number("line_start"), columns, span["is_primary"] == true)
    };
    let spans: Vec<_> = ours["spans"].as_array().unwrap().iter().map(span).collect();
    assert!(spans.contains(&("src/kernels.rs".to_owned(), 7, (13, 25), true)), "{spans:?}");
    assert!(spans.contains(&("src/kernels.rs".to_owned(), 5, (9, 20), false)), "{spans:?}");
    assert_eq!(ours["children"][0]["level"], "help");
    // It runs the tests of the package alone, and asks them for this form.
    let arguments = std::fs::read_to_string(place.path().join("arguments")).unwrap();
    let expected = ["test", "--no-fail-fast", "--message-format=json", "-p", "kernels", "_lowers"];
    assert_eq!(arguments.lines().collect::<Vec<_>>(), expected);
    assert_eq!(std::fs::read_to_string(place.path().join("format")).unwrap(), "json");
}

#[test]
fn people_read_what_cargo_says() {
    let place = tempfile::tempdir().unwrap();
    let cargo = stand_in(place.path(), "test gemm_lowers ... ok\n", 0);
    let (code, out, _) = check(&cargo, &[]);
    assert_eq!((code, out.as_str()), (0, "test gemm_lowers ... ok\n"));
    assert_eq!(std::fs::read_to_string(place.path().join("format")).unwrap(), "");
    let (code, _, error) = check(&place.path().join("missing"), &[]);
    assert!(code == 3 && error.contains("`cargo test` cannot be started"), "{error}");
}
