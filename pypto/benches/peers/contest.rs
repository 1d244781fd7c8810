//! One row: the project and its peers in turn, so that a slow moment of the machine meets all of them.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::peer::Peer;
use crate::timing::time_used;
use crate::workload::{Call, Workload};

/// A measured row. Times are seconds a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub threads: usize,
    pub best: f64,
    pub median: f64,
    /// The least time that flops and bytes allow, and what sets it.
    pub limit: f64,
    pub limited_by: String,
    /// Against f64, as a share of the largest value; and what is allowed.
    pub error: f64,
    pub tolerance: f64,
    pub peers: Vec<PeerTime>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerTime {
    pub name: String,
    pub best: f64,
    pub median: f64,
}

impl Row {
    pub fn best_peer(&self) -> Option<&PeerTime> {
        self.peers.iter().min_by(|a, b| a.best.total_cmp(&b.best))
    }

    /// Above 1 the project is faster than its best peer. Nothing where no time is left: a first call is what it takes beyond a
    /// later one, which noise may make as long.
    pub fn ratio(&self) -> Option<f64> {
        self.best_peer().filter(|_| self.best > 0.0).map(|peer| peer.best / self.best)
    }

    /// The time that the machine needs at least, as a share of the time that was taken.
    pub fn share_of_limit(&self) -> f64 {
        if self.best > 0.0 { self.limit / self.best } else { 0.0 }
    }

    pub fn is_exact_enough(&self) -> bool {
        self.error <= self.tolerance
    }
}

/// What is known after all slices of a contender: seconds a call.
#[derive(Clone, Copy, Debug)]
struct Summary {
    best: f64,
    median: f64,
}

impl Summary {
    /// NaN without samples. What measures itself is a difference of two times, whose least is what both happened to make small:
    /// of that the median stands for the best, too.
    fn of(samples: &[f64], is_difference: bool) -> Summary {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let median = at(sorted.len() / 2);
        Summary { best: if is_difference { median } else { at(0) }, median }
    }
}

/// Rounds of turns; each contender's time is cut into as many slices.
const ROUNDS: u32 = 8;

/// After this round, whoever is slower than the best by this factor is not asked again.
const DROP: (u32, f64) = (1, 3.0);

/// Between turns on several threads: workers of the last contender that wait for work without sleeping go to sleep. Some take a tenth of
/// a second; those that are still busy after the longest pause are left as they are.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

struct Opponent<'p> {
    peer: &'p mut Peer,
    names: Vec<String>,
}

/// Measures a row.
///
/// # Errors
/// What the compiler or a call says. Peers that fail are left out.
pub fn measure(
    workload: &Workload,
    machine: &Machine,
    peers: &mut [Peer],
    budget: Duration,
) -> Result<Row, pypto::Error> {
    let threads = machine.threads;
    let mut own = (workload.prepare)(threads)?;
    own.call.once()?;
    let error = (own.error)();
    let mut opponents: Vec<Opponent> = Vec::new();
    for peer in peers {
        let names = peer.prepare(workload.name).unwrap_or_default();
        opponents.push(Opponent { peer, names });
    }

    let processes: Vec<u32> = opponents.iter().map(|opponent| opponent.peer.process()).collect();
    let (mut ours, mut theirs): (Vec<f64>, Vec<(String, Vec<f64>)>) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        pause(threads, &processes);
        ours.extend(own.call.samples(threads, budget / ROUNDS)?);
        for opponent in &mut opponents {
            opponent.names.retain(|name| {
                pause(threads, &processes);
                let Ok(samples) = opponent.peer.sample(name, budget / ROUNDS) else { return false };
                match theirs.iter_mut().find(|(known, _)| known == name) {
                    Some((_, all)) => all.extend(samples),
                    None => theirs.push((name.clone(), samples)),
                }
                true
            });
        }
        if round == DROP.0 {
            drop_slow(&mut opponents, &theirs);
        }
    }

    let is_difference = matches!(own.call, Call::Measured(_));
    let summary = Summary::of(&ours, is_difference);
    let (limit, limited_by) = machine.limit(&workload.work);
    let peers = theirs.into_iter().filter_map(|(name, samples)| {
        let Summary { best, median } = Summary::of(&samples, is_difference);
        (!samples.is_empty()).then_some(PeerTime { name, best, median })
    });
    Ok(Row {
        name: workload.name.to_owned(),
        threads,
        best: summary.best,
        median: summary.median,
        limit,
        limited_by: limited_by.to_owned(),
        error,
        tolerance: workload.tolerance,
        peers: peers.collect(),
    })
}

fn pause(threads: usize, processes: &[u32]) {
    if threads == 1 {
        return;
    }
    let used = || processes.iter().map(|process| time_used(*process)).sum::<u64>();
    let (start, mut before) = (Instant::now(), used());
    while start.elapsed() < LONGEST_PAUSE {
        // A machine that has nothing to do at all for so long is slow for a while.
        let part = Instant::now();
        while part.elapsed() < PAUSE {
            std::thread::sleep(PAUSE / 20);
        }
        let now = used();
        if now == before {
            return;
        }
        before = now;
    }
}

fn least(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

fn drop_slow(opponents: &mut [Opponent], times: &[(String, Vec<f64>)]) {
    let best = times.iter().map(|(_, samples)| least(samples)).fold(f64::INFINITY, f64::min);
    let slow = |name: &String| times.iter().any(|(n, samples)| n == name && least(samples) > DROP.1 * best);
    opponents.iter_mut().for_each(|opponent| opponent.names.retain(|name| !slow(name)));
}
