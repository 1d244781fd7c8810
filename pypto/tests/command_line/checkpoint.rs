//! `pypto checkpoint` and `pypto compile`.

use super::*;

/// Two tasks: `t = 2 x`, then `y = t * factor`.
fn two_tasks(factor: &str) -> String {
    let kernel = |name: &str, factor: &str| {
        format!(
            r#"fn @{name} incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {{
  %2: i64 = constant() {{value = 0, dtype = i64}}
  %3: tile<f32>[4] = load(%0, %2)
  %4: f32 = constant() {{value = {factor}, dtype = f32}}
  %5: tile<f32>[4] = mul(%3, %4)
  store(%5, %1, %2)
}}
"#
        )
    };
    format!(
        r#"program "chain" entry @chain
fn @chain orchestration (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {{
  %2: tensor<f32>[4] = alloc() {{dtype = f32}}
  call(%0, %2) {{callee = "first"}}
  call(%2, %1) {{callee = "second"}}
}}
{}{}"#,
        kernel("first", "2.0"),
        kernel("second", factor)
    )
}

/// Compiles a text by the command.
fn compile(place: &Path, name: &str, text: &str) -> PathBuf {
    let (program, directory) = (place.join(format!("{name}.ir")), place.join(name));
    std::fs::write(&program, text).unwrap();
    let (code, out, error) = pypto(&[&"compile", &program, &"--output-dir", &directory, &"--dump-passes"]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.starts_with("compiled ") && error.is_empty(), "{out}{error}");
    directory
}

#[test]
fn the_first_task_that_differs_is_named() {
    let place = tempfile::tempdir().unwrap();
    let (a, b) = (compile(place.path(), "a", &two_tasks("3.0")), compile(place.path(), "b", &two_tasks("5.0")));
    let (code, out, error) = pypto(&[&"checkpoint", &a, &a]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.contains("tasks     2 and 2; the first 2 give the same") && out.contains("output    y: ok"), "{out}");
    let (code, out, error) = pypto(&[&"checkpoint", &a, &b]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("the first 1 give the same"), "{out}");
    assert!(out.contains("part at   task 1, kernel `second`: `y` after it: DIFFERS, f32, 4 of 4"), "{out}");
    assert!(!a.join("dfx_outputs").exists(), "nothing is written");
    // Close enough is a matter of the tolerance.
    let (code, out, _) = pypto(&[&"checkpoint", &a, &b, &"--rtol", &"10"]);
    assert_eq!(code, 0, "{out}");
}

#[test]
fn an_edited_build_is_compared_with_what_it_was() {
    let place = tempfile::tempdir().unwrap();
    let a = compile(place.path(), "a", &two_tasks("3.0"));
    let (code, out, error) = pypto(&[&"checkpoint", &a]);
    assert_eq!(code, 0, "{out}{error}");
    let program = a.join("ir/program.ir");
    let text = std::fs::read_to_string(&program).unwrap();
    std::fs::write(&program, text.replace("value = 2.0", "value = 2.5")).unwrap();
    let (code, out, error) = pypto(&[&"checkpoint", &a]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("part at   task 0, kernel `first`") && out.contains("what it was before the edits"), "{out}");
}

#[test]
fn builds_of_other_tasks_part_where_these_begin() {
    let place = tempfile::tempdir().unwrap();
    let a = compile(place.path(), "a", &two_tasks("3.0"));
    let b = compile(place.path(), "b", &two_tasks("3.0").replace("second", "other"));
    let (code, out, error) = pypto(&[&"checkpoint", &a, &b]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("part at   task 1: `second`(") && out.contains("`other`("), "{out}");
    assert!(out.contains("output    y: ok"), "{out}");
    let (code, _, error) = pypto(&[&"checkpoint", &a, &place.path().join("missing")]);
    assert!(code == 3 && error.contains("is no artifact"), "{error}");
    let (code, _, error) = pypto(&[&"checkpoint", &a, &a, &"--enable-dep-gen"]);
    assert!(code == 2 && error.contains("no files are written"), "{error}");
}

#[test]
fn what_cannot_be_compiled_is_told() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("p.ir");
    let directory = place.path().join("out");
    let compile = |rest: &[&dyn AsRef<std::ffi::OsStr>]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"compile", &program, &"--output-dir", &directory];
        all.extend(rest);
        pypto(&all)
    };
    let (code, _, error) = compile(&[]);
    assert!(code == 3 && error.contains("cannot read") && error.contains("p.ir"), "{error}");
    std::fs::write(&program, "program \"p\" entry @f\nfn @f incore (").unwrap();
    let (code, _, error) = compile(&[]);
    assert!(code == 1 && error.contains("p.ir"), "{code} {error}");
    std::fs::write(&program, text("2.0").replace("mul(%3, %4)", "mul(%3)")).unwrap();
    let (code, _, error) = compile(&[]);
    assert!(code == 1 && error.contains("p.ir is no valid program:") && !error.contains("internal"), "{code} {error}");
    std::fs::write(&program, text("2.0")).unwrap();
    let (code, _, error) = compile(&[&"--threads", &"1000"]);
    assert!(code == 2 && error.contains("`threads` is `1000`"), "{error}");
    let (code, _, error) = compile(&[&"--platform", &"moon"]);
    assert!(code == 2 && error.contains("moon"), "{error}");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("letter.txt"), "mine").unwrap();
    let (code, _, error) = compile(&[]);
    assert!(code == 3 && error.contains("letter.txt"), "{error}");
}

/// `two_tasks`, with checkpoints in the second task.
fn with_checkpoints(factor: &str) -> String {
    two_tasks(factor).replace(
        "  store(%5, %1, %2)\n}\n",
        "  checkpoint(%3) {message = \"taken\", origin = \"`load` in line 3\"}\n  checkpoint(%5) {message = \"product\", origin = \"\"}\n  store(%5, %1, %2)\n}\n",
    )
}

#[test]
fn values_within_tasks_are_named() {
    let place = tempfile::tempdir().unwrap();
    let compile = |name: &str, factor: &str, more: &[&str]| {
        let (program, directory) = (place.path().join(format!("{name}.ir")), place.path().join(name));
        std::fs::write(&program, with_checkpoints(factor)).unwrap();
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"compile", &program, &"--output-dir", &directory];
        all.extend(more.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        let (code, out, error) = pypto(&all);
        assert_eq!(code, 0, "{out}{error}");
        directory
    };
    let (a, b) = (compile("a", "3.0", &["--checkpoints"]), compile("b", "5.0", &["--checkpoints"]));
    let (code, out, error) = pypto(&[&"checkpoint", &a, &a]);
    assert!(code == 0 && out.contains("values    4 and 4; the first 4 are the same"), "{out}{error}");
    let (code, out, _) = pypto(&[&"checkpoint", &a, &b]);
    assert!(code == 1 && out.contains("values    4 and 4; the first 3 are the same"), "{out}");
    assert!(out.contains("part at   checkpoint 3, ") && out.contains("`product`: DIFFERS, f32, 4 of 4"), "{out}");
    // Compiled without them, there are none.
    let (c, d) = (compile("c", "3.0", &[]), compile("d", "3.0", &["--platform", "interpreter"]));
    let (code, out, _) = pypto(&[&"checkpoint", &c, &d]);
    assert!(code == 0 && !out.contains("values"), "{out}");
}

#[test]
fn recordings_are_compared() {
    use pypto::ir::report::file::write_recording;
    use pypto::ir::report::{Report, ReportKind, Shown};
    use pypto::ir::{FileId, Loc};
    use pypto::ops::reference::{Array, Scalar, Shape};

    let place = tempfile::tempdir().unwrap();
    let report = |name: &str, line: u32, value: Shown, origin: &str| {
        let loc = Loc::new(FileId::intern("src/kernels.rs"), line, 9, line, 20);
        let (text, origin) = (name.to_owned(), origin.to_owned());
        Report { kind: ReportKind::Checkpoint, text, origin, loc, values: vec![value] }
    };
    let tile = |last: f32| Shown::Tile(Array::from_vec(vec![1.0, 2.0, 3.0, last], Shape::new(&[2, 2])));
    let write = |directory: &str, last: f32, origin: &str| {
        let directory = place.path().join(directory);
        std::fs::create_dir(&directory).unwrap();
        for call in 0..2 {
            let list =
                [report("i", 3, Shown::Scalar(Scalar::new(call as i64)), ""), report("sum", 4, tile(last), origin)];
            write_recording(&directory.join(format!("call-{call:05}.safetensors")), &list[..1 + call]).unwrap();
        }
        directory
    };
    let (a, b) = (write("a", 4.0, ""), write("b", 4.5, "`row_sum` in line 2"));
    let (code, out, error) = pypto(&[&"checkpoint", &a, &a]);
    assert!(
        code == 0 && out.contains("calls     2 and 2") && out.contains("values    3 and 3; the first 3"),
        "{out}{error}"
    );
    let (code, out, error) = pypto(&[&"checkpoint", &a, &b]);
    assert!(code == 1 && error.is_empty(), "{out}{error}");
    let expected = "part at   checkpoint 1 of call 1, src/kernels.rs:4:9, made by `row_sum` in line 2: `sum`: DIFFERS";
    assert!(out.contains(expected) && out.contains("[1, 1]: 4, expected 4.5"), "{out}");
    let (code, out, _) = pypto(&[&"checkpoint", &a, &b, &"--rtol", &"1"]);
    assert_eq!(code, 0, "{out}");
    let (first, second) = (a.join("call-00000.safetensors"), a.join("call-00001.safetensors"));
    let (code, out, _) = pypto(&[&"checkpoint", &first, &second]);
    assert!(code == 1 && out.contains("part at   checkpoint 0, src/kernels.rs:3:9"), "{out}");
    let (code, _, error) = pypto(&[&"checkpoint", &a]);
    assert!(code == 2 && error.contains("name it, too"), "{error}");
    let (code, _, error) = pypto(&[&"checkpoint", &a, &b, &"--threads", &"2"]);
    assert!(code == 2 && error.contains("--rtol and --atol alone"), "{error}");
    let (code, _, error) = pypto(&[&"checkpoint", &a, &place.path().join("nothing")]);
    assert!(code == 3 && error.contains("nothing"), "{error}");
}
