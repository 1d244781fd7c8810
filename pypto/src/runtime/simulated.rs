//! Calls of programs for accelerators: in the simulator. A device needs the vendor's run time, which is not here.

use super::error::{Error, Result};
use super::record::Stop;
use super::recording::Recording;
use super::virtual_time;
use crate::artifact::{Accelerator, CompiledProgram};
use crate::config::ExecutionMode;
use crate::diagnostics::{Diagnostic, codes};
use crate::language::argument::{Argument, CallArguments};
use crate::simulator::{Simulator, VirtualTime};

/// Runs a program in the simulator of its target.
///
/// # Safety
/// As for [`HostProgram::call`](super::program::HostProgram::call).
pub(super) unsafe fn call(
    accelerator: &Accelerator,
    arguments: &[Argument<'_>],
    recording: Option<&Recording>,
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
    // SAFETY: the caller's promise.
    let time = unsafe { simulator.run(arguments) }.map_err(|error| {
        let title = format!("the simulator of `{}` stopped: {}", artifact.target.name, error.kind);
        Diagnostic::error(codes::RUN_FAILED, error.loc, title, "here")
    })?;
    if let Some(recording) = recording {
        virtual_time::record(recording, &time, simulator.cores());
    }
    Ok(time)
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
            unsafe { call(&accelerator, all, None) }.map_err(Error::from)
        })
    }
}
