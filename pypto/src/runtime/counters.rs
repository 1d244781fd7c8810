//! Hardware counters around pieces of work, where the operating system gives them.
//!
//! Every thread has a group of counters of its own, which is opened when the thread first counts and kept for as long as the
//! same set is asked for. They count what the thread does outside of the kernel of the system.

use crate::config::PmuEvent;

/// Most counters of a set.
pub const MOST: usize = 4;

/// The values of a set's counters, in the order of [`names`].
pub type Counts = [u64; MOST];

/// What a set counts.
pub fn names(set: PmuEvent) -> &'static [&'static str] {
    match set {
        PmuEvent::Off => &[],
        PmuEvent::PipeUtilization => &["cycles", "instructions"],
        PmuEvent::ArithmeticUtilization => &["instructions", "branches", "branch_misses"],
        PmuEvent::Memory => &["l1d_reads", "l1d_read_misses", "llc_reads", "llc_read_misses"],
        PmuEvent::Cache => &["cache_references", "cache_misses"],
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::cell::RefCell;
    use std::io;

    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
    use perf_event::{Builder, Counter, Group};

    use super::{Counts, MOST};
    use crate::config::PmuEvent;

    /// The open counters of a thread.
    pub(super) struct Open {
        group: Group,
        counters: Vec<Counter>,
    }

    impl Open {
        pub(super) fn new(events: &[Builder<'static>]) -> io::Result<Open> {
            let mut group = Group::new()?;
            let counters = events.iter().map(|event| group.add(event)).collect::<io::Result<_>>()?;
            Ok(Open { group, counters })
        }

        pub(super) fn start(&mut self) -> io::Result<()> {
            self.group.reset()?;
            self.group.enable()
        }

        /// The values; `None` where the counters of the machine were taken by others all the time, or stand still, as those of some
        /// virtual machines do: some instruction always runs in between.
        pub(super) fn stop(&mut self) -> Option<Counts> {
            self.group.disable().ok()?;
            let values = self.group.read().ok()?;
            if values.time_running().is_some_and(|time| time.is_zero()) {
                return None;
            }
            let mut counts = [0; MOST];
            for (count, counter) in counts.iter_mut().zip(&self.counters) {
                *count = values.get(counter)?.value();
            }
            counts.iter().any(|&count| count > 0).then_some(counts)
        }
    }

    thread_local! {
        static OPEN: RefCell<Option<(PmuEvent, Open)>> = const { RefCell::new(None) };
    }

    fn events(set: PmuEvent) -> Vec<Builder<'static>> {
        let cache = |which, result| Builder::new(Cache { which, operation: CacheOp::READ, result });
        match set {
            PmuEvent::Off => Vec::new(),
            PmuEvent::PipeUtilization => Vec::from([Hardware::CPU_CYCLES, Hardware::INSTRUCTIONS].map(Builder::new)),
            PmuEvent::ArithmeticUtilization => {
                let events = [Hardware::INSTRUCTIONS, Hardware::BRANCH_INSTRUCTIONS, Hardware::BRANCH_MISSES];
                Vec::from(events.map(Builder::new))
            }
            PmuEvent::Memory => vec![
                cache(CacheId::L1D, CacheResult::ACCESS),
                cache(CacheId::L1D, CacheResult::MISS),
                cache(CacheId::LL, CacheResult::ACCESS),
                cache(CacheId::LL, CacheResult::MISS),
            ],
            PmuEvent::Cache => Vec::from([Hardware::CACHE_REFERENCES, Hardware::CACHE_MISSES].map(Builder::new)),
        }
    }

    /// Opens the set on this thread, if it is not.
    pub(super) fn open(set: PmuEvent) -> io::Result<()> {
        OPEN.with_borrow_mut(|open| {
            if open.as_ref().is_none_or(|(known, _)| *known != set) {
                *open = Some((set, Open::new(&events(set))?));
            }
            Ok(())
        })
    }

    pub(super) fn start(set: PmuEvent) -> bool {
        open(set).is_ok()
            && OPEN.with_borrow_mut(|open| open.as_mut().is_some_and(|(_, counters)| counters.start().is_ok()))
    }

    pub(super) fn stop() -> Option<Counts> {
        OPEN.with_borrow_mut(|open| open.as_mut().and_then(|(_, counters)| counters.stop()))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Counts;
    use crate::config::PmuEvent;

    pub(super) fn open(_: PmuEvent) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(super) fn start(_: PmuEvent) -> bool {
        false
    }

    pub(super) fn stop() -> Option<Counts> {
        None
    }
}

/// Whether this thread can count a set.
///
/// # Errors
/// Why the system does not let it.
pub fn check(set: PmuEvent) -> Result<(), String> {
    use std::io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
    system::open(set).map_err(|error| match error.kind() {
        NotFound | Unsupported => "the system knows none of this machine's".to_owned(),
        PermissionDenied => "the system does not permit it: see /proc/sys/kernel/perf_event_paranoid".to_owned(),
        _ => error.to_string(),
    })
}

/// Counts while `f` runs; no values where this thread cannot.
pub fn count<R>(set: PmuEvent, f: impl FnOnce() -> R) -> (R, Option<Counts>) {
    let started = system::start(set);
    let result = f();
    (result, if started { system::stop() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_names_and_counts_or_says_why_not() {
        for set in PmuEvent::ALL.into_iter().filter(|set| *set != PmuEvent::Off) {
            assert!((2..=MOST).contains(&names(set).len()));
            let work = || (0..1000u64).fold(1u64, |sum, i| std::hint::black_box(sum ^ i));
            match check(set) {
                Ok(()) => assert_eq!(count(set, work).0, work()),
                Err(reason) => assert!(!reason.is_empty() && count(set, work).1.is_none()),
            }
        }
    }

    /// Where there are no hardware counters, the system's own clock goes the same way.
    #[test]
    #[cfg(target_os = "linux")]
    fn groups_count_between_start_and_stop() {
        use perf_event::Builder;
        use perf_event::events::Software;
        let Ok(mut open) = system::Open::new(&[Builder::new(Software::TASK_CLOCK)]) else { return };
        for _ in 0..2 {
            open.start().unwrap();
            let start = std::time::Instant::now();
            // Clocks of the system may lag by a time slice.
            while start.elapsed().as_millis() < 100 {}
            let Some(counts) = open.stop() else { return };
            assert!(counts[0] > 0 && counts[1..] == [0; MOST - 1], "{counts:?}");
        }
    }
}
