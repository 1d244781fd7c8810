//! The `pypto` command, as its users call it.

mod batch;
mod check;
mod checkpoint;
mod execute;
mod kills;
mod replay;
mod warm;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pypto::CompiledProgram;
use pypto::config::{CompileOptions, PassDumpLevel};
use pypto::golden::write_tensors;
use pypto::ir::text::parse;
use pypto::language::DynamicTensor;

/// `y = x * factor` over four numbers.
fn text(factor: &str) -> String {
    format!(
        r#"program "scale" entry @scale

fn @scale incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {{
  %2: i64 = constant() {{value = 0, dtype = i64}}
  %3: tile<f32>[4] = load(%0, %2)
  %4: f32 = constant() {{value = {factor}, dtype = f32}}
  %5: tile<f32>[4] = mul(%3, %4)
  store(%5, %1, %2)
}}
"#
    )
}

/// Compiled into a directory, with the program after every pass.
fn compiled(directory: &Path, factor: &str) -> CompiledProgram {
    let options = CompileOptions {
        output_dir: Some(directory.to_owned()),
        dump_passes: Some(PassDumpLevel::Concise),
        ..CompileOptions::default()
    };
    pypto::compile(&parse(&text(factor), "scale").unwrap(), &options).unwrap()
}

/// A file with one tensor of four numbers.
fn tensor_file(path: PathBuf, name: &str, values: [f32; 4]) -> PathBuf {
    let tensor = DynamicTensor::from_vec(values.to_vec(), &[4]).unwrap();
    write_tensors(&path, [(name, &tensor)]).unwrap();
    path
}

/// Runs the command.
fn pypto(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pypto"));
    arguments.iter().for_each(|argument| {
        command.arg(argument.as_ref());
    });
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

#[test]
fn codes_are_explained() {
    let (code, out, _) = pypto(&[&"explain", &"203"]);
    assert!(code == 0 && out.starts_with("# PTO0203"), "{out}");
    assert_eq!(pypto(&[&"explain", &"PTO9999"]).0, 1);
    assert_eq!(pypto(&[&"nothing"]).0, 2);
    let (code, out, _) = pypto(&[&"doctor"]);
    assert!(code == 0 && out.contains("threads"), "{out}");
}
