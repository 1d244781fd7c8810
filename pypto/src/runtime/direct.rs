//! The shortest way to a kernel, for programs that are one call of one kernel whose work is too little for a second thread:
//! arguments become the kernel's words at once, and nothing else is looked at. What a small call costs is this way, so it
//! allocates nothing, waits for nothing, and computes what does not change only once.

use std::mem::MaybeUninit;

use super::kernel::{Code, Failure, Kernel};
use super::pool::MAX_THREADS;
use super::program::Source;
use super::reports::StatusHead;
use super::schedule::{Schedule, Word};
use super::scratch::{ALIGNMENT, with_scratch};
use crate::codegen::host::loader::KernelFn;
use crate::language::argument::Argument;

/// Kernels with more words take the long way.
const WORDS: usize = 16;

/// What is known of every call of such a program.
#[derive(Debug)]
pub(super) struct Direct {
    /// Index of the kernel, which keeps its code in memory.
    pub kernel: usize,
    entry: KernelFn,
    iterations: i64,
    scratch: usize,
    words: Box<[DirectWord]>,
}

/// A word of the kernel: a constant, or what comes from an argument, plus a number of bytes.
#[derive(Clone, Copy, Debug)]
enum DirectWord {
    Const(u64),
    From(Source, u64),
}

impl Direct {
    /// For a schedule that fits every call; `sources` are those of the program's words.
    pub fn of(schedule: &Schedule, kernels: &[Kernel], sources: &[Source]) -> Option<Direct> {
        let ([task], 0, true) = (&schedule.tasks[..], schedule.workspace, schedule.made_for.is_empty()) else {
            return None;
        };
        let kernel = &kernels[task.kernel];
        let Code::Native { entry, .. } = &kernel.code else { return None };
        let iterations = kernel.iterations.constant()?;
        let scratch = usize::try_from(kernel.scratch.constant()?).ok()?;
        let words = schedule.words_of(task);
        if kernel.chunks(iterations, MAX_THREADS) != 1 || words.len() > WORDS || !kernel.reports.is_empty() {
            return None;
        }
        let direct = |word: &Word| match *word {
            Word::Const(bits) => DirectWord::Const(bits),
            Word::Scalar(index) => DirectWord::From(sources[index], 0),
            Word::Param(index, offset) => DirectWord::From(sources[index], offset as u64),
            // A temporary without elements needs an address, but no memory.
            Word::Temp(_, offset) => DirectWord::Const((ALIGNMENT + offset) as u64),
        };
        let words = words.iter().map(direct).collect();
        Some(Direct { kernel: task.kernel, entry: *entry, iterations, scratch, words })
    }

    /// Runs the kernel, which is number `kernel` of `kernels`.
    ///
    /// # Safety
    /// As for [`HostProgram::call`](super::program::HostProgram::call).
    #[inline]
    pub unsafe fn run(&self, kernels: &[Kernel], arguments: &[Argument<'_>]) -> Result<(), Failure> {
        let mut words = [const { MaybeUninit::<u64>::uninit() }; WORDS];
        for (to, word) in words.iter_mut().zip(&self.words) {
            to.write(match *word {
                DirectWord::Const(bits) => bits,
                DirectWord::From(source, offset) => source.word(arguments).wrapping_add(offset),
            });
        }
        let mut status = StatusHead::new();
        let word = (&raw mut status).cast::<u32>();
        let words = words.as_ptr().cast::<u64>();
        // SAFETY: the caller's promise; the kernel reads as many words as were written, shows nothing while it runs, so that
        // a status is all it wants, and has scratch of the size that it asks for, which belongs to this thread until it returns.
        let run = |memory| unsafe { (self.entry)(words, 0, self.iterations, memory, word) };
        with_scratch(self.scratch, run)?;
        if status.code == 0 { Ok(()) } else { Err(kernels[self.kernel].stopped(&status)) }
    }
}
