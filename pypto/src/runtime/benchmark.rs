//! Timed dispatches of an artifact.
//!
//! Each round is one dispatch, measured twice: by the clock around it (host), and by the records of its kernels (device:
//! from the start of the first to the end of the last). Recording costs two readings of the clock for each piece of work.
//! A simulated accelerator has a time of its own: both are virtual then, and the same in every round and on every machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::check_arguments::{Style, check, style};
use super::dispatch::LoadedProgram;
use super::error::{Error, Result};
use super::pool::thread_count;
use super::recording::{Detail, Execution, Log, Recording};
use crate::artifact::CompiledProgram;
use crate::config::{ConfigError, RunOptions};
use crate::language::argument::{Argument, CallArguments};

/// How an artifact is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchmarkOptions {
    /// Dispatches that count, at least 1.
    pub rounds: usize,
    /// Dispatches before them.
    pub warmup: usize,
    /// Whether what is written has its values of before in each round; restoring them is not measured.
    pub reset: bool,
    pub run: RunOptions,
}

impl Default for BenchmarkOptions {
    fn default() -> BenchmarkOptions {
        BenchmarkOptions { rounds: 100, warmup: 3, reset: false, run: RunOptions::default() }
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkStats {
    pub program: String,
    pub platform: String,
    pub threads: usize,
    pub warmup: usize,
    /// Every round in order.
    pub rounds: Vec<Round>,
}

/// One dispatch; times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub host_us: f64,
    pub device_us: f64,
    /// The tasks in program order.
    pub tasks: Vec<TaskTime>,
}

/// A task of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskTime {
    pub kernel: String,
    /// From the start of its first piece to the end of its last, in microseconds since the start of the dispatch.
    pub start_us: f64,
    pub end_us: f64,
    /// The time of its pieces on all threads.
    pub busy_us: f64,
    pub pieces: usize,
}

/// Which of the two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    Host,
    Device,
}

/// Dispatches an artifact again and again with the same arguments, which are given in place.
///
/// # Errors
/// No rounds; arguments that are not given in place; what a dispatch fails with.
pub fn benchmark<A: CallArguments>(
    program: &CompiledProgram,
    arguments: A,
    options: &BenchmarkOptions,
) -> Result<BenchmarkStats> {
    if options.rounds == 0 {
        return Err(ConfigError::value("rounds", 0, "1 or more").into());
    }
    options.run.check_for(program.platform())?;
    if options.run.dfx.any() {
        let allowed = "nothing to record: a benchmark takes its times from records of its own; dispatch the program once for files";
        return Err(ConfigError::value("dfx", "set", allowed).into());
    }
    let loaded = program.load()?;
    let threads = options.run.threads.map_or_else(thread_count, |threads| threads.max(1));
    arguments.with(|arguments| {
        if style(program, arguments.len()).map_err(Error::call)? != Style::InPlace {
            return Err(Error::host(
                "a benchmark needs every argument in place: what it would allocate is measured, too",
            ));
        }
        check(program, &loaded.signature, arguments, Style::InPlace).map_err(Error::call)?;
        let limit = options.run.time_limit_ms.map(Duration::from_millis);
        let mut runner = Runner { loaded: &loaded, arguments, threads, limit, saved: Vec::new() };
        if options.reset {
            runner.save();
        }
        for _ in 0..options.warmup {
            runner.round()?;
        }
        let rounds = (0..options.rounds).map(|_| runner.round()).collect::<Result<Vec<Round>>>()?;
        Ok(BenchmarkStats {
            program: program.name().to_owned(),
            platform: program.platform().to_string(),
            threads,
            warmup: options.warmup,
            rounds,
        })
    })
}

struct Runner<'a> {
    loaded: &'a LoadedProgram,
    arguments: &'a [Argument<'a>],
    threads: usize,
    /// Of each dispatch.
    limit: Option<Duration>,
    /// Values of what is written, by argument.
    saved: Vec<(usize, Vec<u8>)>,
}

impl Runner<'_> {
    fn save(&mut self) {
        for (index, argument) in self.arguments.iter().enumerate() {
            if let Argument::Tensor(tensor) = argument
                && tensor.is_mutable()
            {
                let bytes = tensor.dims().iter().product::<i64>() as usize * tensor.dtype().size();
                // SAFETY: a contiguous tensor that was checked: that many bytes, which nothing writes now.
                let values = unsafe { std::slice::from_raw_parts(tensor.data(), bytes) };
                self.saved.push((index, values.to_vec()));
            }
        }
    }

    fn round(&mut self) -> Result<Round> {
        for (index, values) in &self.saved {
            let Argument::Tensor(tensor) = &self.arguments[*index] else { continue };
            // SAFETY: the tensor that the values were copied from, which is mutable.
            unsafe { tensor.data().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        }
        let recording = Recording::new(Detail::Kernels);
        let deadline = self.limit.map(|limit| Instant::now() + limit);
        let execution = Execution { recording: Some(&recording), deadline, ..Execution::on(self.threads) };
        let start = Instant::now();
        // SAFETY: `check` compared every argument with the parameters that the program was compiled for.
        unsafe { self.loaded.host.call(self.arguments, execution) }?;
        let host = start.elapsed();
        Ok(round(host, &recording.into_log()))
    }
}

fn round(host: Duration, log: &Log) -> Round {
    let mut times: BTreeMap<u32, TaskTime> = BTreeMap::new();
    for span in &log.spans {
        let (start, end) = (micros(span.started), micros(span.finished));
        let task = times.entry(span.task).or_insert_with(|| TaskTime {
            kernel: log.tasks[span.task as usize].kernel.clone(),
            start_us: start,
            end_us: end,
            busy_us: 0.0,
            pieces: 0,
        });
        task.start_us = task.start_us.min(start);
        task.end_us = task.end_us.max(end);
        task.busy_us += end - start;
        task.pieces += 1;
    }
    let tasks: Vec<TaskTime> = times.into_values().collect();
    let first = tasks.iter().map(|task| task.start_us).fold(f64::INFINITY, f64::min);
    let last = tasks.iter().map(|task| task.end_us).fold(f64::NEG_INFINITY, f64::max);
    let host = log.virtual_total.unwrap_or(host);
    Round { host_us: micros(host), device_us: (last - first).max(0.0), tasks }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

impl BenchmarkStats {
    /// One time of every round, in microseconds.
    pub fn samples(&self, metric: Metric) -> Vec<f64> {
        let of = |round: &Round| match metric {
            Metric::Host => round.host_us,
            Metric::Device => round.device_us,
        };
        self.rounds.iter().map(of).collect()
    }

    /// The `p`-th percentile (0 to 100) by linear interpolation: 0 is the least, 50 the median, 100 the most. Not a number
    /// where there are no rounds.
    pub fn percentile(&self, metric: Metric, p: f64) -> f64 {
        let mut samples = self.samples(metric);
        samples.sort_by(f64::total_cmp);
        if samples.is_empty() {
            return f64::NAN;
        }
        let position = (p.clamp(0.0, 100.0) / 100.0) * (samples.len() - 1) as f64;
        let (below, above) = (position.floor() as usize, position.ceil() as usize);
        samples[below] + (samples[above] - samples[below]) * position.fract()
    }

    /// The mean.
    pub fn mean(&self, metric: Metric) -> f64 {
        mean(&self.samples(metric))
    }

    /// The standard deviation of the sample; 0 for one round.
    pub fn standard_deviation(&self, metric: Metric) -> f64 {
        deviation(&self.samples(metric))
    }

    /// The tasks of one round, as text; `None` where there is no such round.
    pub fn tree(&self, round: usize) -> Option<String> {
        let found = self.rounds.get(round)?;
        let mut text =
            format!("{} round {round}: host {:.1} us, device {:.1} us\n", self.program, found.host_us, found.device_us);
        for (number, task) in found.tasks.iter().enumerate() {
            let TaskTime { kernel, start_us, end_us, busy_us, pieces } = task;
            let span = end_us - start_us;
            let _ = writeln!(
                text,
                "  {kernel}({number}): {span:.1} us at {start_us:.1}, busy {busy_us:.1} us in {pieces} pieces"
            );
        }
        Some(text)
    }

    /// Percentiles of the dispatch and means of its tasks, as text.
    pub fn mean_tree(&self) -> String {
        let Self { program, platform, threads, rounds, .. } = self;
        let mut text = format!("{program} on {platform}, {threads} threads, {} rounds\n", rounds.len());
        for (name, metric) in [("host", Metric::Host), ("device", Metric::Device)] {
            let at = |p: f64| self.percentile(metric, p);
            let (low, middle, high, most) = (at(0.0), at(50.0), at(95.0), at(100.0));
            let (mean, deviation) = (self.mean(metric), self.standard_deviation(metric));
            let _ = writeln!(
                text,
                "  {name}: median {middle:.1} us, min {low:.1}, p95 {high:.1}, max {most:.1}, mean {mean:.1} +- {deviation:.1}"
            );
        }
        for (kernel, times) in self.kernel_times() {
            let _ = writeln!(
                text,
                "  {kernel}: mean {:.1} us +- {:.1}, {} tasks",
                mean(&times),
                deviation(&times),
                times.len()
            );
        }
        text
    }

    /// Writes [`BenchmarkStats::tree`] of the last round to standard output.
    ///
    /// # Errors
    /// A standard output that is closed.
    pub fn print_tree(&self) -> std::io::Result<()> {
        let last = self.rounds.len().saturating_sub(1);
        std::io::stdout().write_all(self.tree(last).unwrap_or_default().as_bytes())
    }

    /// Writes [`BenchmarkStats::mean_tree`] to standard output.
    ///
    /// # Errors
    /// A standard output that is closed.
    pub fn print_mean_tree(&self) -> std::io::Result<()> {
        std::io::stdout().write_all(self.mean_tree().as_bytes())
    }

    /// The times of each kernel's tasks in all rounds.
    fn kernel_times(&self) -> BTreeMap<&str, Vec<f64>> {
        let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for task in self.rounds.iter().flat_map(|round| &round.tasks) {
            times.entry(&task.kernel).or_default().push(task.end_us - task.start_us);
        }
        times
    }
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len().max(1) as f64
}

fn deviation(samples: &[f64]) -> f64 {
    if samples.len() < 2 {
        return 0.0;
    }
    let mean = mean(samples);
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    (squares / (samples.len() - 1) as f64).sqrt()
}
