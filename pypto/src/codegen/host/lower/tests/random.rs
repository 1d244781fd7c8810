//! Random kernels: straight-line code, loops with carried tiles, branches, reductions, products, movement, over ragged shapes and special
//! values. Compiled code must write what the interpreter writes, bit for bit (NaN payloads aside), and fail where it fails.

use super::generator::{Generated, Generator};
use super::memory::Buffer;
use super::run::prepare;
use super::seeds::{each_seed, fill};
use crate::codegen::host::lir::print_module;
use crate::ir::Program;
use crate::ir::interpreter::{Options, run_function};

/// The kernel of a seed.
fn generate(seed: u64) -> Option<Generated> {
    Generator::new(seed).kernel()
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

#[test]
fn compiled_equals_interpreted() {
    let (count, done) = each_seed(150, |seed| check(seed).map(u64::from));
    assert!(done * 10 >= count * 7, "only {done} of {count} seeds gave a kernel");
}
