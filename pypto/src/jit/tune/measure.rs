//! Timing of candidates against one another.
//!
//! They take turns, and the order moves on by one each round, so that a slow moment of the machine meets all of them. The
//! best time counts: what disturbs a call makes it slower, never faster.

use std::time::{Duration, Instant};

use super::arguments::{Arguments, Ready};
use crate::runtime::error::ErrorKind;

/// Rounds that every candidate takes part in.
const EVERYBODY: usize = 2;
/// Rounds that there are at least, and at most.
const ROUNDS: std::ops::Range<usize> = 5..1000;
/// After the rounds for everybody, whoever is slower than the best by this factor is not asked again.
const HOPELESS: f64 = 1.5;
/// A sample takes at least so long, so that the clock does not matter.
const SAMPLE: Duration = Duration::from_micros(50);
/// Differences below this are noise: of candidates so close to the best, the first one is chosen.
const NOISE: f64 = 0.02;

/// The samples of one candidate: seconds a call, ascending.
pub(super) type Samples = Vec<f64>;

/// Times the candidates for about `time`. A candidate whose call fails meanwhile gives the error.
pub(super) fn measure(
    arguments: &mut Arguments<'_>,
    candidates: &[&Ready],
    time: Duration,
) -> Vec<Result<Samples, ErrorKind>> {
    let mut samples: Vec<Result<Samples, ErrorKind>> = candidates.iter().map(|_| Ok(Samples::new())).collect();
    let mut batches = vec![1; candidates.len()];
    let (start, count) = (Instant::now(), candidates.len());
    for round in 0..ROUNDS.end {
        if round >= ROUNDS.start && start.elapsed() >= time {
            break;
        }
        let best = samples.iter().flatten().flatten().copied().fold(f64::INFINITY, f64::min);
        for index in (0..count).map(|turn| (turn + round) % count) {
            let Ok(own) = &mut samples[index] else { continue };
            let hopeless = own.iter().all(|sample| *sample > HOPELESS * best);
            if round >= EVERYBODY && hopeless {
                continue;
            }
            match arguments.run(candidates[index], batches[index]) {
                Ok((taken, _)) => own.push(taken.as_secs_f64() / f64::from(batches[index])),
                Err(error) => samples[index] = Err(error.kind().clone()),
            }
        }
        if round == 0 && !arguments.carry() {
            // The first samples say how many calls a sample needs, and are no samples themselves.
            for (batch, own) in batches.iter_mut().zip(&mut samples) {
                *batch = own.as_ref().map_or(1, |own| batch_of(own));
                if *batch > 1
                    && let Ok(own) = own
                {
                    own.clear();
                }
            }
        }
    }
    samples.iter_mut().flatten().for_each(|own| own.sort_by(f64::total_cmp));
    samples
}

/// How many calls last long enough.
fn batch_of(samples: &[f64]) -> u32 {
    let once = samples.first().copied().unwrap_or(1.0).max(1e-8);
    (SAMPLE.as_secs_f64() / once).ceil().clamp(1.0, 10_000.0) as u32
}

/// The index of the first time that is as good as the best.
pub(super) fn choose(best: &[Option<f64>]) -> Option<usize> {
    let least = best.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    best.iter().position(|time| time.is_some_and(|time| time <= least * (1.0 + NOISE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn among_equals_the_first_is_chosen() {
        assert_eq!(choose(&[Some(1.5), None, Some(1.01), Some(1.0)]), Some(2));
        assert_eq!(choose(&[Some(1.05), Some(1.0)]), Some(1));
        assert_eq!(choose(&[None, None]), None);
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn short_calls_are_timed_many_at_a_time() {
        assert_eq!(batch_of(&[1e-3]), 1);
        assert_eq!(batch_of(&[SAMPLE.as_secs_f64() / 64.0]), 64);
        assert!((5000..=5001).contains(&batch_of(&[0.0])), "no clock is finer");
    }
}
