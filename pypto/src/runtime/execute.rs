//! Runs a task schedule.
//!
//! Tasks are independent of one another unless an edge says otherwise, and each may be cut into chunks. Small schedules
//! run in program order on the calling thread; others on the pool, where every thread takes ready chunks until none is
//! left. All state lives in a [`Frame`] that is kept for the next call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::kernel::{FirstFailure, Kernel, PARALLEL_ABOVE, evaluate, share};
use super::placement::PlacedThread;
use super::pool::{self, pool};
use super::recording::{Execution, Tasks};
use super::schedule::{Schedule, Word};
use super::scratch::Buffer;

pub use super::kernel::Failure;

/// A thread without work looks for so long whether a task has ended before it sleeps: tasks that wait for each other are often shorter than
/// it takes to wake a thread, and who wakes one pays for it, too.
const SPIN: Duration = Duration::from_micros(100);

/// The state of one running schedule.
#[derive(Default)]
pub struct Frame {
    /// Temporaries.
    pub workspace: Buffer,
    words: Vec<u64>,
    /// Tasks that each task still waits for.
    waits: Vec<AtomicU32>,
    /// Chunks of each task that are not finished.
    left: Vec<AtomicU32>,
    /// Number of chunks of each task, at least 1.
    chunks: Vec<u32>,
    ready: Mutex<Ready>,
    /// How often `ready` changed.
    changes: AtomicUsize,
    unfinished: AtomicUsize,
}

/// What threads take, and those that found nothing.
#[derive(Default)]
struct Ready {
    /// Tasks and chunks of them.
    chunks: Vec<(u32, u32)>,
    sleepers: Vec<PlacedThread>,
}

impl Frame {
    /// Runs the tasks. `arguments` are the program's words, `temps` the addresses of temporaries.
    ///
    /// # Safety
    /// The words are arguments that the program was compiled for, as for [`Kernel::run_range`], and the temporaries have
    /// the sizes that the schedule asked for.
    pub unsafe fn run(
        &mut self,
        schedule: &Schedule,
        kernels: &[Kernel],
        arguments: &[u64],
        temps: &[*mut u8],
        execution: Execution<'_>,
    ) -> Result<(), Failure> {
        let threads = execution.threads;
        let tasks = execution.begin(schedule, kernels);
        self.words.clear();
        self.words.extend(schedule.words.iter().map(|word| resolve(*word, arguments, temps)));
        let is_serial = threads <= 1 || schedule.tasks.len() == 1;
        let total = if is_serial { 0.0 } else { self.plan(schedule, kernels, threads) };
        if total < PARALLEL_ABOVE {
            for (number, task) in schedule.tasks.iter().enumerate() {
                if number > 0 && task.waits > 0 {
                    tasks.ready(number);
                }
                let words = &self.words[task.words.0..task.words.1];
                // SAFETY: the caller's promise; program order respects every edge.
                unsafe { kernels[task.kernel].run(words, threads, tasks, number)? };
            }
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.run_graph(schedule, kernels, threads, total, tasks) }
    }

    /// Decides the chunks of each task; returns the estimated time of all.
    fn plan(&mut self, schedule: &Schedule, kernels: &[Kernel], threads: usize) -> f64 {
        self.chunks.clear();
        self.left.clear();
        self.waits.clear();
        let mut total = 0.0;
        for task in &schedule.tasks {
            let kernel = &kernels[task.kernel];
            let iterations = evaluate(&kernel.iterations, &self.words[task.words.0..task.words.1]);
            total += iterations.max(0) as f64 * kernel.cost;
            let chunks = kernel.chunks_of_task(iterations, threads).max(1) as u32;
            self.chunks.push(chunks);
            self.left.push(AtomicU32::new(chunks));
            self.waits.push(AtomicU32::new(task.waits));
        }
        total
    }

    /// # Safety
    /// As for [`Frame::run`].
    unsafe fn run_graph(
        &mut self,
        schedule: &Schedule,
        kernels: &[Kernel],
        threads: usize,
        nanoseconds: f64,
        tasks: Tasks<'_>,
    ) -> Result<(), Failure> {
        let ready = self.ready.get_mut().unwrap_or_else(PoisonError::into_inner);
        ready.chunks.clear();
        // Taken from the end, so that tasks run in about program order.
        for (index, _) in schedule.tasks.iter().enumerate().rev().filter(|(_, task)| task.waits == 0) {
            ready.chunks.extend((0..self.chunks[index]).map(|chunk| (index as u32, chunk)));
        }
        *self.unfinished.get_mut() = schedule.tasks.len();
        let failure = FirstFailure::default();
        let frame = &*self;
        pool().run(threads, threads, nanoseconds, &|_| {
            while let Some((task, chunk)) = frame.next(&failure, tasks) {
                // A panic must not keep the others waiting for this chunk.
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    // SAFETY: the caller's promise; the task is ready, so everything it conflicts with is finished.
                    unsafe { frame.run_chunk(schedule, kernels, task as usize, chunk as usize, tasks) }
                }));
                failure.note(outcome.unwrap_or(Err(Failure::Panicked)));
                frame.finish_chunk(schedule, task as usize, &failure, tasks);
            }
        })?;
        failure.into_result()
    }

    /// The next ready chunk; waits for one while tasks are unfinished.
    fn next(&self, failure: &FirstFailure, tasks: Tasks<'_>) -> Option<(u32, u32)> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if failure.is_some() {
                return None;
            }
            if let Some(item) = ready.chunks.pop() {
                return Some(item);
            }
            if self.unfinished.load(Ordering::Acquire) == 0 {
                return None;
            }
            ready = tasks.wait(|| self.wait(ready, failure));
        }
    }

    /// Waits for a change: awake for a while, then asleep.
    fn wait<'a>(&'a self, ready: MutexGuard<'a, Ready>, failure: &FirstFailure) -> MutexGuard<'a, Ready> {
        // Changes are made with the lock held, so none is lost between what the caller saw and this.
        let seen = self.changes.load(Ordering::Acquire);
        let has_changed = || self.changes.load(Ordering::Acquire) != seen || failure.is_some();
        drop(ready);
        let start = Instant::now();
        // The core is not offered to others meanwhile: it might come back after milliseconds, and tasks that could run would wait for it.
        while !pool::changes_soon(has_changed) && start.elapsed() < SPIN {
            pool().keep_off_the_caller();
        }
        let lock = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ready = lock();
        if has_changed() {
            return ready;
        }
        ready.sleepers.push(PlacedThread::this());
        drop(ready);
        while !has_changed() {
            std::thread::park();
        }
        lock()
    }

    /// # Safety
    /// As for [`Frame::run`].
    unsafe fn run_chunk(
        &self,
        schedule: &Schedule,
        kernels: &[Kernel],
        task: usize,
        chunk: usize,
        tasks: Tasks<'_>,
    ) -> Result<(), Failure> {
        let (kernel, words) = (&kernels[schedule.tasks[task].kernel], schedule.tasks[task].words);
        let words = &self.words[words.0..words.1];
        let iterations = evaluate(&kernel.iterations, words).max(0);
        let (begin, end) = share(iterations, self.chunks[task] as usize, chunk);
        if begin >= end {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        tasks.span(task, begin, end, |shown| unsafe { kernel.run_range(words, begin, end, shown) })
    }

    fn finish_chunk(&self, schedule: &Schedule, task: usize, failure: &FirstFailure, tasks: Tasks<'_>) {
        // The last chunk makes what the others wrote visible to those that wait.
        let last = self.left[task].fetch_sub(1, Ordering::AcqRel) == 1;
        if !last && !failure.is_some() {
            return;
        }
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if last {
            for successor in schedule.successors_of(&schedule.tasks[task]) {
                if self.waits[*successor as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
                    tasks.ready(*successor as usize);
                    ready.chunks.extend((0..self.chunks[*successor as usize]).map(|chunk| (*successor, chunk)));
                }
            }
            self.unfinished.fetch_sub(1, Ordering::AcqRel);
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
        let sleepers = std::mem::take(&mut ready.sleepers);
        drop(ready);
        sleepers.iter().for_each(PlacedThread::wake_elsewhere);
    }
}

/// The value of a word for a call.
pub fn resolve(word: Word, arguments: &[u64], temps: &[*mut u8]) -> u64 {
    match word {
        Word::Const(bits) => bits,
        Word::Scalar(index) => arguments[index],
        Word::Param(index, offset) => arguments[index].wrapping_add(offset as u64),
        Word::Temp(index, offset) => temps[index].wrapping_add(offset) as u64,
    }
}
