//! Which CPU a thread runs on.
//!
//! A worker that wakes on its caller's CPU, or looks for work there, helps nobody: the two take turns. The system moves one of them only
//! when it balances its queues, which may take longer than all of the work. Linux wakes threads there though other CPUs are idle, above all
//! in virtual machines, where idle CPUs look as if their host had taken them away; there the worker waits until its caller's time is up,
//! for milliseconds.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
#[cfg(target_os = "linux")]
use std::sync::atomic::Ordering;
use std::thread::Thread;

/// The CPU that this thread runs on; `None` where the system does not tell.
#[cfg(target_os = "linux")]
pub fn current_cpu() -> Option<usize> {
    // SAFETY: takes no arguments and touches no memory of ours.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The CPU that this thread runs on; `None` where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn current_cpu() -> Option<usize> {
    None
}

/// A thread, with what it takes to wake and to place it.
#[derive(Clone, Debug)]
pub struct PlacedThread(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    thread: Thread,
    #[cfg(target_os = "linux")]
    id: libc::pid_t,
    /// Held by who changes where the thread may run. Of two at a time, one would take the other's change for what was before.
    is_held: AtomicBool,
}

impl PlacedThread {
    /// The calling thread.
    pub fn this() -> PlacedThread {
        thread_local! {
            static THIS: PlacedThread = PlacedThread(Arc::new(Inner {
                thread: std::thread::current(),
                #[cfg(target_os = "linux")]
                // SAFETY: takes no arguments and touches no memory of ours.
                id: unsafe { libc::gettid() },
                is_held: AtomicBool::new(false),
            }));
        }
        THIS.with(PlacedThread::clone)
    }

    /// Ends its [`std::thread::park`], on another CPU than this thread's if there are others.
    pub fn wake_elsewhere(&self) {
        let wake = || self.0.thread.unpark();
        match current_cpu() {
            Some(cpu) => self.keep_off(cpu, wake),
            None => wake(),
        }
    }

    /// Keeps the thread off that CPU while `meanwhile` runs, where it may run on others and nobody else places it: if it runs there it is
    /// moved, if it is woken it wakes elsewhere. Afterwards it may run wherever it might before, but stays where it is until the system
    /// balances its queues.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
    pub fn keep_off(&self, cpu: usize, meanwhile: impl FnOnce()) {
        #[cfg(target_os = "linux")]
        if !self.0.is_held.swap(true, Ordering::Acquire) {
            let before = self.without(cpu).filter(|(_, others)| self.allow(others)).map(|(before, _)| before);
            meanwhile();
            if let Some(before) = before {
                self.allow(&before);
            }
            self.0.is_held.store(false, Ordering::Release);
            return;
        }
        meanwhile();
    }

    /// Where the thread may run, and the same without that CPU; `None` where there is no other.
    #[cfg(target_os = "linux")]
    fn without(&self, cpu: usize) -> Option<(Set, Set)> {
        if cpu >= 8 * size_of::<Set>() {
            return None;
        }
        // SAFETY: a set is plain bits; the call writes one of the size that it is given, and `cpu` is inside of it.
        unsafe {
            let mut all: Set = std::mem::zeroed();
            if libc::sched_getaffinity(self.0.id, size_of::<Set>(), &raw mut all) != 0 {
                return None;
            }
            let mut others = all;
            libc::CPU_CLR(cpu, &mut others);
            (libc::CPU_COUNT(&others) > 0).then_some((all, others))
        }
    }

    /// Says where the thread may run; if it runs elsewhere it is moved at once. False if the system refuses.
    #[cfg(target_os = "linux")]
    fn allow(&self, set: &Set) -> bool {
        // SAFETY: reads a set of the size that it is given.
        unsafe { libc::sched_setaffinity(self.0.id, size_of::<Set>(), set) == 0 }
    }
}

/// CPUs that a thread may run on.
#[cfg(target_os = "linux")]
type Set = libc::cpu_set_t;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn allowed() -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }

    #[test]
    fn a_thread_leaves_its_cpu_and_may_come_back() {
        let (before, cpu, this) = (allowed(), current_cpu().expect("a CPU"), PlacedThread::this());
        this.keep_off(cpu, || assert!(before == 1 || current_cpu() != Some(cpu)));
        // Not pinned: as many CPUs as before are allowed, and it may be moved back at any time.
        assert_eq!(allowed(), before);
        for none in [usize::MAX, 8 * size_of::<Set>(), 8 * size_of::<Set>() - 1] {
            this.keep_off(none, || assert_eq!(allowed(), before));
        }
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_thread_wakes_elsewhere_and_may_come_back() {
        let (before, cpu) = (allowed(), current_cpu().expect("a CPU"));
        let (say, said) = channel();
        let (tell, told) = channel();
        let sleeps = std::thread::spawn(move || {
            tell.send(PlacedThread::this()).expect("a receiver");
            std::thread::park();
            say.send(current_cpu()).expect("a receiver");
            std::thread::park();
            allowed()
        });
        let sleeper = told.recv().expect("a thread");
        std::thread::sleep(std::time::Duration::from_millis(5));
        // Afterwards the system may move it at once.
        sleeper.keep_off(cpu, || {
            sleeper.0.thread.unpark();
            let woke = said.recv().expect("a CPU");
            assert!(before == 1 || woke != Some(cpu), "woke on {woke:?}");
        });
        sleeper.0.thread.unpark();
        assert_eq!(sleeps.join().expect("no panic"), before);
    }

    /// Wakers on several CPUs, and the thread itself, place it at the same time.
    #[test]
    fn a_thread_that_many_place_may_run_everywhere_afterwards() {
        let before = allowed();
        let this = PlacedThread::this();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..2000).for_each(|i| this.keep_off(i % 2, || ())));
            }
            (0..2000).for_each(|i| this.keep_off(i % 2, || ()));
        });
        assert_eq!(allowed(), before);
    }
}
