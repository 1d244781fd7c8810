//! Which CPU a thread runs on.
//!
//! A worker that wakes on its caller's CPU, or looks for work there, helps nobody: the two take turns. The system moves one of them only
//! when it balances its queues, which may take longer than all of the work.

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

/// Moves this thread to another CPU than that one, where it may run on others; afterwards it may run wherever it might before.
#[cfg(target_os = "linux")]
pub fn leave(cpu: usize) {
    let size = size_of::<libc::cpu_set_t>();
    if cpu >= 8 * size {
        return;
    }
    // SAFETY: the calls are about this thread, read and write sets of the size that they are given, and `cpu` is inside of them.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size, &raw mut all) != 0 {
            return;
        }
        let mut others = all;
        libc::CPU_CLR(cpu, &mut others);
        if libc::CPU_COUNT(&others) > 0 && libc::sched_setaffinity(0, size, &raw const others) == 0 {
            libc::sched_setaffinity(0, size, &raw const all);
        }
    }
}

/// Moves this thread to another CPU than that one, where it may run on others; afterwards it may run wherever it might before.
#[cfg(not(target_os = "linux"))]
pub fn leave(_cpu: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_leaves_its_cpu_and_may_come_back() {
        let count = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (before, cpu) = (count(), current_cpu().expect("a CPU"));
        leave(cpu);
        // Not pinned: as many CPUs as before are allowed, and it may be moved back at any time.
        assert_eq!(count(), before);
        leave(usize::MAX);
        leave(8 * size_of::<libc::cpu_set_t>() - 1);
        assert_eq!(count(), before);
    }
}
