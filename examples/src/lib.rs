//! What the example programs share: seeded inputs, error measures against f64, and the report line.

use std::time::{Duration, Instant};

use pypto::config::{Platform, RunConfig};
use pypto::prelude::*;

/// What `main` of an example returns.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A tensor of uniform numbers in [-1, 1), the same for a seed on every machine.
pub fn random<const R: usize>(shape: [i64; R], seed: u64) -> Tensor<f32, R> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let count: i64 = shape.iter().product();
    let values = (0..count).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    });
    Tensor::from_vec(values.collect(), shape)
}

/// The tensor's elements in row-major order, as f64.
pub fn wide<const R: usize>(tensor: &Tensor<f32, R>) -> Vec<f64> {
    tensor.to_vec().into_iter().map(f64::from).collect()
}

/// The path of a file in `examples/data`.
pub fn data(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// The largest absolute difference. NaN if any difference is NaN.
pub fn max_error<const R: usize>(actual: &Tensor<f32, R>, expected: &[f64]) -> f64 {
    let actual = wide(actual);
    assert_eq!(actual.len(), expected.len(), "the reference has another number of elements");
    actual
        .iter()
        .zip(expected)
        .map(|(a, e)| (a - e).abs())
        .fold(0.0, |worst, error| if error > worst || error.is_nan() { error } else { worst })
}

/// The platform of `--platform NAME`, where the program was started with it.
///
/// # Errors
/// A name that is no platform's.
pub fn platform() -> Result<Option<Platform>, pypto::config::ConfigError> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--platform").skip(1);
    arguments.next().map(|name| name.parse()).transpose()
}

/// How kernels of an example run: as plain calls, or compiled for `--platform NAME`, the artifact in a directory of the
/// kernel's name below `PYPTO_PROG_BUILD_DIR` where that is set.
///
/// # Errors
/// A name that is no platform's.
pub fn config(kernel: &str) -> Result<Option<RunConfig>, pypto::Error> {
    let Some(platform) = platform()? else { return Ok(None) };
    let config = RunConfig::new().with_platform(platform);
    // `rms_norm::<f32>` and `attention.with(..)` begin with the name.
    let kernel = kernel.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(kernel);
    Ok(Some(match std::env::var_os("PYPTO_PROG_BUILD_DIR") {
        Some(directory) => config.with_output_dir(std::path::Path::new(&directory).join(kernel)),
        None => config,
    }))
}

/// Runs a kernel on the platform of the command line: `run!(softmax; &x, &mut y)`.
#[macro_export]
macro_rules! run {
    ($kernel:expr; $($argument:expr),+ $(,)?) => {
        $crate::config(stringify!($kernel)).and_then(|config| match config {
            None => ($kernel)($($argument),+).map(drop),
            Some(config) => {
                let compiled = ($kernel).compile(&($($argument,)+), &config)?;
                compiled.call(($($argument,)+)).map(drop)
            }
        })
    };
}

/// The shortest of several runs, after one that warms up. On another platform than the host one run is enough.
pub fn best_time<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<Duration, E> {
    let first = Instant::now();
    run()?;
    if platform().is_ok_and(|platform| platform.is_some()) {
        return Ok(first.elapsed());
    }
    let mut best = Duration::MAX;
    let start = Instant::now();
    for round in 0..50 {
        let begin = Instant::now();
        run()?;
        best = best.min(begin.elapsed());
        if round >= 4 && start.elapsed() > Duration::from_millis(300) {
            break;
        }
    }
    Ok(best)
}

/// Prints the report line; an error above the bound, or NaN, is a failure.
pub fn report(name: &str, error: f64, bound: f64, time: Duration) -> Outcome {
    println!("{name}: max error {error:.2e} (bound {bound:.0e}), {:.3} ms", time.as_secs_f64() * 1e3);
    if error <= bound { Ok(()) } else { Err(format!("{name}: max error {error:e} is above {bound:e}").into()) }
}

/// `a @ b` in f64 for row-major `[m, k]` and `[k, n]`.
pub fn matmul_f64(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for p in 0..k {
            let x = a[i * k + p];
            for j in 0..n {
                c[i * n + j] += x * b[p * n + j];
            }
        }
    }
    c
}

/// Softmax of each row of `n` elements in f64.
pub fn softmax_f64(rows: &mut [f64], n: usize) {
    for row in rows.chunks_mut(n.max(1)) {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|x| *x = (*x - max).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
}

/// The error function in f64, by its series near zero and a continued fraction beyond.
pub fn erf_f64(x: f64) -> f64 {
    let t = x.abs();
    let value = if t < 2.5 {
        let (mut term, mut sum) = (t, t);
        for n in 1..200 {
            term *= -t * t / n as f64;
            sum += term / (2 * n + 1) as f64;
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    } else {
        let fraction = (1..=60).rev().fold(t, |below, k| t + k as f64 / 2.0 / below);
        1.0 - (-t * t).exp() / (fraction * std::f64::consts::PI.sqrt())
    };
    value.copysign(x)
}

/// GELU in its exact, erf-based form, in f64.
pub fn gelu_f64(x: f64) -> f64 {
    0.5 * x * (1.0 + erf_f64(x * std::f64::consts::FRAC_1_SQRT_2))
}
