//! `kernel.explain(&samples)`: what the compiler makes of a kernel, as data that prints itself: loops, fusion groups and why
//! each of them ended, flops and bytes, and, on request, the share of what the machine could do.

mod display;
mod limits;
mod work;

use std::time::Duration;

use super::cache;
use super::meta::MetaValues;
use crate::codegen::host::cpu::Target;
pub use crate::codegen::host::lower::{Boundary, GroupStep, Reason, Step, StepKind};
use crate::compile::{self, Settings, host};
use crate::frontend::generic::Function;
use crate::frontend::specialization::ArgumentSpec;
use crate::ir::{DType, Loc};
use crate::runtime::error::Result;

pub use limits::Limits;
pub use work::Work;

/// What a call of a kernel does.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The name of the function.
    pub name: String,
    /// Threads that a call uses.
    pub threads: usize,
    /// The kernels that it became, in order of first use.
    pub kernels: Vec<KernelExplanation>,
    /// All of them together.
    pub work: Work,
    /// How fast it was, once [`Explanation::timed`] measured it.
    pub measured: Option<Measured>,
}

/// One kernel of a program: the work between two points where all threads wait.
#[derive(Clone, Debug)]
pub struct KernelExplanation {
    pub name: String,
    pub loc: Loc,
    /// How often a call runs it.
    pub calls: f64,
    /// Iterations of its outermost parallel loops, which are dealt to the threads; 1 runs on one thread.
    pub iterations: f64,
    pub flops: f64,
    /// What one iteration does; empty for a kernel that the interpreter runs.
    pub steps: Vec<Step>,
    /// Why the interpreter runs it.
    pub interpreted: Option<String>,
}

/// A measured call, beside the limits of the machine that were measured with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The best of several calls.
    pub time: Duration,
    pub limits: Limits,
}

impl Explanation {
    /// Times calls for about 50 milliseconds, and how fast the machine multiplies, adds, and moves as many bytes.
    ///
    /// # Errors
    /// What `call` gives.
    ///
    /// ```
    /// use pypto::kernels::gelu;
    /// use pypto::prelude::*;
    ///
    /// let (x, mut y) = (Tensor::full([64, 1024], 1.0f32), Tensor::zeros([64, 1024]));
    /// let explanation = gelu::<f32>.explain(&(&x, &y))?.timed(|| gelu(&x, &mut y).map(drop))?;
    /// assert!(explanation.share_of_limit().is_some_and(|share| share > 0.0));
    /// # Ok::<(), pypto::Error>(())
    /// ```
    pub fn timed(mut self, mut call: impl FnMut() -> Result<()>) -> Result<Explanation> {
        let time = limits::best(&mut call)?;
        let limits = Limits::measure(self.threads, self.work.read + self.work.written);
        self.measured = Some(Measured { time, limits });
        Ok(self)
    }

    /// The least time that flops and bytes allow, in seconds, on a machine with these limits.
    pub fn least_time(&self, limits: &Limits) -> f64 {
        let bytes = self.work.read + self.work.written;
        (self.work.flops / limits.flops).max(bytes / limits.bandwidth)
    }

    /// The least time divided by the measured one; `None` before [`Explanation::timed`].
    pub fn share_of_limit(&self) -> Option<f64> {
        let Measured { time, limits } = self.measured?;
        Some(self.least_time(&limits) / time.as_secs_f64())
    }
}

/// Lowers a specialization and counts its work; nothing is compiled or run.
pub(super) fn explain(
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    samples: &[ArgumentSpec],
) -> Result<Explanation> {
    let settings = Settings::of_calls()?;
    let key = cache::key(function, types, meta, samples, &settings)?;
    let program = compile::lower(function, &key.specialization, &settings)?;
    let count = work::count(&program, samples);
    let lowered = host::lowered(&program, Target::host());
    let explained = lowered.into_iter().map(|(kernel, lowered)| {
        let part = count.kernels.get(&kernel.name).copied().unwrap_or_default();
        let (steps, interpreted) = match lowered {
            Ok(lowered) => (lowered.steps, None),
            Err(error) => (Vec::new(), Some(error.title)),
        };
        let (name, loc) = (kernel.name.clone(), kernel.loc);
        let iterations = part.iterations / part.calls.max(1.0);
        KernelExplanation { name, loc, calls: part.calls, iterations, flops: part.flops, steps, interpreted }
    });
    Ok(Explanation {
        name: function.name.name.to_owned(),
        threads: settings.threads,
        kernels: explained.collect(),
        work: count.work,
        measured: None,
    })
}
