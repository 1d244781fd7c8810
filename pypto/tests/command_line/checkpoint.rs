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
