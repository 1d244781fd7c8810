//! The thread pool that kernels run on.
//!
//! One job at a time: a number of chunks and a function of the chunk's index. The calling thread takes part and can
//! finish the job alone, so a worker that lost its core, or never woke, delays nobody; only workers that took a chunk
//! are awaited. Workers look for more work for a moment after a job, and then park; while they look, they offer their core
//! to others again and again, and leave it for another if it is the caller's own. Who is parked is woken for work that is worth it, or
//! where jobs follow one another. A job started inside a job, or while another thread's job runs, is executed by its caller alone.
//!
//! The state is one word, `epoch << 32 | chunks left`: taking a chunk is a compare-and-swap that decrements it. The
//! job's description changes only while no chunks are left, so a successful swap proves that the description read
//! before it belongs to the same job.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, OnceLock, TryLockError};
use std::time::{Duration, Instant};

use super::placement::{self, PlacedThread};
use crate::config::environment::Environment;

/// How long an idle worker looks for work before it parks.
const SPIN: Duration = Duration::from_micros(50);
/// Jobs of at least so many nanoseconds wake workers that are parked. Shorter ones do where the last job ended so lately that
/// workers need not have parked: then there will be more, and the next ones find them awake. A worker that wakes up for one
/// short job comes too late for it, and may take the core from the caller.
const WAKING: f64 = 60_000.0;

/// A chunk's function, its data, and the chunk's index.
type Entry = unsafe fn(*const (), usize);

/// Some chunk of a job panicked; the other chunks ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a worker panicked")]
pub struct Panicked;

/// A set of worker threads; they live as long as the process.
pub struct Pool {
    /// `epoch << 32 | chunks left`.
    state: AtomicU64,
    /// The job: entry, data, number of chunks, and how many workers may take part.
    entry: AtomicPtr<()>,
    data: AtomicPtr<()>,
    chunks: AtomicUsize,
    helpers: AtomicUsize,
    /// Chunks that are not finished.
    pending: AtomicUsize,
    panicked: AtomicBool,
    /// The CPU of the job's caller, `usize::MAX` if that is not known.
    caller: AtomicUsize,
    /// When the last job ended, in nanoseconds since `start`.
    ended: AtomicU64,
    start: Instant,
    /// Held by the thread whose job runs.
    owner: Mutex<()>,
    workers: OnceLock<Vec<Worker>>,
}

#[derive(Default)]
struct Worker {
    parked: AtomicBool,
    /// How it is woken; it says so itself, before it parks for the first time.
    thread: OnceLock<PlacedThread>,
}

impl Worker {
    /// Wakes it, if it is parked, on another CPU than this thread's.
    fn wake_elsewhere(&self) {
        if self.parked.load(Ordering::Relaxed)
            && self.parked.swap(false, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.wake_elsewhere();
        }
    }
}

thread_local! {
    static IN_JOB: Cell<bool> = const { Cell::new(false) };
    /// 0, or one more than the index of the worker that this thread is.
    static LANE: Cell<usize> = const { Cell::new(0) };
}

/// The number of threads that kernels use: `PYPTO_THREADS`, or what the machine offers.
pub fn thread_count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    // A wrong variable is reported where the call was specialized; nothing runs before.
    *COUNT.get_or_init(|| Environment::process_or_default().thread_count().min(MAX_THREADS))
}

/// The place of this thread among those that run a job: 0 is the caller, n the worker n - 1.
pub fn lane() -> usize {
    LANE.get()
}

/// More threads than this are not started.
pub const MAX_THREADS: usize = 256;

/// Whether that comes true within about a microsecond of looking.
pub fn changes_soon(has_changed: impl Fn() -> bool) -> bool {
    (0..64).any(|_| {
        std::hint::spin_loop();
        has_changed()
    })
}

/// The pool of the process.
pub fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    let pool = POOL.get_or_init(Pool::new);
    pool.start(thread_count() - 1);
    pool
}

impl Pool {
    fn new() -> Pool {
        Pool {
            state: AtomicU64::new(0),
            entry: AtomicPtr::new(std::ptr::null_mut()),
            data: AtomicPtr::new(std::ptr::null_mut()),
            chunks: AtomicUsize::new(0),
            helpers: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            caller: AtomicUsize::new(usize::MAX),
            ended: AtomicU64::new(0),
            start: Instant::now(),
            owner: Mutex::new(()),
            workers: OnceLock::new(),
        }
    }

    /// Starts the workers once. A machine that refuses a thread gets a smaller pool: the caller can do all work alone.
    fn start(&'static self, count: usize) {
        if self.workers.get().is_some() {
            return;
        }
        let fresh = || (0..count).map(|_| Worker::default()).collect();
        let mut started = false;
        let workers = self.workers.get_or_init(|| {
            started = true;
            fresh()
        });
        if !started {
            return;
        }
        for (index, worker) in workers.iter().enumerate() {
            let name = format!("pypto-{index}");
            let _ = std::thread::Builder::new().name(name).spawn(move || self.work(index, worker));
        }
    }

    /// Runs `chunk(0..chunks)` on at most `threads` threads, the caller among them, and returns when all have run. One thread
    /// would take about `nanoseconds`.
    ///
    /// # Errors
    /// [`Panicked`] if a chunk panicked.
    pub fn run<F: Fn(usize) + Sync>(
        &self,
        chunks: usize,
        threads: usize,
        nanoseconds: f64,
        chunk: &F,
    ) -> Result<(), Panicked> {
        let alone = || catch_unwind(AssertUnwindSafe(|| (0..chunks).for_each(chunk))).map_err(|_| Panicked);
        if chunks <= 1 || threads <= 1 || chunks > u32::MAX as usize || IN_JOB.get() {
            return alone();
        }
        let _owner = match self.owner.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return alone(),
        };
        unsafe fn entry<F: Fn(usize) + Sync>(data: *const (), index: usize) {
            // SAFETY: `data` is the `&F` of the `run` that waits for this chunk.
            unsafe { (*data.cast::<F>())(index) }
        }
        let wakes = nanoseconds >= WAKING || self.idle() < SPIN;
        self.publish(entry::<F>, std::ptr::from_ref(chunk).cast(), chunks, threads - 1, wakes);
        IN_JOB.set(true);
        while self.take_and_run(None) {}
        IN_JOB.set(false);
        self.wait();
        self.ended.store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        if self.panicked.swap(false, Ordering::Relaxed) { Err(Panicked) } else { Ok(()) }
    }

    /// How long ago the last job ended.
    fn idle(&self) -> Duration {
        let ended = Duration::from_nanos(self.ended.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(ended)
    }

    /// Describes the job, opens it, and, if it `wakes` any, wakes as many workers as can help.
    fn publish(&self, entry: Entry, data: *const (), chunks: usize, helpers: usize, wakes: bool) {
        self.entry.store(entry as *mut (), Ordering::Relaxed);
        self.data.store(data.cast_mut(), Ordering::Relaxed);
        self.chunks.store(chunks, Ordering::Relaxed);
        self.helpers.store(helpers, Ordering::Relaxed);
        self.pending.store(chunks, Ordering::Relaxed);
        self.caller.store(placement::current_cpu().unwrap_or(usize::MAX), Ordering::Relaxed);
        let epoch = (self.state.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.state.store(epoch << 32 | chunks as u64, Ordering::Release);
        if !wakes {
            return;
        }
        // Pairs with the fence in `park`: either the worker sees the new state, or this thread sees that it parked.
        fence(Ordering::SeqCst);
        let workers = self.workers.get().map_or(&[][..], |w| w);
        workers.iter().take(helpers.min(chunks - 1)).for_each(Worker::wake_elsewhere);
    }

    /// Takes a chunk and runs it; false if none is left for this thread. `worker` is the index of a worker.
    fn take_and_run(&self, worker: Option<usize>) -> bool {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            let left = state & u64::from(u32::MAX);
            if left == 0 || worker.is_some_and(|w| w >= self.helpers.load(Ordering::Relaxed)) {
                return false;
            }
            let entry = self.entry.load(Ordering::Relaxed);
            let data = self.data.load(Ordering::Relaxed);
            let chunks = self.chunks.load(Ordering::Relaxed);
            match self.state.compare_exchange_weak(state, state - 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.run_chunk(entry, data, chunks - left as usize);
                    return true;
                }
                Err(now) => state = now,
            }
        }
    }

    fn run_chunk(&self, entry: *mut (), data: *const (), index: usize) {
        // SAFETY: the swap that took the chunk proves that `entry` and `data` are those that `publish` stored for this
        // job: a function pointer of type `Entry`, and a closure that `run` keeps alive until `pending` is zero.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe {
            let entry: Entry = std::mem::transmute::<*mut (), Entry>(entry);
            entry(data, index);
        }));
        if outcome.is_err() {
            self.panicked.store(true, Ordering::Relaxed);
        }
        self.pending.fetch_sub(1, Ordering::Release);
    }

    /// Waits for chunks that workers took. They run right now, so the wait is short: spin, then give the core away.
    fn wait(&self) {
        let mut turns = 0u32;
        while self.pending.load(Ordering::Acquire) != 0 {
            turns = turns.saturating_add(1);
            if turns < 2000 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// The life of a worker.
    fn work(&self, index: usize, worker: &Worker) {
        IN_JOB.set(true);
        LANE.set(index + 1);
        let _ = worker.thread.set(PlacedThread::this());
        loop {
            if self.has_work(index) {
                self.keep_off_the_caller();
            }
            if self.take_and_run(Some(index)) {
                continue;
            }
            if !self.spin(index) {
                self.park(index, worker);
            }
        }
    }

    /// Looks for chunks for a while; false if none came.
    fn spin(&self, index: usize) -> bool {
        let start = Instant::now();
        loop {
            if changes_soon(|| self.has_work(index)) {
                return true;
            }
            // On an idle core this returns at once. On a busy one it lets run whoever waits for it: the caller, too, which
            // gives work to nobody while it waits.
            std::thread::yield_now();
            self.keep_off_the_caller();
            if start.elapsed() > SPIN {
                return false;
            }
        }
    }

    /// A worker goes to another CPU where this is the one of the job's caller.
    pub fn keep_off_the_caller(&self) {
        let caller = self.caller.load(Ordering::Relaxed);
        if lane() > 0 && placement::current_cpu() == Some(caller) {
            PlacedThread::this().keep_off(caller, || ());
        }
    }

    fn has_work(&self, index: usize) -> bool {
        self.state.load(Ordering::Acquire) as u32 != 0 && index < self.helpers.load(Ordering::Relaxed)
    }

    fn park(&self, index: usize, worker: &Worker) {
        worker.parked.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while worker.parked.load(Ordering::Acquire) && !self.has_work(index) {
            std::thread::park();
        }
        worker.parked.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(chunks: usize, threads: usize) -> usize {
        let hits: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
        pool().run(chunks, threads, f64::INFINITY, &|i| _ = hits[i].fetch_add(1, Ordering::Relaxed)).unwrap();
        assert!(hits.iter().all(|h| h.load(Ordering::Relaxed) == 1), "every chunk runs once");
        chunks
    }

    #[test]
    fn every_chunk_runs_once() {
        for round in 0..2000 {
            count(round % 17, 1 + round % 4);
        }
        std::thread::sleep(Duration::from_millis(2));
        count(100, 2);
    }

    #[test]
    fn short_jobs_need_no_worker() {
        for _ in 0..20 {
            std::thread::sleep(2 * SPIN);
            let hits = AtomicUsize::new(0);
            pool().run(8, 2, 1000.0, &|_| _ = hits.fetch_add(1, Ordering::Relaxed)).unwrap();
            assert_eq!(hits.load(Ordering::Relaxed), 8);
        }
    }

    #[test]
    fn callers_do_not_wait_for_one_another() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..300).for_each(|n| _ = count(n % 9, 2)));
            }
        });
    }

    #[test]
    fn nested_jobs_run_inline_and_panics_are_contained() {
        pool().run(4, 2, f64::INFINITY, &|_| _ = count(4, 2)).unwrap();
        let outcome = pool().run(4, 2, f64::INFINITY, &|i| assert!(i != 2, "on purpose"));
        assert_eq!(outcome, Err(Panicked));
        count(8, 2);
    }
}
