//! Calls of programs for accelerators: in the simulator. A device needs the vendor's run time, which is not here.
//!
//! What a dispatch records is the simulator's: lanes are cores, and times are virtual, the same in every run.

use std::collections::BTreeMap;
use std::time::Instant;

use super::dfx::dump_args::{ArgumentsDump, Stage};
use super::error::{Error, Result};
use super::kernel::Failure;
use super::record::Stop;
use super::recording::Execution;
use super::virtual_time;
use crate::artifact::{Accelerator, CompiledProgram};
use crate::config::ExecutionMode;
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::Function;
use crate::ir::interpreter::Passed;
use crate::language::argument::{Argument, CallArguments};
use crate::simulator::{Simulator, VirtualTime, Watch};

/// Runs a program in the simulator of its target.
///
/// # Safety
/// As for [`HostProgram::call`](super::program::HostProgram::call).
pub(super) unsafe fn call(
    accelerator: &Accelerator,
    arguments: &[Argument<'_>],
    execution: Execution<'_>,
) -> std::result::Result<VirtualTime, Stop> {
    let artifact = &accelerator.artifact;
    if accelerator.mode == ExecutionMode::Onboard {
        let entry = artifact.program.entry_function();
        let title = format!("`{}` is compiled for a device, and no {} is here", entry.name, artifact.target.product);
        return Err(Diagnostic::error(codes::DEVICE, entry.loc, title, "this program")
            .note("its kernels are complete as `.pto` files; running them takes the assembler, CANN and a device")
            .help(format!("compile it for `{}sim` to run it in the simulator", artifact.target.name))
            .into());
    }
    let simulator = Simulator::new(artifact)?;
    let mut watcher = Watcher {
        deadline: execution.deadline,
        late: false,
        dump: execution.arguments.filter(|dump| dump.of_tasks()),
        temporaries: BTreeMap::new(),
    };
    // SAFETY: the caller's promise.
    let outcome = unsafe { simulator.run_watched(arguments, &mut watcher) };
    let time = outcome.map_err(|error| {
        if watcher.late {
            return Stop::Task(Failure::TimeLimit);
        }
        let title = format!("the simulator of `{}` stopped: {}", artifact.target.name, error.kind);
        Diagnostic::error(codes::RUN_FAILED, error.loc, title, "here").into()
    })?;
    if let Some(recording) = execution.recording {
        virtual_time::record(recording, &time, simulator.cores(), watcher.temporaries.values().sum());
    }
    Ok(time)
}

/// Sees the tasks of a run for the options of its dispatch.
struct Watcher<'d> {
    deadline: Option<Instant>,
    /// Whether the time was over before a task.
    late: bool,
    dump: Option<&'d ArgumentsDump>,
    /// Bytes of the memory that the program allocated, by address.
    temporaries: BTreeMap<usize, usize>,
}

impl Watcher<'_> {
    fn note(&self, stage: Stage, kernel: &Function, arguments: &[Passed]) {
        let Some(dump) = self.dump else { return };
        let words: Vec<u64> = arguments.iter().map(word).collect();
        // SAFETY: the simulator gives the arguments of a call of this function, whose tensors live and which nobody else
        // touches while a task is shown.
        unsafe { dump.note(stage, true, kernel, &words) };
    }
}

impl Watch for Watcher<'_> {
    fn before(&mut self, kernel: &Function, arguments: &[Passed]) -> std::result::Result<(), String> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.late = true;
            return Err("the time is over".to_owned());
        }
        let tensors = arguments.iter().filter_map(|argument| match argument {
            Passed::Tensor(tensor) => tensor.temporary(),
            Passed::Scalar(_) => None,
        });
        self.temporaries.extend(tensors);
        self.note(Stage::Before, kernel, arguments);
        Ok(())
    }

    fn after(&mut self, kernel: &Function, arguments: &[Passed]) {
        self.note(Stage::After, kernel, arguments);
        if let Some(dump) = self.dump {
            dump.next_task();
        }
    }
}

/// An argument as kernels on the host take it.
fn word(argument: &Passed) -> u64 {
    match argument {
        Passed::Scalar(scalar) => scalar.bits,
        Passed::Tensor(tensor) => tensor.memory().address() as u64,
    }
}

impl CompiledProgram {
    /// Runs a program for an accelerator in its simulator, and tells the virtual time: which core ran which block when.
    /// Arguments are given for every parameter.
    ///
    /// # Errors
    /// A program for the host; otherwise as [`CompiledProgram::call`].
    pub fn simulate<A: CallArguments>(&self, arguments: A) -> Result<VirtualTime> {
        let Some(accelerator) = &self.executable().accelerator else {
            return Err(Error::host(format!(
                "`{}` is compiled for `{}`, which has no simulator",
                self.name(),
                self.platform()
            )));
        };
        let accelerator = Accelerator { mode: ExecutionMode::Simulator, ..accelerator.clone() };
        self.with_checked(arguments, |all| {
            // SAFETY: the arguments were checked against the parameters that the program was compiled for.
            unsafe { call(&accelerator, all, Execution::on(1)) }.map_err(Error::from)
        })
    }
}
