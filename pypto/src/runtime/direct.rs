//! The shortest way to a kernel, for programs that are one call of one kernel whose work is too little for a second thread:
//! arguments become the kernel's words at once, and nothing else is looked at. What a small call costs is this way, so it
//! allocates nothing, waits for nothing, and computes what does not change only once.

use super::kernel::{Code, Kernel};
use super::pool::MAX_THREADS;
use super::program::Source;
use super::schedule::{Schedule, Word};
use super::scratch::ALIGNMENT;
use crate::language::argument::Argument;

/// Kernels with more words take the long way.
pub(super) const WORDS: usize = 16;

/// What is known of every call of such a program.
#[derive(Debug)]
pub(super) struct Direct {
    /// Index of the kernel.
    pub kernel: usize,
    pub iterations: i64,
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
        let iterations = kernel.iterations.constant()?;
        let short = matches!(kernel.code, Code::Native { .. }) && kernel.chunks(iterations, MAX_THREADS) == 1;
        let words = schedule.words_of(task);
        let direct = |word: &Word| match *word {
            Word::Const(bits) => DirectWord::Const(bits),
            Word::Scalar(index) => DirectWord::From(sources[index], 0),
            Word::Param(index, offset) => DirectWord::From(sources[index], offset as u64),
            // A temporary without elements needs an address, but no memory.
            Word::Temp(_, offset) => DirectWord::Const((ALIGNMENT + offset) as u64),
        };
        let fits = short && words.len() <= WORDS && kernel.reports.is_empty();
        fits.then(|| Direct { kernel: task.kernel, iterations, words: words.iter().map(direct).collect() })
    }

    /// The kernel's words for a call.
    #[inline]
    pub fn bind<'w>(&self, arguments: &[Argument<'_>], words: &'w mut [u64; WORDS]) -> &'w [u64] {
        for (to, word) in words.iter_mut().zip(&self.words) {
            *to = match *word {
                DirectWord::Const(bits) => bits,
                DirectWord::From(source, offset) => source.word(arguments).wrapping_add(offset),
            };
        }
        &words[..self.words.len()]
    }
}
