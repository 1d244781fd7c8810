//! Which CPU a thread runs on.
//!
//! A worker that wakes on its caller's CPU, or looks for work there, helps nobody: the two take turns. The system moves one of them only
//! when it balances its queues, which may take longer than all of the work. Linux wakes threads there though other CPUs are idle, above all
//! in virtual machines, where idle CPUs look as if their host had taken them away; there the worker waits until its caller's time is up,
//! for milliseconds.

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

/// A thread, as the system knows it.
#[derive(Clone, Copy, Debug)]
pub struct SystemThread(#[cfg(target_os = "linux")] libc::pid_t);

impl SystemThread {
    /// The calling thread.
    pub fn this() -> SystemThread {
        SystemThread(
            #[cfg(target_os = "linux")]
            // SAFETY: takes no arguments and touches no memory of ours.
            unsafe {
                libc::gettid()
            },
        )
    }
}

/// A thread that parks, with what its waker needs.
#[derive(Clone, Debug)]
pub struct Sleeper {
    thread: std::thread::Thread,
    system: SystemThread,
}

impl Sleeper {
    /// The calling thread, before it parks.
    pub fn this() -> Sleeper {
        Sleeper { thread: std::thread::current(), system: SystemThread::this() }
    }

    /// Ends its [`std::thread::park`], on another CPU than that one if there are others.
    pub fn wake_off(&self, cpu: Option<usize>) {
        let wake = || self.thread.unpark();
        match cpu {
            Some(cpu) => keep_off(cpu, self.system, wake),
            None => wake(),
        }
    }
}

/// CPUs that a thread may run on.
#[cfg(target_os = "linux")]
type Set = libc::cpu_set_t;

/// Where a thread may run, and the same without that CPU; `None` where there is no other.
#[cfg(target_os = "linux")]
fn without(thread: SystemThread, cpu: usize) -> Option<(Set, Set)> {
    if cpu >= 8 * size_of::<Set>() {
        return None;
    }
    // SAFETY: a set is plain bits; the call writes one of the size that it is given, and `cpu` is inside of it.
    unsafe {
        let mut all: Set = std::mem::zeroed();
        if libc::sched_getaffinity(thread.0, size_of::<Set>(), &raw mut all) != 0 {
            return None;
        }
        let mut others = all;
        libc::CPU_CLR(cpu, &mut others);
        (libc::CPU_COUNT(&others) > 0).then_some((all, others))
    }
}

/// Says where a thread may run; one that runs elsewhere is moved at once. False if the system refuses.
#[cfg(target_os = "linux")]
fn allow(thread: SystemThread, set: &Set) -> bool {
    // SAFETY: reads a set of the size that it is given.
    unsafe { libc::sched_setaffinity(thread.0, size_of::<Set>(), set) == 0 }
}

/// Keeps a thread off that CPU while `meanwhile` runs, where it may run on others: if it runs there it is moved, if it is woken it
/// wakes elsewhere. Afterwards it may run wherever it might before, but stays where it is until the system balances its queues.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
pub fn keep_off(cpu: usize, thread: SystemThread, meanwhile: impl FnOnce()) {
    #[cfg(target_os = "linux")]
    if let Some((all, others)) = without(thread, cpu)
        && allow(thread, &others)
    {
        meanwhile();
        allow(thread, &all);
        return;
    }
    meanwhile();
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn allowed() -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }

    #[test]
    fn a_thread_leaves_its_cpu_and_may_come_back() {
        let (before, cpu) = (allowed(), current_cpu().expect("a CPU"));
        keep_off(cpu, SystemThread::this(), || assert!(before == 1 || current_cpu() != Some(cpu)));
        // Not pinned: as many CPUs as before are allowed, and it may be moved back at any time.
        assert_eq!(allowed(), before);
        for none in [usize::MAX, 8 * size_of::<Set>(), 8 * size_of::<Set>() - 1] {
            keep_off(none, SystemThread::this(), || assert_eq!(allowed(), before));
        }
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_thread_wakes_elsewhere_and_may_come_back() {
        let (before, cpu) = (allowed(), current_cpu());
        let (tell, told) = std::sync::mpsc::channel();
        let sleeps = std::thread::spawn(move || {
            tell.send(Sleeper::this()).expect("a receiver");
            std::thread::park();
            let woke = current_cpu();
            std::thread::park();
            (woke, allowed())
        });
        let sleeper = told.recv().expect("a thread");
        let rest = || std::thread::sleep(std::time::Duration::from_millis(20));
        rest();
        sleeper.wake_off(cpu);
        rest();
        sleeper.wake_off(None);
        let (woke, after) = sleeps.join().expect("no panic");
        // This thread may have been moved before it woke the other.
        assert!(before == 1 || woke != cpu || current_cpu() != cpu, "woke on {woke:?}");
        assert_eq!(after, before);
    }
}
