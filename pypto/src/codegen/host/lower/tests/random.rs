//! Random kernels: straight-line code, loops with carried tiles, branches, reductions, products, movement, over ragged shapes and special
//! values. Compiled code must write what the interpreter writes, bit for bit (NaN payloads aside), and fail where it fails.
//!
//! `PYPTO_RANDOM_KERNELS` sets how many kernels a run tries, `PYPTO_RANDOM_SEED` the first seed.

use super::generator::{Generated, Generator};
use super::memory::{Buffer, Dice};
use super::run::prepare;
use crate::codegen::host::lir::print_module;
use crate::ir::interpreter::{Options, run_function};
use crate::ir::{DType, Program};

/// The kernel of a seed.
fn generate(seed: u64) -> Option<Generated> {
    Generator::new(seed).kernel()
}

fn fill(buffers: &[(DType, Vec<i64>, bool)], seed: u64) -> Vec<Buffer> {
    let mut dice = Dice::new(seed ^ 0x5eed);
    buffers
        .iter()
        .map(|(dtype, dims, _)| Buffer::random(*dtype, dims.iter().product::<i64>() as usize, &mut dice))
        .collect()
}

/// Runs a kernel both ways; an error says where they differ.
fn check(seed: u64) -> Result<bool, String> {
    let Some(Generated { function, buffers, rows }) = generate(seed) else { return Ok(false) };
    let extent = rows.map(|m| m as u64);
    let (mut expected, mut actual) = (fill(&buffers, seed), fill(&buffers, seed));
    let words: Vec<u64> = extent.into_iter().chain(expected.iter_mut().map(Buffer::address)).collect();
    let program = Program { name: "random".into(), functions: vec![function], entry: 0 };
    // SAFETY: the words are the addresses of buffers of the parameters' extents, which nothing else uses.
    let outcome = unsafe { run_function(&program, 0, &words, Options::default()) };
    let function = &program.functions[0];
    let compiled = prepare(function);
    let words: Vec<u64> = extent.into_iter().chain(actual.iter_mut().map(Buffer::address)).collect();
    let status = compiled.call(&words, &mut Vec::new());
    let dump = || {
        format!(
            "{}\n{}",
            crate::ir::text::print_function(function, crate::ir::text::PrintOptions::BRIEF),
            print_module(&compiled.lowered.module)
        )
    };
    if outcome.is_err() != (status != 0) {
        return Err(format!("seed {seed}: interpreter {outcome:?}, status {status}\n{}", dump()));
    }
    if outcome.is_ok() {
        for (k, (want, got)) in expected.iter().zip(&actual).enumerate() {
            if let Some(at) = want.first_difference(got) {
                let before = fill(&buffers, seed).iter().map(|buffer| buffer.show(at)).collect::<Vec<_>>().join(", ");
                return Err(format!(
                    "seed {seed}: parameter {k} ({:?}) element {at}: {} instead of {}; before: {before}\n{}",
                    buffers[k],
                    got.show(at),
                    want.show(at),
                    dump()
                ));
            }
        }
    }
    Ok(true)
}

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn compiled_equals_interpreted() {
    let (first, count) = (from_env("PYPTO_RANDOM_SEED", 1), from_env("PYPTO_RANDOM_KERNELS", 150));
    let (mut done, mut failures) = (0, Vec::new());
    for seed in first..first + count {
        match std::panic::catch_unwind(|| check(seed)) {
            Ok(Ok(ran)) => done += u64::from(ran),
            Ok(Err(text)) => failures.push(text),
            Err(_) => failures.push(format!("seed {seed}: panic")),
        }
    }
    let summary: Vec<&str> = failures.iter().filter_map(|f| f.lines().next()).collect();
    assert!(failures.is_empty(), "{} of {count} differ: {summary:#?}\n{}", failures.len(), failures[0]);
    assert!(done * 10 >= count * 7, "only {done} of {count} seeds gave a kernel");
}
