//! Large programs: what an operation costs to compile, and a task to schedule.

use std::time::{Duration, Instant};

use pypto::prelude::*;

use crate::{Outcome, line};

/// Four operations a step.
#[pypto::jit(meta(STEPS = 500))]
fn long(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [8, N]) {
        let first = x.load(at);
        let mut t = first;
        for _ in unroll(0..STEPS) {
            t = (t * 0.5 + first).abs() - 1.0;
        }
        y.store(at, t);
    }
}

#[pypto::function(incore)]
fn add_one(#[shape(1, N)] x: &Tensor<f32, 2>, #[shape(1, N)] y: &mut Tensor<f32, 2>) {
    y.set(y.load_all() + x.load_all() + 1.0);
}

/// A task for each row; `dyn`, so that another number of rows is another schedule of the same code.
#[pypto::jit(orchestration)]
fn rows(#[shape(dyn M, N)] x: &Tensor<f32, 2>, #[shape(dyn M, N)] y: &mut Tensor<f32, 2>) {
    for row in range(0, M, 1) {
        add_one(&x.rows(row, 1), &mut y.rows_mut(row, 1));
    }
}

fn timed(f: impl FnOnce() -> pypto::Result<()>) -> pypto::Result<Duration> {
    let start = Instant::now();
    f()?;
    Ok(start.elapsed())
}

pub fn checks() -> Outcome {
    let mut lines = Vec::new();
    let x = Tensor::<f32, 2>::meta([64, 64]);
    let config = RunConfig::new().with_cache(false);
    let mut best = Duration::MAX;
    for _ in 0..3 {
        best = best.min(timed(|| long.compile(&(&x, &x), &config).map(drop))?);
    }
    let seconds = best.as_secs_f64();
    lines.push(line("compile of 2,000 operations", format!("{seconds:.2} s"), "< 2 s", seconds < 2.0));

    const TASKS: i64 = 10_000;
    let (mut first, mut later) = (Duration::MAX, Duration::MAX);
    for more in 0..10 {
        let (x, mut y) = (Tensor::full([TASKS + more, 16], 1.0f32), Tensor::full([TASKS + more, 16], 1.0f32));
        let made = timed(|| rows(&x, &mut y).map(drop))?;
        // The first of all compiles, too.
        first = if more == 0 { first } else { first.min(made) };
        for _ in 0..10 {
            later = later.min(timed(|| rows(&x, &mut y).map(drop))?);
        }
    }
    let of_task = |time: Duration| time.as_nanos() as f64 / TASKS as f64;
    let (making, running) = (of_task(first.saturating_sub(later)), of_task(later));
    let row = |name, time: f64| line(name, format!("{time:.0} ns"), "< 1000 ns", time < 1000.0);
    lines.push(row("a task of 10,000, scheduled and run", running));
    lines.push(row("a task of 10,000, put into a schedule", making));
    Ok(lines)
}
