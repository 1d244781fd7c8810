//! What a compilation for an Ascend accelerator gives.

use super::dialect::print::print;
use super::dialect::read::{Level, read};
use super::dialect::{Core, Module};
use super::lower::{Lowered, lower};
use super::manifest::manifest;
use super::orchestration::orchestration;
use super::plan::{Plan, Planner, plan};
use super::wrapper::wrapper;
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::ir::{Block, Direction, Function, FunctionKind, IndexExpr, Program};
use crate::passes::split_columns::split_columns;
use crate::passes::tensor_tiling::{Limits, tensor_tiling};
use crate::passes::{cse, dce, hoist, simplify};
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
    /// For each of these the direction of a tensor; none for numbers.
    pub directions: Vec<Option<Direction>>,
    /// Whether blocks share the work.
    pub is_spmd: bool,
    /// Iterations to share, over the in-core function's arguments.
    pub iterations: IndexExpr,
    pub plan: Plan,
    /// The C++ that the assembler made of the text, where it has run.
    pub assembled: Option<String>,
}

/// Everything for one accelerator, in memory.
#[derive(Clone, Debug)]
pub struct AscendArtifact {
    pub target: &'static Target,
    pub options: AscendOptions,
    /// The program after the passes; its entry dispatches.
    pub program: Program,
    pub kernels: Vec<AscendKernel>,
    /// The C++ of the entry.
    pub orchestration: String,
}

impl AscendArtifact {
    /// Every file of the artifact: its name relative to the artifact's directory, and its text.
    pub fn files(&self) -> Vec<(String, String)> {
        let entry = &self.program.entry_function().name;
        let mut files = vec![
            ("kernel_config.json".to_owned(), manifest(self)),
            (format!("orchestration/{entry}.cpp"), self.orchestration.clone()),
        ];
        for kernel in &self.kernels {
            files.push((format!("ptoas/{}.pto", kernel.name), kernel.text.clone()));
            if let Some(source) = &kernel.assembled {
                files.push((format!("ptoas/{}.cpp", kernel.name), source.clone()));
            }
            files.push((format!("kernels/{}/{}.cpp", kernel.core.unit(), kernel.name), wrapper(kernel)));
        }
        files
    }

    /// What the assembler is called with besides the files.
    pub fn assembler_arguments(&self) -> Vec<String> {
        let level = if self.options.planner == Planner::External { "level2" } else { "level3" };
        vec![
            "--enable-insert-sync".to_owned(),
            format!("--pto-level={level}"),
            format!("--pto-arch={}", self.target.assembler_arch),
        ]
    }

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
    let orchestration = orchestration(program.entry_function(), &kernels, target)?;
    Ok(AscendArtifact { target, options, program, kernels, orchestration })
}

fn kernel(function: &Function, target: &'static Target, options: AscendOptions) -> Result<AscendKernel, Diagnostic> {
    let (Lowered { function: lowered, arguments, is_spmd, iterations }, plan) =
        placed(function, target, options.planner)?;
    let core = lowered.core;
    let module = Module { arch: target.name.to_owned(), functions: vec![lowered] };
    let text = print(&module, options.places);
    if options.verify {
        let level = if options.planner == Planner::External { Level::Two } else { Level::Three };
        check_text(&text, level, function)?;
    }
    let directions = arguments.iter().map(|number| direction(function, *number)).collect();
    Ok(AscendKernel {
        directions,
        name: function.name.clone(),
        core,
        module,
        text,
        arguments,
        is_spmd,
        iterations,
        plan,
        assembled: None,
    })
}

#[cfg(test)]
thread_local! {
    /// How many texts were checked on this thread: tests see by it whether the level of verification counts.
    pub(crate) static CHECKED_TEXTS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Reads a text as the assembler would.
fn check_text(text: &str, level: Level, function: &Function) -> Result<(), Diagnostic> {
    #[cfg(test)]
    CHECKED_TEXTS.with(|count| count.set(count.get() + 1));
    read(text, level).map(drop).map_err(|error| {
        let title = format!("the text of kernel `{}` is not valid: {error}", function.name);
        Diagnostic::error(codes::INTERNAL, function.loc, title, "this kernel")
            .note(format!("the text is\n{text}"))
            .with_severity(crate::diagnostics::Severity::Internal)
    })
}

/// Widths of the blocks of columns that are tried for rows that do not fit.
const WIDTHS: [i64; 4] = [4096, 2048, 1024, 512];

/// A kernel whose tiles are placed. Tiles that do not fit are cut into smaller blocks, where the kernel's work allows it:
/// first of rows, then, where not even one row fits, of columns.
fn placed(function: &Function, target: &'static Target, planner: Planner) -> Result<(Lowered, Plan), Diagnostic> {
    let attempt = |function: &Function| -> Result<(Lowered, Plan), Diagnostic> {
        let mut lowered = lower(function, target)?;
        let plan = plan(&mut lowered.function, target, planner)?;
        Ok((lowered, plan))
    };
    let problem = match attempt(function) {
        Err(problem) if problem.code == codes::MEMORY => problem,
        outcome => return outcome,
    };
    let rows: Vec<Function> = [1, 2, 4, 8, 16]
        .into_iter()
        .filter_map(|divisor| recut(function, Limits::for_target(target).shrunk(divisor)))
        .collect();
    if let Some(outcome) = rows.iter().find_map(|function| attempt(function).ok()) {
        return Ok(outcome);
    }
    // What is cut into the fewest rows already needs the least.
    for cut in rows.iter().rev().chain([function]) {
        let columns = WIDTHS.into_iter().filter_map(|width| column_blocks(cut, width));
        if let Some(outcome) = columns.into_iter().find_map(|function| attempt(&function).ok()) {
            return Ok(outcome);
        }
    }
    // What the user wrote is what the message is about.
    Err(problem)
}

/// The kernel with long rows computed in blocks of columns; `None` where that is not possible.
fn column_blocks(function: &Function, width: i64) -> Option<Function> {
    let mut cut = function.clone();
    if !split_columns(&mut cut, width) || cut == *function {
        return None;
    }
    cleaned(function, |program| program.functions[1] = cut)
}

/// The kernel with its tiles cut into blocks within the given limits; `None` where that changes nothing.
fn recut(function: &Function, limits: Limits) -> Option<Function> {
    cleaned(function, |program| tensor_tiling(program, &limits))
}

/// The kernel after a rewrite, tidied; `None` where the rewrite changes nothing.
fn cleaned(function: &Function, rewrite: impl FnOnce(&mut Program)) -> Option<Function> {
    let nothing =
        Function { name: String::new(), kind: FunctionKind::Orchestration, body: Block::default(), ..function.clone() };
    let functions = vec![Function { params: Vec::new(), ..nothing }, function.clone()];
    let mut program = Program { name: function.name.clone(), functions, entry: 0 };
    rewrite(&mut program);
    if program.functions[1] == *function {
        return None;
    }
    for pass in [simplify::run, cse::run, hoist::run, dce::run] {
        pass(&mut program).ok()?;
    }
    program.functions.pop()
}

fn direction(function: &Function, number: usize) -> Option<Direction> {
    let param = &function.params[number];
    function.ty(param.value).as_tensor().map(|_| param.direction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    #[test]
    fn a_text_that_cannot_be_read_is_a_fault_of_the_compiler() {
        let text = "program \"p\" entry @f\nfn @f incore (%0 \"x\": i64 in) {\n}\n";
        let program = parse(text, "p").unwrap();
        let module = "module attributes {pto.target_arch = \"a2a3\"} {\n}\n";
        let broken = module.replace("a2a3", "a9");
        let problem = check_text(&broken, Level::Three, program.entry_function()).unwrap_err();
        assert_eq!(problem.code, codes::INTERNAL);
        assert!(problem.title.contains("the text of kernel `f` is not valid"), "{}", problem.title);
    }
}
