//! Samples of the time that a call takes.
//!
//! On one thread a sample is the CPU time of the calling thread where that is less than the time that passed: another
//! process that took the core for a moment is not what is measured.

use std::time::{Duration, Instant};

/// What is known after all slices of a contender: seconds a call.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    pub best: f64,
    pub median: f64,
}

impl Summary {
    /// NaN without samples.
    pub fn of(samples: &[f64]) -> Summary {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        Summary { best: at(0), median: at(sorted.len() / 2) }
    }
}

/// A sample takes at least so long, so that the clock does not matter.
const LEAST: Duration = Duration::from_micros(100);

/// Calls for about that long, at least once; seconds a call of each sample.
pub fn slice<E>(threads: usize, length: Duration, mut call: impl FnMut() -> Result<(), E>) -> Result<Vec<f64>, E> {
    // Also brings the data back into the caches that other contenders filled.
    let start = Instant::now();
    call()?;
    let once = start.elapsed().max(Duration::from_nanos(10));
    let batch = (LEAST.as_nanos() / once.as_nanos()).clamp(1, 10_000) as u32;
    let (start, mut samples) = (Instant::now(), Vec::new());
    while samples.is_empty() || start.elapsed() < length {
        let (wall, cpu) = (Instant::now(), thread_time());
        for _ in 0..batch {
            call()?;
        }
        let (wall, cpu) = (wall.elapsed(), thread_time() - cpu);
        let time = if threads == 1 { wall.min(cpu) } else { wall };
        samples.push(time.as_secs_f64() / f64::from(batch));
    }
    Ok(samples)
}

/// CPU time of this thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
