//! Compilation for an accelerator without its assembler, and runs in its simulator.

use std::path::Path;
use std::time::Instant;

use pypto::config::{PassDumpLevel, Platform};
use pypto::jit::Result;
use pypto::prelude::*;

use crate::child::cpu_milliseconds;
use crate::kernels::{ffn, softmax};
use crate::measure::interleaved;
use crate::{Line, Outcome, line, pattern};

/// The least CPU time of several runs with each of some configurations, in milliseconds. They take turns, so that what the
/// file system remembers of the files that were just replaced costs all of them the same.
fn cpu_times<const N: usize>(configs: &[RunConfig; N], run: impl Fn(&RunConfig) -> Result<()>) -> Result<[f64; N]> {
    let mut best = [f64::INFINITY; N];
    for _ in 0..20 {
        for (config, best) in configs.iter().zip(&mut best) {
            let before = cpu_milliseconds();
            run(config)?;
            *best = best.min(cpu_milliseconds() - before);
        }
    }
    Ok(best)
}

fn plain() -> RunConfig {
    RunConfig::new().with_platform(Platform::A2a3Sim).with_cache(false)
}

/// In memory, into a directory, and with the program after every pass there.
fn configs(directory: &Path) -> Result<[RunConfig; 3]> {
    let written = plain().with_output_dir(directory.join("plain"));
    let dumps = RunConfig::builder()
        .platform(Platform::A2a3Sim)
        .cache(false)
        .dump_passes(PassDumpLevel::Explicit)
        .build()?
        .with_output_dir(directory.join("dumps"));
    Ok([plain(), written, dumps])
}

fn compilation(name: &str, bar: (f64, &'static str), compile: impl Fn(&RunConfig) -> Result<()>) -> Result<Vec<Line>> {
    let directory = std::env::temp_dir().join(format!("pypto-bench-ascend-{}", std::process::id()));
    let times = cpu_times(&configs(&directory)?, compile);
    let _ = std::fs::remove_dir_all(&directory);
    let [memory, written, dumps] = times?;
    let measured = format!("{memory:.2} ms of CPU, {written:.2} ms with its files");
    let ratio = dumps / written;
    Ok(vec![
        line(format!("ascend: compile of {name}"), measured, bar.1, memory < bar.0),
        line(format!("ascend: {name} with dumps"), format!("{ratio:.2} x ({dumps:.2} ms)"), "< 2 x", ratio < 2.0),
    ])
}

pub fn checks() -> Outcome {
    let (x, mut y) = (pattern([64, 64]), Tensor::<f32, 2>::zeros([64, 64]));
    let start = Instant::now();
    let compiled = softmax.compile(&(&x, &y), &plain())?;
    compiled.call((&x, &mut y))?;
    let first = start.elapsed().as_secs_f64() * 1e3;
    let [later] = interleaved(50, [&mut || drop(compiled.call((&x, &mut y)))]);
    let later = later.as_secs_f64() * 1e3;

    let mut lines = vec![
        line("ascend: softmax 64 x 64, first result", format!("{first:.2} ms"), "< 20 ms", first < 20.0),
        line("ascend: softmax 64 x 64, later", format!("{later:.3} ms"), "< 1 ms", later < 1.0),
    ];
    lines.extend(compilation("softmax", (5.0, "< 5 ms"), |config| softmax.compile(&(&x, &y), config).map(drop))?);
    let weight = pattern([64, 64]);
    let bias = pattern([1, 64]);
    let samples = (&x, &weight, &bias, &weight, &bias, &y);
    lines.extend(compilation("ffn", (10.0, "< 10 ms"), |config| ffn.compile(&samples, config).map(drop))?);
    Ok(lines)
}
