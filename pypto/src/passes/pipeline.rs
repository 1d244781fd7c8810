//! Sequences of passes: the ones that targets use, and those that users compose.

use std::sync::Arc;

use super::list::{self, Pass, PassContext};
use super::manager::{Instrument, PassManager, PassOptions, PassReport};
use super::tensor_tiling::Limits;
use crate::diagnostics::Diagnostics;
use crate::ir::Program;
use crate::target::Target;

/// A sequence of passes to compose and run: on any program, for dumps, measurements, or a target of one's own.
///
/// ```
/// use pypto::passes::{list, pipeline::PassPipeline};
///
/// let pipeline = PassPipeline::shared().then(&list::PROVE_PARALLEL);
/// assert_eq!(pipeline.names().last(), Some("prove_parallel"));
/// ```
#[derive(Clone, Default)]
pub struct PassPipeline {
    passes: Vec<&'static Pass>,
    context: PassContext,
    options: PassOptions,
    instruments: Vec<Arc<dyn Instrument>>,
    passed: usize,
}

impl PassPipeline {
    /// No passes.
    pub fn new() -> PassPipeline {
        PassPipeline::default()
    }

    /// The passes that every target starts with.
    pub fn shared() -> PassPipeline {
        PassPipeline::new()
            .then(&list::INLINE)
            .then(&list::SIMPLIFY)
            .then(&list::UNROLL)
            .then(&list::SIMPLIFY)
            .then(&list::CSE)
            .then(&list::HOIST)
            .then(&list::DCE)
            .then(&list::SETTLE_OUTPUTS)
    }

    /// The passes of the host target: an orchestration and in-core kernels result.
    pub fn host(limits: Limits) -> PassPipeline {
        PassPipeline::new()
            .then(&list::FLATTEN_DISPATCH)
            .then_all(&PassPipeline::shared())
            .then(&list::FOLD_TRANSPOSE)
            .then(&list::PROVE_PARALLEL)
            .then(&list::SPLIT_TALLIES)
            .then(&list::TENSOR_TILING)
            .then(&list::CARRY_AROUND_CALLS)
            .then(&list::FOLD_ACCUMULATE)
            // What tiling folds away must not end up as work of a kernel.
            .then(&list::SIMPLIFY)
            .then(&list::CSE)
            .then(&list::DCE)
            .then(&list::OUTLINE)
            .then(&list::SIMPLIFY)
            .then(&list::CSE)
            .then(&list::HOIST)
            .then(&list::DCE)
            .limits(limits)
    }

    /// Only the passes that the host cannot do without: programs stay close to how they were written.
    pub fn host_without_optimizations(limits: Limits) -> PassPipeline {
        PassPipeline::new()
            .then(&list::FLATTEN_DISPATCH)
            .then(&list::INLINE)
            // Bounds of loops to unroll are constants only after folding.
            .then(&list::SIMPLIFY)
            .then(&list::UNROLL)
            .then(&list::PROVE_PARALLEL)
            .then(&list::TENSOR_TILING)
            .then(&list::CARRY_AROUND_CALLS)
            .then(&list::OUTLINE)
            .limits(limits)
    }

    /// The passes of Ascend targets: an orchestration and in-core kernels for one unit each result.
    pub fn ascend(target: &Target) -> PassPipeline {
        let clean = PassPipeline::new().then(&list::SIMPLIFY).then(&list::CSE).then(&list::HOIST).then(&list::DCE);
        PassPipeline::new()
            .then(&list::FLATTEN_DISPATCH)
            .then(&list::INLINE_MIXED)
            .then_all(&PassPipeline::shared())
            .then(&list::FOLD_TRANSPOSE)
            .then(&list::PROVE_PARALLEL)
            .then(&list::TENSOR_TILING)
            .then(&list::FOLD_ACCUMULATE)
            .then(&list::UNFOLD_ACCUMULATE)
            .then(&list::SIMPLIFY)
            .then(&list::CSE)
            .then(&list::DCE)
            .then(&list::CARRY_THROUGH_MEMORY)
            .then(&list::OUTLINE_UNITS)
            .then_all(&clean)
            // Kernels that were cut out of mixed ones have tiles as large as products want them.
            .then(&list::TENSOR_TILING)
            .then_all(&clean)
            .limits(Limits::for_target(target))
    }

    /// With one more pass at the end.
    pub fn then(mut self, pass: &'static Pass) -> PassPipeline {
        self.passes.push(pass);
        self
    }

    /// With all passes of another pipeline at the end.
    pub fn then_all(mut self, other: &PassPipeline) -> PassPipeline {
        self.passes.extend(&other.passes);
        self
    }

    /// For a machine of these limits.
    pub fn limits(mut self, limits: Limits) -> PassPipeline {
        self.context.limits = limits;
        self
    }

    /// With other options for dumps and checks.
    pub fn options(mut self, options: PassOptions) -> PassPipeline {
        self.options = options;
        self
    }

    /// For a program that the first `count` passes have run on already, as a dump of it: [`PassPipeline::run`] runs the
    /// others.
    pub fn after_first(mut self, count: usize) -> PassPipeline {
        self.passed = count;
        self
    }

    /// With one more that is told of every pass.
    pub fn instrument(mut self, instrument: Arc<dyn Instrument>) -> PassPipeline {
        self.instruments.push(instrument);
        self
    }

    /// Names of the passes in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.passes.iter().map(|pass| pass.name)
    }

    /// Runs the passes.
    ///
    /// # Errors
    /// See [`PassManager::run_passes`].
    pub fn run(&self, program: &mut Program) -> Result<PassReport, Diagnostics> {
        let manager = PassManager::new(self.passes.clone(), self.context, self.options.clone());
        let manager = manager.after_first(self.passed);
        self.instruments.iter().cloned().fold(manager, PassManager::instrument).run_passes(program)
    }
}

/// Turns an instantiated program into an orchestration and kernels for the host.
///
/// # Errors
/// A loop that the user calls parallel is not proved so; control flow around calls carries a tile; a loop to unroll has
/// run-time bounds.
pub fn host(program: &mut Program, limits: &Limits) -> Result<(), Diagnostics> {
    PassPipeline::host(*limits).run(program).map(|_| ())
}
