//! Runs a program in the interpreter and compiled, and compares every byte that it writes.

use pypto::CompiledProgram;
use pypto::config::{CompileOptions, Platform, RunOptions};
use pypto::ir::interpreter::{self, Options};
use pypto::ir::{DType, Program, verify};
use pypto::language::argument::{Argument, TensorArgument};
use pypto_tests::bits::is_nan;

use super::data::{element, show};
use super::session::{Parameter, Session};

/// Elements in words, so that every type is aligned.
struct Buffer {
    dtype: DType,
    dims: Vec<i64>,
    count: usize,
    words: Vec<u64>,
}

impl Buffer {
    fn of(parameter: &Parameter) -> Buffer {
        let Parameter { dtype, dims, fill, .. } = parameter;
        let count = dims.iter().product::<i64>() as usize;
        let size = dtype.size();
        let mut words = vec![0u64; (count * size).div_ceil(8) + 1];
        for i in 0..count {
            let (bits, at) = (element(i, *dtype, *fill), i * size);
            words[at / 8] |= bits << (at % 8 * 8);
        }
        Buffer { dtype: *dtype, dims: dims.clone(), count, words }
    }

    fn bits(&self, i: usize) -> u64 {
        let (size, at) = (self.dtype.size(), i * self.dtype.size());
        (self.words[at / 8] >> (at % 8 * 8)) & (u64::MAX >> (64 - 8 * size))
    }

    fn argument(&mut self) -> Argument<'_> {
        let rank = self.dims.len();
        let mut strides = vec![1; rank];
        for axis in (1..rank).rev() {
            strides[axis - 1] = strides[axis] * self.dims[axis];
        }
        // SAFETY: the argument borrows the words, which hold all elements.
        Argument::Tensor(unsafe {
            TensorArgument::new(self.dtype, &self.dims, &strides, self.words.as_mut_ptr().cast(), true)
        })
    }
}

/// What went wrong in a session: one line each.
pub type Failures = Vec<String>;

/// Runs a session both ways; both must come to the end.
pub fn check(label: &str, session: Session) -> Failures {
    check_outcome(label, session, Some(false))
}

/// Runs a session both ways; both must stop with an error.
pub fn stops(label: &str, session: Session) -> Failures {
    check_outcome(label, session, Some(true))
}

/// Runs a session both ways; both must come to the end, or both stop.
pub fn agree(label: &str, session: Session) -> Failures {
    check_outcome(label, session, None)
}

fn check_outcome(label: &str, session: Session, stopping: Option<bool>) -> Failures {
    let (program, parameters) = session.finish();
    verify(&program).unwrap_or_else(|e| panic!("{label}: {e:?}"));
    let options = CompileOptions { cache: Some(false), threads: Some(2), ..CompileOptions::default() };
    let compiled = match pypto::compile(&program, &options) {
        Ok(compiled) => compiled,
        Err(error) => return vec![format!("{label}: {error}")],
    };
    if !compiled.interpreted_kernels().is_empty() {
        let fallbacks = compiled.interpreted_kernels().into_iter().filter(|_| compiled.platform() == Platform::Host);
        return fallbacks.map(|kernel| format!("{label}: `{kernel}` has no machine code")).collect();
    }
    let mut failures = Failures::new();
    let mut expected: Vec<Buffer> = parameters.iter().map(Buffer::of).collect();
    let mut actual: Vec<Buffer> = parameters.iter().map(Buffer::of).collect();
    let [interpreted, native] = run(&program, &compiled, &mut expected, &mut actual);
    let stopping = stopping.unwrap_or(interpreted.is_some());
    if [&interpreted, &native].into_iter().any(|outcome| outcome.is_some() != stopping) {
        failures.push(format!("{label}: interpreted {interpreted:?}, compiled {native:?}"));
    }
    if stopping {
        return failures;
    }
    for ((want, got), parameter) in expected.iter().zip(&actual).zip(&parameters) {
        failures.extend(differences(want, got).map(|text| format!("{label}: {}: {text}", parameter.name)));
    }
    failures
}

/// Runs both; what the interpreter and the compiled code stopped with.
fn run(
    program: &Program,
    compiled: &CompiledProgram,
    expected: &mut [Buffer],
    actual: &mut [Buffer],
) -> [Option<String>; 2] {
    let arguments: Vec<Argument<'_>> = expected.iter_mut().map(Buffer::argument).collect();
    // SAFETY: the arguments describe buffers of the extents in the parameters' types, which nothing else uses.
    let interpreted = unsafe { interpreter::run(program, &arguments, Options::default()) };
    let arguments: Vec<Argument<'_>> = actual.iter_mut().map(Buffer::argument).collect();
    let native = compiled.call_with(arguments, RunOptions { threads: Some(2), ..RunOptions::default() });
    [interpreted.err().map(|e| format!("{e:?}")), native.err().map(|e| format!("{e:?}"))]
}

/// The first element that differs, NaN payloads aside, and how many do.
fn differences(want: &Buffer, got: &Buffer) -> Option<String> {
    let differs = |i: &usize| {
        let (a, b) = (want.bits(*i), got.bits(*i));
        a != b && !(is_nan(a, want.dtype) && is_nan(b, want.dtype))
    };
    let at = (0..want.count).find(differs)?;
    let count = (0..want.count).filter(differs).count();
    let (want_text, got_text) = (show(want.bits(at), want.dtype), show(got.bits(at), got.dtype));
    Some(format!("{count} of {} differ, first {at}: {got_text} instead of {want_text}", want.count))
}

/// Fails with all that went wrong, shortened.
pub fn none(failures: Failures) {
    let shown: Vec<&String> = failures.iter().take(40).collect();
    assert!(failures.is_empty(), "{} failures: {shown:#?}", failures.len());
}
