//! Artifacts on disk: what is written, how a directory is replaced, what is read again, and what is refused.

mod concurrent;
mod entries;
mod hostile;
mod layout;
mod replacing;
mod round_trip;
mod validation;

use std::path::Path;

use pypto::CompiledProgram;
use pypto::config::{CompileOptions, PassDumpLevel};
use pypto::ir::Program;
use pypto::ir::text::parse;
use pypto::prelude::*;

/// `y = x * factor` over four numbers, by two in-core functions where `twice`.
fn program(name: &str, factor: &str) -> Program {
    let text = format!(
        r#"program "{name}" entry @{name}

fn @{name} incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {{
  %2: i64 = constant() {{value = 0, dtype = i64}}
  %3: tile<f32>[4] = load(%0, %2)
  %4: f32 = constant() {{value = {factor}, dtype = f32}}
  %5: tile<f32>[4] = mul(%3, %4)
  store(%5, %1, %2)
}}
"#
    );
    parse(&text, name).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Compiled into a directory, with everything that can be asked for.
fn written(program: &Program, directory: &Path) -> CompiledProgram {
    let options = CompileOptions {
        output_dir: Some(directory.to_owned()),
        dump_passes: Some(PassDumpLevel::Explicit),
        profiling: Some(true),
        ..CompileOptions::default()
    };
    pypto::compile(program, &options).unwrap()
}

/// What it makes of 1, 2, 3, 4.
fn results(compiled: &CompiledProgram) -> Vec<f32> {
    let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [4]);
    let mut y = Tensor::<f32, 1>::zeros([4]);
    compiled.call((&x, &mut y)).unwrap();
    y.to_vec()
}

/// All files below a directory, relative, sorted.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => {
                    found.push(entry.path().strip_prefix(directory).unwrap().to_string_lossy().replace('\\', "/"));
                }
            }
        }
    }
    found.sort();
    found
}
