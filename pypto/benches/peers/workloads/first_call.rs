//! What the first call of a kernel costs beyond a later one: CPU time of a process that has done nothing else yet, with
//! nothing on disk, and with what an earlier process left there.
//!
//! Each sample is a process of its own, which is this program again. Opening libLLVM is part of the first call, as it is for
//! users; other libraries load their compilers while they are imported, before they are timed.

use std::path::Path;
use std::process::Command;

use pypto::jit::{Error, Result};
use pypto::kernels;
use pypto::prelude::*;
use tempfile::TempDir;

use super::normalization::softmax_f64;
use super::product::{product, row_times};
use crate::inputs::{normal, row};
use crate::timing::process_time;
use crate::workload::{Call, Prepared, Work, Workload};

/// The first argument of a child; the second is a case.
const CHILD: &str = "--first-call";

/// What is called.
const CASES: [&str; 3] = ["swiglu", "softmax", "matmul"];

pub fn workloads() -> Vec<Workload> {
    let first = |name, prepare| Workload { name, work: Work::default(), tolerance: 1e-5, prepare };
    vec![
        first("first call: swiglu 64K", |threads| prepare(threads, CASES[0], false)),
        first("first call: softmax 4096 x 1024", |threads| prepare(threads, CASES[1], false)),
        first("first call: matmul 512", |threads| prepare(threads, CASES[2], false)),
        first("first call, on disk: swiglu 64K", |threads| prepare(threads, CASES[0], true)),
        first("first call, on disk: softmax", |threads| prepare(threads, CASES[1], true)),
        first("first call, on disk: matmul 512", |threads| prepare(threads, CASES[2], true)),
    ]
}

/// Seconds and the error of one child after the other. The first one fills the cache, where it is used.
fn prepare(threads: usize, case: &'static str, cached: bool) -> Result<Prepared> {
    let directory = cached.then(tempfile::tempdir).transpose().map_err(|error| Error::host(error.to_string()))?;
    let ask = move || ask(threads, case, directory.as_ref().map(TempDir::path));
    ask()?;
    let (_, error) = ask()?;
    let measure = move || ask().map(|(seconds, _)| seconds);
    Ok(Prepared { call: Call::Measured(Box::new(measure)), error: Box::new(move || error) })
}

fn ask(threads: usize, case: &str, cache: Option<&Path>) -> Result<(f64, f64)> {
    let failed = |reason: String| Error::host(format!("the process of a first call: {reason}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.args([CHILD, case]).env("PYPTO_THREADS", threads.to_string());
    match cache {
        Some(directory) => command.env("PYPTO_CACHE", "on").env("PYPTO_CACHE_DIR", directory),
        None => command.env("PYPTO_CACHE", "off"),
    };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(seconds)), Some(Ok(error))) => Ok((seconds, error)),
        _ => Err(failed(format!("{text}{}", String::from_utf8_lossy(&output.stderr)))),
    }
}

/// The answer of a child; nothing if this process is none.
pub fn answer(mut arguments: impl Iterator<Item = String>) -> Option<String> {
    if arguments.next()? != CHILD {
        return None;
    }
    let case = arguments.next()?;
    let measured = match CASES.iter().position(|known| *known == case)? {
        0 => swiglu(),
        1 => softmax(),
        _ => matmul(),
    };
    Some(measured.map_or_else(|error| error.to_string(), |(seconds, error)| format!("{seconds:e} {error:e}")))
}

/// Seconds of CPU that the first call takes beyond the best of some later ones.
fn first(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut timed = || -> Result<f64> {
        let start = process_time();
        call()?;
        Ok((process_time() - start).as_secs_f64())
    };
    let first = timed()?;
    let mut later = f64::INFINITY;
    for _ in 0..5 {
        later = later.min(timed()?);
    }
    Ok((first - later).max(0.0))
}

/// The largest difference from a row of the exact result, as a share of its largest value.
fn error_of(y: &Tensor<f32, 2>, at: usize, exact: &[f64]) -> f64 {
    let largest = exact.iter().fold(f64::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
    let errors = row(y, at).into_iter().zip(exact).map(|(got, exact)| (got - exact).abs());
    errors.fold(0.0, |worst: f64, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) }) / largest
}

fn swiglu() -> Result<(f64, f64)> {
    let (gate, up) = (normal([64, 1024], 1), normal([64, 1024], 2));
    let mut y = Tensor::full([64, 1024], 0.0f32);
    let seconds = first(|| kernels::swiglu(&gate, &up, &mut y).map(drop))?;
    let exact: Vec<f64> = row(&gate, 63).iter().zip(row(&up, 63)).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
    Ok((seconds, error_of(&y, 63, &exact)))
}

fn softmax() -> Result<(f64, f64)> {
    let x = normal([4096, 1024], 1);
    // Filled, so that its pages are there.
    let mut y = Tensor::full([4096, 1024], 1.0f32);
    let seconds = first(|| kernels::softmax(&x, &mut y).map(drop))?;
    Ok((seconds, error_of(&y, 4095, &softmax_f64(&row(&x, 4095)))))
}

fn matmul() -> Result<(f64, f64)> {
    let (a, b) = (normal([512, 512], 1), normal([512, 512], 2));
    let mut c = Tensor::full([512, 512], 1.0f32);
    let seconds = first(|| product(&a, &b, &mut c).map(drop))?;
    Ok((seconds, error_of(&c, 511, &row_times(&row(&a, 511), &b))))
}
