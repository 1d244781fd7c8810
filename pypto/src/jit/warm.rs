//! Compilation ahead of the first call: what a program will need, on all cores at once.

use super::cache;
use super::keep::keep;
use super::meta::MetaValues;
use super::warmed::Warmed;
use crate::compile::parallel::in_parallel;
use crate::frontend::generic::Function;
use crate::frontend::specialization::ArgumentSpec;
use crate::ir::DType;
use crate::runtime::error::Result;
use crate::runtime::pool::thread_count;

/// A kernel and the layouts of arguments that it will be called with: what `kernel.for_arguments(..)` gives, and
/// [`warm`] compiles.
#[derive(Clone, Debug)]
pub struct Upcoming {
    function: &'static Function,
    types: &'static [DType],
    meta: Option<MetaValues>,
    samples: Vec<ArgumentSpec>,
}

impl Upcoming {
    pub(super) fn new(
        function: &'static Function,
        types: &'static [DType],
        meta: Option<MetaValues>,
        samples: Vec<ArgumentSpec>,
    ) -> Upcoming {
        Upcoming { function, types, meta, samples }
    }

    /// Makes the variant, in memory and in the cache on disk.
    fn prepare(&self) -> Result<()> {
        cache::prepare(self.function, self.types, self.meta.as_ref(), &self.samples).map(drop)
    }

    /// Makes the variant in the cache on disk, for other processes.
    pub(super) fn keep(&self) -> Result<Warmed> {
        keep(self.function, self.types, self.meta.as_ref(), &self.samples)
    }
}

/// Compiles kernels for calls that will come, several at the same time, or loads them from the cache on disk. The calls
/// then find them in memory. Nothing runs.
///
/// # Errors
/// The first kernel in the order given that cannot be compiled for its arguments; the others are there.
///
/// ```
/// use pypto::kernels::{gelu, softmax};
/// use pypto::prelude::*;
///
/// let x = Tensor::<f32, 2>::meta([64, 1024]);
/// pypto::warm([softmax::<f32>.for_arguments(&(&x, &x)), gelu::<f32>.for_arguments(&(&x, &x))])?;
/// # Ok::<(), pypto::Error>(())
/// ```
pub fn warm(kernels: impl IntoIterator<Item = Upcoming>) -> Result<()> {
    let kernels: Vec<Upcoming> = kernels.into_iter().collect();
    in_parallel(&kernels, thread_count(), Upcoming::prepare).into_iter().collect()
}
