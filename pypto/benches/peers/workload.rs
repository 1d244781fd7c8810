//! What is measured: a kernel on its arguments, how much work that is, and what the result must be.

use pypto::jit::Result;
use pypto::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::timing::slice;

/// The work that the mathematics demands: what no implementation can do without.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Multiply-adds count twice.
    pub flops: f64,
    /// How many of them this CPU does in the time of one of f32.
    pub at_once: f64,
    /// Bytes of inputs, each once.
    pub read: f64,
    /// Bytes of outputs, each once.
    pub written: f64,
    /// How often the data has to pass by: 1, but for iterations over the whole of it.
    pub passes: f64,
}

impl Work {
    pub fn new(flops: f64, read: f64, written: f64) -> Work {
        Work { flops, at_once: 1.0, read, written, passes: 1.0 }
    }

    /// Elements of `f32` that are read and written.
    pub fn elements(read: i64, written: i64) -> Work {
        Work::new(0.0, 4.0 * read as f64, 4.0 * written as f64)
    }
}

/// One row of the table.
pub struct Workload {
    /// The name of the case, by which peers know it too.
    pub name: &'static str,
    pub work: Work,
    /// The largest error that is allowed, as a share of the largest exact value.
    pub tolerance: f64,
    /// Makes arguments and compiles the kernel for that many threads.
    pub prepare: fn(threads: usize) -> Result<Prepared>,
}

/// A kernel that is ready to run.
pub struct Prepared {
    pub call: Call,
    /// The error of the last call's result against f64, as a share of the largest exact value.
    pub error: Box<dyn Fn() -> f64>,
}

/// What a sample is made of.
pub enum Call {
    /// Calls, which are timed.
    Timed(Box<dyn FnMut() -> Result<()>>),
    /// Something that times itself: it gives seconds.
    Measured(Box<dyn FnMut() -> Result<f64>>),
}

impl Call {
    /// Calls once.
    pub fn once(&mut self) -> Result<()> {
        match self {
            Call::Timed(call) => call(),
            Call::Measured(measure) => measure().map(drop),
        }
    }

    /// Calls for about that long, at least once; seconds a call of each sample.
    pub fn samples(&mut self, threads: usize, length: Duration) -> Result<Vec<f64>> {
        let measure = match self {
            Call::Timed(call) => return slice(threads, length, call),
            Call::Measured(measure) => measure,
        };
        let (start, mut samples) = (Instant::now(), Vec::new());
        while samples.is_empty() || start.elapsed() < length {
            samples.push(measure()?);
        }
        Ok(samples)
    }
}

/// At most so many rows of a result are compared.
const CHECKED_ROWS: usize = 16;

/// A call that writes `output`, whose flattened elements are `rows` rows of equal length; `reference` gives a row in f64.
pub fn prepared<T: Element + Into<f64>, const R: usize>(
    output: Tensor<T, R>,
    rows: usize,
    mut call: impl FnMut(&mut Tensor<T, R>) -> Result<()> + 'static,
    reference: impl Fn(usize) -> Vec<f64> + 'static,
) -> Prepared {
    let output = Rc::new(RefCell::new(output));
    let result = output.clone();
    let error = move || {
        let result = result.borrow();
        let columns = result.len() / rows;
        let (mut largest, mut worst) = (f64::MIN_POSITIVE, 0.0f64);
        for row in checked_rows(rows) {
            let exact = reference(row);
            assert_eq!(exact.len(), columns, "a reference row is as long as a row of the result");
            for (got, exact) in result.as_slice()[row * columns..][..columns].iter().zip(&exact) {
                let difference = (Into::<f64>::into(*got) - exact).abs();
                worst = worst.max(if difference.is_nan() { f64::INFINITY } else { difference });
                largest = largest.max(exact.abs());
            }
        }
        worst / largest
    };
    let call = Call::Timed(Box::new(move || call(&mut output.borrow_mut())));
    Prepared { call, error: Box::new(error) }
}

/// The first rows, the last, and some between.
fn checked_rows(rows: usize) -> impl Iterator<Item = usize> {
    let count = rows.min(CHECKED_ROWS);
    (0..count).map(move |i| if count == 1 { 0 } else { i * (rows - 1) / (count - 1) })
}

/// The configuration of a run on that many threads.
pub fn on(threads: usize) -> RunConfig {
    RunConfig::new().with_threads(threads)
}
