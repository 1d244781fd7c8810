//! Samples of the time that a call takes.
//!
//! On one thread a sample is the CPU time of the process where that is less than the time that passed: another process that
//! took the core for a moment is not what is measured. The peers in Rust use this file too.

use std::time::{Duration, Instant};

/// A sample takes at least so long, so that the clock does not matter.
const LEAST: Duration = Duration::from_micros(100);
/// Calls of a sample at most.
const MOST: u32 = 1 << 14;

/// Calls for about that long, at least once; seconds a call of each sample.
pub fn slice<E>(threads: usize, length: Duration, mut call: impl FnMut() -> Result<(), E>) -> Result<Vec<f64>, E> {
    // Also brings the data back into the caches that other contenders filled, so the first call tells too little: of short
    // calls it would take too few, and a sample would be mostly the time of the clocks.
    let mut batch = 1u32;
    while batch < MOST {
        let start = Instant::now();
        for _ in 0..batch {
            call()?;
        }
        if start.elapsed() >= LEAST {
            break;
        }
        batch *= 2;
    }
    let (start, mut samples) = (Instant::now(), Vec::new());
    while samples.is_empty() || start.elapsed() < length {
        let (wall, cpu) = (Instant::now(), process_time());
        for _ in 0..batch {
            call()?;
        }
        let (wall, cpu) = (wall.elapsed(), process_time() - cpu);
        let time = if threads == 1 { wall.min(cpu) } else { wall };
        samples.push(time.as_secs_f64() / f64::from(batch));
    }
    Ok(samples)
}

/// Time that a process has used on CPUs, in ticks of 10 ms; 0 where the system does not tell.
pub fn time_used(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in parentheses, may have blanks; user and system time are the 12th and 13th field after it.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// CPU time of all threads of this process.
pub fn process_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
