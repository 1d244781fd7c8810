//! Programs of random operations, chosen by bytes: the interpreter and compiled code write the same, or both stop.
//!
//! The bytes come from a generator here (`PYPTO_FUZZ_SECONDS` is how long, `PYPTO_RANDOM_SEED` where it starts) or from `cargo fuzz`,
//! whose target `operations` includes this file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use pypto::ir::{Attrs, DType, Round, ValueId};
use pypto::ops::rules::{Request, RuleError};
use pypto::ops::{Class, OpKind};

use super::EXTENTS;
use super::compare::{Failures, agree};
use super::data::Fill;
use super::session::{Form, Operand, Session, Span, loc};

/// Most operations of a program.
const OPERATIONS: usize = 12;

/// Bytes as a list of choices; after the last byte every choice is the first.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % limit.max(1)
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// One more operation on some of the values; an error where the rules have none for them.
fn operation(session: &mut Session, choices: &mut Choices<'_>, values: &[ValueId]) -> Result<ValueId, RuleError> {
    let kind = choices.of(OpKind::ALL);
    let [x, y, z] = [(); 3].map(|()| choices.of(values));
    let b = &mut session.b;
    match kind.class() {
        Class::Binary | Class::Compare => b.binary(kind, x, y, loc()),
        Class::Select => b.select(x, y, z, loc()),
        Class::Cast if kind == OpKind::Cast => b.cast(x, choices.of(&DType::ALL), choices.of(&Round::ALL), loc()),
        Class::Permute if kind == OpKind::Gather => b.emit(kind, &[x, y], Attrs::new(), &Request::none(), loc()),
        Class::Permute if kind == OpKind::Scatter => b.emit(kind, &[x, y, z], Attrs::new(), &Request::none(), loc()),
        Class::Layout if kind == OpKind::Concat => b.concat(x, y, choices.below(2) as i64, loc()),
        Class::Matmul if kind == OpKind::Matmul => {
            b.matmul(kind, &[x, y], choices.below(2) == 1, choices.below(2) == 1, loc())
        }
        Class::Unary | Class::RowReduce | Class::ColReduce | Class::RowArg | Class::ColArg | Class::Permute => {
            b.unary(kind, x, loc())
        }
        _ => b.unary(OpKind::Transpose, x, loc()),
    }
}

/// The program that the bytes choose.
pub fn program_of(bytes: &[u8]) -> Session {
    let mut choices = Choices(bytes);
    let mut session = Session::new(choices.of(&Form::ALL), choices.of(&EXTENTS));
    let all = |dtype, fill| Operand(dtype, Span::All, Span::All, fill);
    let dtype = choices.of(&DType::ALL);
    let columns = session.columns;
    let inputs = [
        all(dtype, Fill::Special),
        all(dtype, Fill::Divisor),
        all(choices.of(&DType::ALL), Fill::Tame),
        all(DType::I32, Fill::Index(columns)),
        Operand(dtype, Span::All, Span::One, Fill::Tame),
        Operand(DType::Bool, Span::One, Span::All, Fill::Special),
    ];
    let mut values: Vec<ValueId> = inputs.into_iter().map(|operand| session.tile(operand)).collect();
    let given = values.len();
    for _ in 0..OPERATIONS {
        // What the rules refuse is left out.
        if let Ok(value) = operation(&mut session, &mut choices, &values) {
            values.push(value);
        }
    }
    let last = values.len().saturating_sub(3).max(given);
    for (number, value) in values[last..].iter().enumerate() {
        session.output(&format!("value {number}"), Ok(*value));
    }
    session
}

/// What goes wrong with the program that the bytes choose.
pub fn failures_of(bytes: &[u8]) -> Failures {
    agree("random operations", program_of(bytes))
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn random_operations_agree() {
    let end = Instant::now() + Duration::from_secs(number("PYPTO_FUZZ_SECONDS", 2));
    let mut state = number("PYPTO_RANDOM_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut programs = 0;
    while Instant::now() < end {
        let bytes: Vec<u8> = (0..OPERATIONS * 7 + 4)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        match catch_unwind(AssertUnwindSafe(|| failures_of(&bytes))) {
            Ok(failures) => assert!(failures.is_empty(), "{failures:#?}\nof the bytes {bytes:?}"),
            Err(_) => panic!("these bytes panic: {bytes:?}"),
        }
        programs += 1;
    }
    println!("{programs} programs");
}
