//! Random kernels: the simulator writes what the interpreter writes, bit for bit, where no function is written out and no
//! product cuts its sum; everywhere it finds nothing to report. Kernels that a target refuses are refused for a reason.

use std::marker::PhantomData;

use crate::codegen::ascend::AscendOptions;
use crate::codegen::host::lower::tests::generator::{Generated, Generator};
use crate::codegen::host::lower::tests::memory::Buffer;
use crate::codegen::host::lower::tests::seeds::{each_seed, fill};
use crate::compile::ascend::compile_for_target;
use crate::diagnostics::codes;
use crate::ir::interpreter::{Options, run};
use crate::ir::{Block, DType, Program};
use crate::language::argument::{Argument, MAX_RANK, TensorArgument};
use crate::ops::{Class, OpKind};
use crate::passes::manager::PassOptions;
use crate::simulator::Simulator;
use crate::target;

const TYPES: [DType; 8] =
    [DType::F32, DType::F32, DType::F32, DType::F32, DType::F16, DType::BF16, DType::I32, DType::Bool];

fn argument<'a>(buffer: &'a mut Buffer, (dtype, extents, mutable): &(DType, Vec<i64>, bool)) -> Argument<'a> {
    let (mut dims, mut strides) = ([1; MAX_RANK], [0; MAX_RANK]);
    dims[..2].copy_from_slice(extents);
    strides[..2].copy_from_slice(&[extents[1].max(1), 1]);
    let data = buffer.address() as *mut u8;
    Argument::Tensor(TensorArgument {
        dtype: *dtype,
        rank: 2,
        dims,
        strides,
        data,
        mutable: *mutable,
        worker: None,
        weights: None,
        lifetime: PhantomData,
    })
}

/// Whether results may differ in the last bits: functions that are written out, and products.
fn is_inexact(block: &Block) -> bool {
    block.ops.iter().any(|op| {
        use OpKind::{Cos, Erf, Exp2, Expm1, Log1p, Log2, Sigmoid, Sin, Tanh};
        let written_out = matches!(op.kind, Tanh | Erf | Sin | Cos | Sigmoid | Exp2 | Expm1 | Log2 | Log1p);
        written_out || op.kind.class() == Class::Matmul || op.regions.iter().any(is_inexact)
    })
}

/// How a kernel went.
#[derive(Debug, PartialEq)]
enum Outcome {
    Nothing,
    Refused,
    Ran,
}

fn check(seed: u64, target: &'static target::Target) -> Result<Outcome, String> {
    let Some(Generated { function, buffers, .. }) = Generator::of_types(seed, &TYPES).kernel() else {
        return Ok(Outcome::Nothing);
    };
    let program = Program { name: "random".into(), functions: vec![function], entry: 0 };
    let options = AscendOptions { verify: true, ..AscendOptions::default() };
    let artifact = match compile_for_target(program.clone(), target, options, PassOptions::default()) {
        Ok(artifact) => artifact,
        Err(problems) => {
            // The generator's parallel loops are not always independent.
            let expected = [
                codes::TARGET_SUPPORT,
                codes::MEMORY,
                codes::UNSUPPORTED,
                codes::NOT_DISJOINT,
                codes::OVERLAPPING_WRITES,
            ];
            let meant = problems.0.iter().all(|p| expected.contains(&p.code));
            return if meant { Ok(Outcome::Refused) } else { Err(format!("seed {seed}: {problems}")) };
        }
    };
    let (mut expected, mut actual) = (fill(&buffers, seed), fill(&buffers, seed));
    let arguments: Vec<Argument<'_>> = expected.iter_mut().zip(&buffers).map(|(b, d)| argument(b, d)).collect();
    // SAFETY: the arguments describe buffers of their extents, which nothing else uses.
    let interpreted = unsafe { run(&program, &arguments, Options::default()) };
    drop(arguments);
    let arguments: Vec<Argument<'_>> = actual.iter_mut().zip(&buffers).map(|(b, d)| argument(b, d)).collect();
    let simulator = Simulator::new(&artifact).map_err(|e| format!("seed {seed}: {e}"))?;
    // SAFETY: the same.
    let simulated = unsafe { simulator.run(&arguments) };
    drop(arguments);
    let texts = || artifact.kernels.iter().map(|k| k.text.as_str()).collect::<String>();
    if interpreted.is_err() {
        return Ok(Outcome::Nothing);
    }
    if let Err(stop) = simulated {
        return Err(format!("seed {seed}: {stop}\n{}", texts()));
    }
    if is_inexact(&program.functions[0].body) {
        return Ok(Outcome::Ran);
    }
    for (k, (want, got)) in expected.iter().zip(&actual).enumerate() {
        if let Some(at) = want.first_difference(got) {
            let (want, got) = (want.show(at), got.show(at));
            return Err(format!("seed {seed}: parameter {k} element {at}: {got} instead of {want}\n{}", texts()));
        }
    }
    Ok(Outcome::Ran)
}

#[test]
fn simulated_equals_interpreted() {
    let both =
        |seed| target::ALL.into_iter().map(|target| check(seed, target).map(|o| u64::from(o == Outcome::Ran))).sum();
    let (count, ran) = each_seed(100, both);
    assert!(ran * 5 >= count, "only {ran} of {} kernels ran", 2 * count);
}
