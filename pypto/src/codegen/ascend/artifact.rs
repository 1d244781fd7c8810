//! What a compilation for an Ascend accelerator gives.

use super::dialect::print::print;
use super::dialect::read::{Level, read};
use super::dialect::{Core, Module};
use super::lower::{Lowered, lower};
use super::plan::{Plan, Planner, plan};
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::ir::{Function, IndexExpr, Program};
use crate::target::Target;

/// How to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AscendOptions {
    pub planner: Planner,
    /// Whether text names the places in the user's source.
    pub places: bool,
    /// Whether every file that was written is read again and checked.
    pub verify: bool,
}

impl Default for AscendOptions {
    fn default() -> AscendOptions {
        AscendOptions { planner: Planner::default(), places: true, verify: cfg!(debug_assertions) }
    }
}

/// A kernel of an artifact.
#[derive(Clone, Debug)]
pub struct AscendKernel {
    pub name: String,
    pub core: Core,
    /// One function, placed unless the assembler places.
    pub module: Module,
    /// The `.pto` file.
    pub text: String,
    /// For each parameter of the kernel the number of the in-core function's.
    pub arguments: Vec<usize>,
    /// Whether blocks share the work.
    pub is_spmd: bool,
    /// Iterations to share, over the in-core function's arguments.
    pub iterations: IndexExpr,
    pub plan: Plan,
}

/// Everything for one accelerator, in memory.
#[derive(Clone, Debug)]
pub struct AscendArtifact {
    pub target: &'static Target,
    pub options: AscendOptions,
    /// The program after the passes; its entry dispatches.
    pub program: Program,
    pub kernels: Vec<AscendKernel>,
}

impl AscendArtifact {
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&AscendKernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// Generates the artifact of a program after the passes.
///
/// # Errors
/// For each kernel what the target does not have, or what does not fit; nothing is generated then.
pub fn generate(
    program: Program,
    target: &'static Target,
    options: AscendOptions,
) -> Result<AscendArtifact, Diagnostics> {
    let mut kernels = Vec::new();
    let mut problems = Diagnostics::default();
    for (index, function) in program.functions.iter().enumerate() {
        if index == program.entry {
            continue;
        }
        match kernel(function, target, options) {
            Ok(kernel) => kernels.push(kernel),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.has_errors() {
        return Err(problems.finish());
    }
    Ok(AscendArtifact { target, options, program, kernels })
}

fn kernel(function: &Function, target: &'static Target, options: AscendOptions) -> Result<AscendKernel, Diagnostic> {
    let Lowered { function: mut lowered, arguments, is_spmd, iterations } = lower(function, target)?;
    let plan = plan(&mut lowered, target, options.planner)?;
    let core = lowered.core;
    let module = Module { arch: target.name.to_owned(), functions: vec![lowered] };
    let text = print(&module, options.places);
    if options.verify {
        let level = if options.planner == Planner::External { Level::Two } else { Level::Three };
        read(&text, level).map_err(|error| {
            let title = format!("the text of kernel `{}` is not valid: {error}", function.name);
            Diagnostic::error(codes::INTERNAL, function.loc, title, "this kernel")
                .with_severity(crate::diagnostics::Severity::Internal)
        })?;
    }
    Ok(AscendKernel { name: function.name.clone(), core, module, text, arguments, is_spmd, iterations, plan })
}
