//! The program of a kernel as the front end makes it, and after every pass for the host.

use pypto::frontend::generic::Function;
use pypto::frontend::{Specialization, instantiate};
use pypto::ir::text::{PrintOptions, canonicalize, parse, print};
use pypto::ir::{Program, verify};
use pypto::passes::list::{ALL, PassContext};
use pypto::passes::pipeline::PassPipeline;
use pypto::passes::tensor_tiling::Limits;

/// A program, and the pass that it comes from.
pub struct Stage {
    /// Number in the pipeline, and name of the pass.
    pub name: String,
    pub program: Program,
}

/// Runs the passes for the host one by one. Every program is verified, and printed and parsed back to itself.
///
/// # Panics
/// If a pass fails, or leaves a program that is invalid or that its text does not give back.
pub fn stages(function: &'static Function, specialization: &Specialization, threads: usize) -> Vec<Stage> {
    let kernel = function.name.name;
    let program = instantiate(function, specialization).unwrap_or_else(|e| panic!("{kernel}: {e}"));
    run(kernel, program, threads)
}

/// As [`stages`], of a program that is there already.
///
/// # Panics
/// Likewise.
pub fn run(kernel: &str, mut program: Program, threads: usize) -> Vec<Stage> {
    let limits = Limits::for_threads(threads);
    let mut stages = vec![stage(kernel, "00 frontend".to_owned(), &program)];
    for (number, name) in PassPipeline::host(limits).names().enumerate() {
        let pass = ALL.iter().find(|pass| pass.name == name).unwrap_or_else(|| panic!("no pass `{name}`"));
        (pass.run)(&mut program, &PassContext { limits }).unwrap_or_else(|e| panic!("{kernel}, {name}: {e}"));
        stages.push(stage(kernel, format!("{:02} {name}", number + 1), &program));
    }
    stages
}

fn stage(kernel: &str, name: String, program: &Program) -> Stage {
    verify(program).unwrap_or_else(|e| panic!("{kernel} after {name}: {e}"));
    let mut program = program.clone();
    canonicalize(&mut program);
    let text = print(&program, PrintOptions::FULL);
    let parsed = parse(&text, "dump").unwrap_or_else(|e| panic!("{kernel} after {name}: {e}\n{text}"));
    assert_eq!(print(&parsed, PrintOptions::FULL), text, "{kernel} after {name}: the text changes");
    assert!(parsed == program, "{kernel} after {name}: the text gives another program\n{text}");
    Stage { name, program }
}
