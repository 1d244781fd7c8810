//! Runs artifacts for Ascend accelerators on the host, from the text's own instructions and the planned addresses.
//!
//! The orchestration is interpreted; every kernel it calls runs block by block on cores of a target that exist as bytes
//! only: what a tile holds is what its address range holds, so a fault of lowering or planning gives wrong numbers or an
//! error, not luck. Checked are reads of bytes that nothing was written to, accesses outside of a space or a tensor, and
//! memory that two blocks of a task touch while one writes it.
//!
//! Blocks run one after the other, always in the same order; *when* they would have run is computed from the target's
//! costs ([`clock`]) and tells cores, waiting and ends in virtual nanoseconds. Nothing depends on the machine.
//!
//! The blocks of 16 x 32 bytes in which the matrix unit keeps its tiles are not modelled: within a tile's bytes elements
//! lie in order of rows.

mod chip;
mod clock;
mod compute;
mod conflicts;
pub mod estimate;
mod execute;
mod global;
mod schedule;

#[cfg(test)]
mod tests;

pub use clock::Pipe;
pub use schedule::{Span, TaskSpan, Timeline};

use std::collections::HashMap;

use crate::codegen::ascend::dialect::{Core, Function};
use crate::codegen::ascend::plan::{self, Planner};
use crate::codegen::ascend::{AscendArtifact, AscendKernel};
use crate::diagnostics::Diagnostic;
use crate::ir;
use crate::ir::interpreter::{self, Error, ErrorKind, Kernels, Passed};
use crate::ir::report::observer::publish;
use crate::ir::report::{Report, sites};
use crate::language::argument::Argument;

/// How many cores there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    pub cube: usize,
    pub vector: usize,
}

/// A simulated accelerator with an artifact on it.
#[derive(Debug)]
pub struct Simulator<'a> {
    artifact: &'a AscendArtifact,
    cores: Cores,
    /// The function of each kernel, with addresses.
    functions: HashMap<&'a str, Function>,
}

/// Virtual time of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VirtualTime {
    /// Nanoseconds from the first dispatch to the end of the last block.
    pub total: f64,
    /// Every block that ran: on which core, from when to when.
    pub timeline: Timeline,
}

/// What sees the tasks of a run.
pub trait Watch {
    /// A task is about to run: a kernel of the program, with its arguments in order of parameters.
    ///
    /// # Errors
    /// Why the run ends here.
    fn before(&mut self, kernel: &ir::Function, arguments: &[Passed]) -> Result<(), String>;

    /// The task ran.
    fn after(&mut self, kernel: &ir::Function, arguments: &[Passed]);
}

/// Sees nothing.
struct Unwatched;

impl Watch for Unwatched {
    fn before(&mut self, _: &ir::Function, _: &[Passed]) -> Result<(), String> {
        Ok(())
    }

    fn after(&mut self, _: &ir::Function, _: &[Passed]) {}
}

impl<'a> Simulator<'a> {
    /// An accelerator with the artifact's target's numbers of cores.
    ///
    /// # Errors
    /// As [`Simulator::with_cores`].
    pub fn new(artifact: &'a AscendArtifact) -> Result<Simulator<'a>, Diagnostic> {
        let target = artifact.target;
        Simulator::with_cores(artifact, Cores { cube: target.cube_cores, vector: target.vector_cores })
    }

    /// An accelerator with other numbers of cores; 0 counts as 1.
    ///
    /// # Errors
    /// Tiles that do not fit, where the artifact leaves their addresses to the assembler.
    pub fn with_cores(artifact: &'a AscendArtifact, cores: Cores) -> Result<Simulator<'a>, Diagnostic> {
        let cores = Cores { cube: cores.cube.max(1), vector: cores.vector.max(1) };
        let mut functions = HashMap::new();
        for kernel in &artifact.kernels {
            let [function] = &kernel.module.functions[..] else { continue };
            let mut function = function.clone();
            if artifact.options.planner == Planner::External {
                plan::plan(&mut function, artifact.target, Planner::Packed)?;
            }
            functions.insert(kernel.name.as_str(), function);
        }
        Ok(Simulator { artifact, cores, functions })
    }

    /// How many cores there are.
    pub fn cores(&self) -> Cores {
        self.cores
    }

    /// Runs the artifact on arguments, which stand for the tensors and numbers of the entry's parameters in order.
    ///
    /// # Errors
    /// Arguments that do not fit, and whatever a check finds.
    ///
    /// # Safety
    /// As [`interpreter::run`]: tensor arguments describe memory that lives, and that nobody else uses meanwhile.
    pub unsafe fn run(&self, arguments: &[Argument<'_>]) -> Result<VirtualTime, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.run_watched(arguments, &mut Unwatched) }
    }

    /// As [`Simulator::run`], with every task shown to `watch`.
    ///
    /// # Errors
    /// As [`Simulator::run`], and what `watch` ends the run with.
    ///
    /// # Safety
    /// As [`Simulator::run`].
    pub unsafe fn run_watched(&self, arguments: &[Argument<'_>], watch: &mut dyn Watch) -> Result<VirtualTime, Error> {
        let schedule = schedule::Schedule::new(self.artifact.target, self.cores);
        let mut run = Run { simulator: self, schedule, watch, reports: Vec::new() };
        let options = interpreter::Options { checked: true, nan: false };
        // SAFETY: the caller's promise.
        let outcome = unsafe { interpreter::run_with_kernels(&self.artifact.program, arguments, options, &mut run) };
        publish(std::mem::take(&mut run.reports));
        outcome?;
        Ok(run.schedule.finish())
    }

    fn blocks(&self, kernel: &AscendKernel, iterations: i64) -> i64 {
        let cores = match kernel.core {
            Core::Cube => self.cores.cube,
            Core::Vector => self.cores.vector,
        };
        if kernel.is_spmd { iterations.clamp(1, cores as i64) } else { 1 }
    }
}

struct Run<'s, 'a> {
    simulator: &'s Simulator<'a>,
    schedule: schedule::Schedule,
    watch: &'s mut dyn Watch,
    /// What kernels showed.
    reports: Vec<Report>,
}

impl Kernels for Run<'_, '_> {
    fn call(&mut self, function: usize, arguments: Vec<Passed>) -> Result<(), ErrorKind> {
        let source = &self.simulator.artifact.program.functions[function];
        let fail = |reason: String| ErrorKind::Kernel { kernel: source.name.clone(), reason };
        let kernel = self.simulator.artifact.kernel(&source.name);
        let kernel = kernel.ok_or_else(|| fail("it is not in the artifact".to_owned()))?;
        let code = self.simulator.functions.get(kernel.name.as_str());
        let code = code.ok_or_else(|| fail("it is not in the artifact".to_owned()))?;
        let words: Vec<i64> = arguments.iter().map(word).collect();
        let iterations = kernel.iterations.eval(&words);
        let blocks = self.simulator.blocks(kernel, iterations);
        self.watch.before(source, &arguments).map_err(fail)?;
        let mut task = schedule::Task::new(kernel, source, &arguments);
        let mut accesses = conflicts::Accesses::default();
        let mut shown = execute::Shows { sites: sites(source), reports: Vec::new() };
        let mut outcome = Ok(());
        for block in 0..if iterations > 0 { blocks } else { 0 } {
            let at = execute::Block { number: block, count: blocks };
            let target = self.simulator.artifact.target;
            match execute::run(code, kernel, target, &arguments, at, &mut accesses, &mut shown) {
                Ok(cycles) => task.blocks.push(cycles),
                Err(stop) => {
                    outcome = Err(fail(stop.to_string()));
                    break;
                }
            }
        }
        // Blocks take turns with iterations; a program has an order.
        if kernel.is_spmd {
            shown.reports.sort_by_key(|(iteration, _)| *iteration);
        }
        self.reports.extend(shown.reports.into_iter().map(|(_, report)| report));
        outcome?;
        accesses.check().map_err(fail)?;
        self.watch.after(source, &arguments);
        self.schedule.add(task);
        Ok(())
    }
}

fn word(argument: &Passed) -> i64 {
    match argument {
        Passed::Scalar(scalar) => scalar.index().unwrap_or(scalar.bits as i64),
        Passed::Tensor(_) => 0,
    }
}
