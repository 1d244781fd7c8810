//! Kernels in the simulator against the interpreter.

mod kernels;
mod products;
mod random;
mod snapshots;

use crate::codegen::ascend::{AscendArtifact, AscendOptions, Planner};
use crate::compile::ascend::compile_for_target;
use crate::diagnostics::Diagnostics;
use crate::frontend::generic::Function;
use crate::frontend::instantiate::instantiate;
use crate::jit::{JitFn, Key, Samples};
use crate::language::argument::CallArguments;
use crate::passes::manager::PassOptions;
use crate::simulator::{Simulator, VirtualTime};
use crate::target::Target;

/// The artifact of a kernel; its texts are read back.
pub(super) fn build<M, F: JitFn<M>, S: Samples + ?Sized>(
    kernel: &F,
    samples: &S,
    target: &'static Target,
    planner: Planner,
) -> Result<AscendArtifact, Diagnostics> {
    build_key(kernel.ir(), &kernel.key(samples).unwrap(), target, planner)
}

/// The artifact of a specialization.
pub(super) fn build_key(
    function: &'static Function,
    key: &Key,
    target: &'static Target,
    planner: Planner,
) -> Result<AscendArtifact, Diagnostics> {
    let program = instantiate(function, &key.specialization).unwrap();
    let options = AscendOptions { planner, places: true, verify: true };
    compile_for_target(program, target, options, PassOptions::default())
}

/// Runs an artifact.
pub(super) fn simulate<A: CallArguments>(artifact: &AscendArtifact, arguments: A) -> VirtualTime {
    let simulator = Simulator::new(artifact).unwrap();
    arguments.with(|arguments| {
        // SAFETY: the arguments borrow tensors for the call.
        unsafe { simulator.run(arguments) }.unwrap_or_else(|e| panic!("{e}\n{}", texts(artifact)))
    })
}

/// The texts of all kernels.
pub(super) fn texts(artifact: &AscendArtifact) -> String {
    artifact.kernels.iter().map(|k| k.text.as_str()).collect()
}
