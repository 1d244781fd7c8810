//! Compilation ahead of the first call: what a program will need, on all cores at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::cache;
use super::meta::MetaValues;
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
    let (next, first_error) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        while let Some((index, kernel)) = take(&kernels, &next) {
            let Err(error) = kernel.prepare() else { continue };
            let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                *first = Some((index, error));
            }
        }
    };
    std::thread::scope(|scope| {
        let helpers = thread_count().min(kernels.len()).saturating_sub(1);
        for _ in 0..helpers {
            // Where the system gives no thread, this one does the work.
            let _ = std::thread::Builder::new().name("pypto-warm".to_owned()).spawn_scoped(scope, work);
        }
        work();
    });
    match first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

fn take<'k>(kernels: &'k [Upcoming], next: &AtomicUsize) -> Option<(usize, &'k Upcoming)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    kernels.get(index).map(|kernel| (index, kernel))
}
