//! Kernels through the front end: the verbatim body as plain Rust and the instantiated program in the interpreter give the
//! same bits, before and after the passes of the host; the program is valid and its text form reads back.

#![allow(
    clippy::assign_op_pattern,
    clippy::nonminimal_bool,
    reason = "kernels are written in every form that the subset accepts"
)]

mod calls;
mod control;
mod exits;
mod inference;
mod tensors;
mod tiles;

use pypto::diagnostics::render_all;
use pypto::frontend::generic::{Callable, Callee};
use pypto::frontend::{ArgumentSpec, Specialization, instantiate};
use pypto::ir::interpreter::{Options, run};
use pypto::ir::text::{PrintOptions, parse, print};
use pypto::ir::{DType, Program, verify};
use pypto::jit::Argument;
use pypto::passes::pipeline::host;
use pypto::passes::tensor_tiling::Limits;
use pypto::prelude::*;

/// The program of a kernel for such arguments.
fn program<K: Callable>(types: &[DType], arguments: &[Argument<'_>]) -> Program {
    let Callee::Function(function) = K::callee() else { panic!("not a kernel") };
    let specs: Vec<ArgumentSpec> = arguments.iter().map(spec).collect();
    let program = Specialization::for_call(function, types, &specs, &[])
        .and_then(|specialization| instantiate(function, &specialization))
        .unwrap_or_else(|problems| panic!("{}", render_all(&problems, false)));
    check(&program);
    program
}

fn spec(argument: &Argument<'_>) -> ArgumentSpec {
    match argument {
        Argument::Tensor(t) => ArgumentSpec::Tensor { dtype: t.dtype(), dims: t.dims().to_vec(), contiguous: true },
        Argument::Scalar(s) => ArgumentSpec::Scalar { dtype: s.dtype, bits: s.bits },
    }
}

/// Valid, and the same after printing and parsing.
fn check(program: &Program) {
    let text = print(program, PrintOptions { locations: false });
    verify(program).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let read = parse(&text, "printed").unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&read, PrintOptions { locations: false }), text);
}

fn interpret(program: &Program, arguments: &[Argument<'_>]) {
    // SAFETY: the arguments are those of tensors that the test holds and does not touch meanwhile.
    let outcome = unsafe { run(program, arguments, Options { checked: true, nan: false }) };
    outcome.unwrap_or_else(|error| panic!("{error}\n{}", print(program, PrintOptions { locations: false })));
}

/// The program after the passes of the host.
fn lowered(mut program: Program) -> Program {
    host(&mut program, &Limits::for_threads(2)).unwrap_or_else(|problems| panic!("{}", render_all(&problems, false)));
    check(&program);
    program
}

fn bits<T: Element, const R: usize>(tensor: &Tensor<T, R>) -> Vec<u64> {
    tensor.to_vec().into_iter().map(Element::to_bits64).collect()
}

/// `agree!(kernel(inputs..; f32, [4, 5]))`: a kernel whose last parameter is an output of that type and shape.
macro_rules! agree {
    ($kernel:ident($($input:expr),*; $ty:ty, $shape:expr)) => {{
        use pypto::jit::KernelArgument;
        let mut expected = pypto::prelude::Tensor::<$ty, _>::zeros($shape);
        let mut found = expected.clone();
        $kernel.eager(($($input,)* &mut expected));
        let program = $crate::program::<$kernel>(&[], &[$(KernelArgument::argument(&mut { $input }),)* (&mut found).argument()]);
        $crate::interpret(&program, &[$(KernelArgument::argument(&mut { $input }),)* (&mut found).argument()]);
        assert_eq!($crate::bits(&expected), $crate::bits(&found), "as instantiated");
        let mut found = pypto::prelude::Tensor::<$ty, _>::zeros($shape);
        let program = $crate::lowered(program);
        $crate::interpret(&program, &[$(KernelArgument::argument(&mut { $input }),)* (&mut found).argument()]);
        assert_eq!($crate::bits(&expected), $crate::bits(&found), "after the passes of the host");
        program
    }};
}
pub(crate) use agree;

/// Numbers with a pattern, of both signs.
fn sample<const R: usize>(shape: [i64; R]) -> Tensor<f32, R> {
    Tensor::from_fn(shape, |index| {
        let n = index.iter().fold(7i64, |n, i| n * 31 + i);
        ((n * 37) % 41) as f32 / 8.0 - 2.0
    })
}
