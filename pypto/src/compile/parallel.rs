//! Work on several things at the same time, where each takes milliseconds: kernels that are compiled. The pool of the run
//! time is for kernels that run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Applies `f` to every item, on at most `threads` threads, the caller among them; results in the order of the items.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], threads: usize, f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let helpers = threads.min(items.len()).saturating_sub(1);
    if helpers == 0 {
        return items.iter().map(f).collect();
    }
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            let result = f(item);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // Where the system gives no thread, this one does the work.
            let _ = std::thread::Builder::new().name("pypto-compile".to_owned()).spawn_scoped(scope, work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::in_parallel;

    #[test]
    fn results_come_in_order_from_several_threads() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 2, 7, 200] {
            assert_eq!(in_parallel(&items, threads, |item| item * 2), items.iter().map(|i| i * 2).collect::<Vec<_>>());
        }
        assert!(in_parallel(&[] as &[usize], 4, |item| *item).is_empty());
        // Each waits for the other: one thread alone would wait for ever.
        let both = Barrier::new(2);
        in_parallel(&[0, 1], 2, |_| both.wait().is_leader());
    }
}
