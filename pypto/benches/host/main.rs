//! `cargo bench -p pypto --bench host`: the speed and memory that the project promises, as ratios inside one run, each with its bar.
//!
//! Run it on an idle machine. Names given as arguments select checks that contain them.

mod ascend;
mod child;
mod kernels;
mod library;
mod measure;
mod peak;
mod sizes;

use std::io::Write;
use std::time::Duration;

use measure::{allocations, interleaved, per_call};
use pypto::config::RunOptions;
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use pypto::runtime::worker::ChipWorker;

#[global_allocator]
static ALLOCATOR: measure::Counting = measure::Counting;

/// One line of the table.
struct Line {
    name: String,
    measured: String,
    bar: &'static str,
    passed: bool,
}

type Outcome = pypto::jit::Result<Vec<Line>>;

fn line(name: impl Into<String>, measured: impl Into<String>, bar: &'static str, passed: bool) -> Line {
    Line { name: name.into(), measured: measured.into(), bar, passed }
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::stdout();
    if let Some(text) = arguments.first().and_then(|mode| child::answer(mode)) {
        return writeln!(out, "{text}");
    }
    let wanted: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let checks: [(&str, fn() -> Outcome); 12] = [
        ("matmul", matmul_checks),
        ("softmax", softmax_checks),
        ("library", library::checks),
        ("attention", attention_check),
        ("call", call_checks),
        ("worker", worker_check),
        ("compile", compile_check),
        ("first result", first_result_check),
        ("artifact", artifact_check),
        ("memory", memory_check),
        ("ascend", ascend::checks),
        ("sizes", sizes::checks),
    ];
    writeln!(out, "{:<34} {:<52} {:<24} ", "check", "measured", "bar")?;
    for (name, check) in checks {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        match check() {
            Ok(lines) => {
                for Line { name, measured, bar, passed } in lines {
                    let verdict = if passed { "ok" } else { "MISSED" };
                    writeln!(out, "{name:<34} {measured:<52} {bar:<24} {verdict}")?;
                }
            }
            Err(error) => writeln!(out, "{name:<34} failed: {error}")?,
        }
        out.flush()?;
    }
    Ok(())
}

fn gflops(operations: f64, time: Duration) -> f64 {
    operations / time.as_secs_f64() / 1e9
}

fn pattern<const R: usize>(shape: [i64; R]) -> Tensor<f32, R> {
    let mut state = 1u32;
    Tensor::from_fn(shape, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    })
}

fn matmul_checks() -> Outcome {
    let mut lines = Vec::new();
    for n in [512i64, 1024] {
        for threads in [1, 2] {
            let (a, b) = (pattern([n, n]), pattern([n, n]));
            let (mut c, mut peer) = (Tensor::<f32, 2>::zeros([n, n]), vec![0.0; (n * n) as usize]);
            let config = RunConfig::new().with_threads(threads);
            let compiled = kernels::product.compile(&(&a, &b, &c), &config)?;
            compiled.call((&a, &b, &mut c))?;
            let (x, y) = (a.as_slice(), b.as_slice());
            let [ours, theirs, peak] = interleaved(
                if n == 512 { 60 } else { 20 },
                [
                    &mut || drop(compiled.call((&a, &b, &mut c))),
                    &mut || kernels::peer_product(x, y, &mut peer, n as usize, threads),
                    &mut || peak::multiply_adds(threads),
                ],
            );
            let operations = 2.0 * (n * n * n) as f64;
            let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
            let (ours, theirs) = (gflops(operations, ours), gflops(operations, theirs));
            let peak = peak::gflops(threads, peak);
            let measured = format!("{ratio:.2} x ({ours:.1} to {theirs:.1} GF/s, peak {peak:.1})");
            lines.push(line(format!("matmul {n}, {threads} threads, to gemm"), measured, ">= 0.9 x", ratio >= 0.9));
        }
    }
    Ok(lines)
}

fn softmax_checks() -> Outcome {
    let mut lines = Vec::new();
    for rows in [64i64, 4096] {
        let x = pattern([rows, 1024]);
        let (mut y, mut plain) = (Tensor::<f32, 2>::zeros([rows, 1024]), vec![0.0; rows as usize * 1024]);
        kernels::softmax(&x, &mut y)?;
        let input = x.as_slice();
        let [ours, theirs] = interleaved(
            if rows == 64 { 400 } else { 20 },
            [&mut || drop(kernels::softmax(&x, &mut y)), &mut || kernels::plain_softmax(input, &mut plain, 1024)],
        );
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
        let measured =
            format!("{ratio:.1} x ({:.0} to {:.0} us)", ours.as_secs_f64() * 1e6, theirs.as_secs_f64() * 1e6);
        lines.push(line(format!("softmax {rows} x 1024, to a plain loop"), measured, ">= 3 x", ratio >= 3.0));
    }
    Ok(lines)
}

fn attention_check() -> Outcome {
    let (heads, length, depth) = (8i64, 1024i64, 64i64);
    let [q, k, v] = std::array::from_fn(|_| pattern([heads * length, depth]));
    let mut o = Tensor::<f32, 2>::zeros([heads * length, depth]);
    let mut lines = Vec::new();
    for threads in [1, 2] {
        let config = RunConfig::new().with_threads(threads);
        let compiled = kernels::attention.compile(&(&q, &k, &v, &o), &config)?;
        compiled.call((&q, &k, &v, &mut o))?;
        let [time, peak] =
            interleaved(20, [&mut || drop(compiled.call((&q, &k, &v, &mut o))), &mut || peak::multiply_adds(threads)]);
        let rate = gflops((4 * heads * length * length * depth) as f64, time);
        let peak = peak::gflops(threads, peak);
        let measured = format!("{:.2} of peak ({rate:.1} of {peak:.1} GF/s)", rate / peak);
        lines.push(line(format!("flash attention, {threads} threads"), measured, ">= 0.5", rate >= 0.5 * peak));
    }
    Ok(lines)
}

fn call_checks() -> Outcome {
    let x = pattern([64]);
    let mut y = Tensor::<f32, 1>::zeros([64]);
    kernels::increment(&x, &mut y)?;
    let time = per_call(|| drop(kernels::increment(&x, &mut y)));
    let (large, mut result) = (pattern([512, 512]), Tensor::<f32, 2>::zeros([512, 512]));
    let (a, b) = (pattern([256, 256]), pattern([256, 256]));
    let mut c = Tensor::<f32, 2>::zeros([256, 256]);
    let mut all = || -> pypto::jit::Result<()> {
        kernels::increment(&x, &mut y)?;
        kernels::softmax(&large, &mut result)?;
        kernels::product(&a, &b, &mut c)?;
        Ok(())
    };
    // A worker allocates its scratch when it first takes part.
    (0..200).try_for_each(|_| all())?;
    let count = allocations(|| (0..100).for_each(|_| drop(all())));
    Ok(vec![
        line("warm call of 64 elements", format!("{time:.0} ns"), "< 60 ns", time < 60.0),
        line("allocations of 300 warm calls", count.to_string(), "0", count == 0),
    ])
}

fn worker_check() -> Outcome {
    let x = pattern([64]);
    let artifact = kernels::increment.compile(&(&x, &x), &RunConfig::new())?.artifact().clone();
    let worker = ChipWorker::new(RunOptions::default())?;
    let handle = worker.register(&artifact)?;
    let x = worker.upload(&DynamicTensor::from(&x))?;
    let mut y = worker.alloc_tensor(pypto::ir::DType::F32, &[64])?;
    handle.call((&x, &mut y))?;
    let time = per_call(|| drop(handle.call((&x, &mut y))));
    Ok(vec![line("call of a registration, 64 elements", format!("{time:.0} ns"), "< 300 ns", time < 300.0)])
}

fn artifact_check() -> Outcome {
    child::ask("--artifact");
    let runs: Vec<Vec<f64>> = (0..10).map(|_| child::ask("--artifact")).collect();
    let best = runs.iter().filter_map(|r| r.first()).copied().fold(f64::INFINITY, f64::min);
    let opened = runs.iter().any(|r| r.get(1) != Some(&0.0));
    let measured = format!("{best:.1} ms of CPU, LLVM {}", if opened { "opened" } else { "not opened" });
    Ok(vec![line("from_dir to the first result", measured, "< 5 ms, not opened", best < 5.0 && !opened)])
}

/// Compilations of kernels by this process, with LLVM open.
fn compile_check() -> Outcome {
    use pypto::kernels as library;
    let config = RunConfig::new().with_cache(false);
    let [x, y] = [(), ()].map(|()| Tensor::<f32, 2>::meta([64, 1024]));
    let [q, k, v, o] = [(); 4].map(|()| Tensor::<f32, 4>::meta([1, 8, 1024, 64]));
    let lengths = Tensor::<i32, 1>::meta([1]);
    kernels::softmax.compile(&(&x, &y), &config)?;
    let [elementwise, softmax, attention] = interleaved(
        10,
        [
            &mut || drop(library::gelu::<f32>.compile(&(&x, &y), &config)),
            &mut || drop(kernels::softmax.compile(&(&x, &y), &config)),
            &mut || drop(library::attention::<f32>.compile(&(&q, &k, &v, &lengths, &o), &config)),
        ],
    );
    let of = |name: &str, time: Duration, most: f64, bar| {
        let milliseconds = time.as_secs_f64() * 1e3;
        line(format!("compile of {name}, LLVM open"), format!("{milliseconds:.1} ms"), bar, milliseconds < most)
    };
    Ok(vec![
        of("gelu", elementwise, 10.0, "< 10 ms"),
        of("softmax", softmax, 20.0, "< 20 ms"),
        of("attention", attention, 40.0, "< 40 ms"),
    ])
}

fn first_result_check() -> Outcome {
    child::ask("--first");
    let runs: Vec<Vec<f64>> = (0..10).map(|_| child::ask("--first")).collect();
    let best = runs.iter().filter_map(|r| r.first()).copied().fold(f64::INFINITY, f64::min);
    let opened = runs.iter().any(|r| r.get(1) != Some(&0.0));
    let measured = format!("{best:.1} ms of CPU, LLVM {}", if opened { "opened" } else { "not opened" });
    Ok(vec![line("first result, new process, warm cache", measured, "< 5 ms, not opened", best < 5.0 && !opened)])
}

fn memory_check() -> Outcome {
    let tensors = 2.0 * 4096.0 * 1024.0 * 4.0 / 1e6;
    let peak = child::ask("--memory").first().copied().unwrap_or(f64::NAN);
    let measured = format!("{peak:.0} MB for {tensors:.0} MB of tensors");
    Ok(vec![line("peak memory of softmax 4096 x 1024", measured, "<= 2 x + 60 MB", peak <= 2.0 * tensors + 60.0)])
}
