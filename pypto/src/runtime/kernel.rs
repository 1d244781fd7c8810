//! A kernel in the process: its code, and what a call of it needs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::pool::{Panicked, pool};
use super::recording::Tasks;
use super::reports::{Status, StatusHead};
use super::scratch::{OutOfMemory, with_scratch};
use crate::artifact::Site;
use crate::codegen::host::gemm::panels::PanelParameter;
use crate::codegen::host::loader::{Image, KernelFn};
use crate::ir::IndexExpr;
use crate::ir::report::{Report, ReportSite, Shown, template};
use crate::ops::reference::Scalar;

/// Work below this many nanoseconds stays on the calling thread: waking a worker costs as much.
pub const PARALLEL_ABOVE: f64 = 20_000.0;
/// A chunk of a kernel's range is at least this long, in nanoseconds.
const CHUNK: f64 = PARALLEL_ABOVE / 2.0;
/// The same of a task of a schedule, whose threads are awake.
const CHUNK_OF_TASK: f64 = 3_000.0;
/// Chunks a thread, so that a thread that comes late or is slow leaves work to the others.
const CHUNKS_PER_THREAD: usize = 4;

/// A kernel that can be called.
pub struct Kernel {
    pub name: String,
    pub code: Code,
    /// Iterations of the outermost parallel loops, from the argument words.
    pub iterations: IndexExpr,
    /// Bytes of scratch of each running call, from the argument words.
    pub scratch: IndexExpr,
    /// What a non-zero status means: status n is entry n - 1.
    pub sites: Vec<Site>,
    /// Where it shows values.
    pub reports: Vec<ReportSite>,
    /// Parameters that may come in panels: words after those of the parameters.
    pub panels: Vec<PanelParameter>,
    /// Estimated nanoseconds of an iteration.
    pub cost: f64,
}

/// How a kernel runs.
pub enum Code {
    /// Machine code, which lives as long as its image.
    Native { entry: KernelFn, image: Arc<Image> },
    /// The interpreter; one iteration is the whole kernel.
    Interpreted(Box<dyn Interpreted>),
}

/// A kernel that the interpreter runs.
pub trait Interpreted: Send + Sync {
    /// Runs the kernel; what it shows is added to `reports`.
    ///
    /// # Safety
    /// As for [`Kernel::run_range`].
    unsafe fn run(&self, words: &[u64], reports: &mut Vec<Report>) -> Result<(), Failure>;
}

/// Why a call stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A check in the kernel failed; the site says where.
    Stopped(Site),
    /// A status that the kernel does not declare.
    UnknownStatus(String, u32),
    /// Scratch memory was refused.
    Memory(OutOfMemory),
    /// Code of the run time panicked.
    Panicked,
    /// The time that the call may take was over before all work had begun.
    TimeLimit,
}

impl From<OutOfMemory> for Failure {
    fn from(error: OutOfMemory) -> Failure {
        Failure::Memory(error)
    }
}

impl From<Panicked> for Failure {
    fn from(_: Panicked) -> Failure {
        Failure::Panicked
    }
}

impl Kernel {
    /// Runs iterations `begin..end` on this thread; what they show is added to `reports`, also if they fail.
    ///
    /// # Safety
    /// `words` are arguments that the kernel was compiled for: pointers to memory of the extents that its types and
    /// words state, which nothing else writes meanwhile, nor reads if the kernel writes it.
    pub unsafe fn run_range(
        &self,
        words: &[u64],
        begin: i64,
        end: i64,
        reports: &mut Vec<Report>,
    ) -> Result<(), Failure> {
        match &self.code {
            Code::Native { entry, .. } => {
                let scratch = usize::try_from(evaluate(&self.scratch, words)).unwrap_or(0);
                let mut status = Status::new(&self.reports);
                let word = status.word();
                // SAFETY: the caller's promise; scratch has the size that the kernel asked for, and belongs to this
                // thread until the call returns.
                with_scratch(scratch, |memory| unsafe { entry(words.as_ptr(), begin, end, memory, word) })?;
                let head = status.head;
                if !self.reports.is_empty() {
                    reports.append(&mut status.into_reports());
                }
                if head.code == 0 { Ok(()) } else { Err(self.stopped(&head)) }
            }
            // SAFETY: the caller's promise.
            Code::Interpreted(code) => unsafe { code.run(words, reports) },
        }
    }

    /// Runs all iterations as task number `task`, on several threads where that pays.
    ///
    /// # Safety
    /// As for [`Kernel::run_range`].
    pub(super) unsafe fn run(
        &self,
        words: &[u64],
        threads: usize,
        tasks: Tasks<'_>,
        task: usize,
    ) -> Result<(), Failure> {
        let iterations = evaluate(&self.iterations, words);
        let chunks = self.chunks(iterations, threads);
        if chunks == 0 {
            return Ok(());
        }
        if chunks == 1 {
            // SAFETY: the caller's promise.
            return tasks.span(task, 0, iterations, |shown| unsafe { self.run_range(words, 0, iterations, shown) });
        }
        let failure = FirstFailure::default();
        pool().run(chunks, threads, iterations as f64 * self.cost, &|chunk| {
            let (begin, end) = share(iterations, chunks, chunk);
            // SAFETY: the caller's promise; distinct ranges of iterations are independent.
            failure.note(tasks.span(task, begin, end, |shown| unsafe { self.run_range(words, begin, end, shown) }));
        })?;
        failure.into_result()
    }

    /// Into how many parts the iterations are cut; 0 without any.
    pub fn chunks(&self, iterations: i64, threads: usize) -> usize {
        self.chunks_of(CHUNK, iterations, threads)
    }

    /// The same for a task of a schedule.
    pub fn chunks_of_task(&self, iterations: i64, threads: usize) -> usize {
        self.chunks_of(CHUNK_OF_TASK, iterations, threads)
    }

    fn chunks_of(&self, least: f64, iterations: i64, threads: usize) -> usize {
        if iterations <= 1 || threads <= 1 {
            return iterations.clamp(0, 1) as usize;
        }
        let by_time = (iterations as f64 * self.cost / least) as usize;
        by_time.min(threads * CHUNKS_PER_THREAD).min(iterations as usize).max(1)
    }

    /// What a status of the kernel that is not 0 means.
    #[cold]
    pub(super) fn stopped(&self, status: &StatusHead) -> Failure {
        match self.sites.get(status.code as usize - 1) {
            Some(site) if site.values.is_empty() => Failure::Stopped(site.clone()),
            Some(site) => {
                let values = status.values.iter().zip(&site.values);
                let values: Vec<Shown> = values.map(|(&bits, &dtype)| Shown::Scalar(Scalar { dtype, bits })).collect();
                Failure::Stopped(Site {
                    loc: site.loc,
                    message: template::write(&site.message, &values),
                    values: Vec::new(),
                })
            }
            None => Failure::UnknownStatus(self.name.clone(), status.code),
        }
    }
}

/// The value of an expression for a call's words.
pub fn evaluate(expr: &IndexExpr, words: &[u64]) -> i64 {
    expr.eval(bytemuck::cast_slice(words))
}

/// Iterations of part `index` of `parts`; sizes differ by at most one.
pub fn share(iterations: i64, parts: usize, index: usize) -> (i64, i64) {
    let (whole, rest) = (iterations / parts as i64, iterations % parts as i64);
    let index = index as i64;
    let begin = whole * index + index.min(rest);
    (begin, begin + whole + i64::from(index < rest))
}

/// The first failure among several threads.
#[derive(Default)]
pub struct FirstFailure {
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl FirstFailure {
    /// Notes a failure, unless there is one.
    pub fn note(&self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
            self.failed.store(true, Ordering::Release);
        }
    }

    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// The outcome.
    pub fn into_result(self) -> Result<(), Failure> {
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_the_range() {
        for (iterations, parts) in [(10, 3), (3, 3), (100, 7)] {
            let mut next = 0;
            for index in 0..parts {
                let (begin, end) = share(iterations, parts, index);
                assert_eq!(begin, next);
                next = end;
            }
            assert_eq!(next, iterations);
        }
    }
}
