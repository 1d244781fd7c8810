//! Operations that stop a kernel: compiled code stops where the interpreter stops.

use pypto::ir::DType;
use pypto::ops::OpKind;

use super::compare::{Failures, check, none, stops};
use super::data::Fill;
use super::session::{Form, Operand, Session, Span, loc};

/// Special values divided by each other: there are zeros among them, and -1 under the smallest value.
#[test]
fn divisions_of_integers_stop() {
    let mut failures = Failures::new();
    for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
        for kind in [OpKind::Div, OpKind::Rem] {
            for form in Form::ALL {
                let mut session = Session::new(form, [13, 67]);
                let a = session.tile(Operand(dtype, Span::All, Span::All, Fill::Special));
                let b = session.tile(Operand(dtype, Span::All, Span::All, Fill::Paired));
                let value = session.b.binary(kind, a, b, loc());
                session.output(kind.name(), value);
                failures.extend(stops(&format!("{} of {dtype} {form:?}", kind.name()), session));
            }
        }
    }
    none(failures);
}

#[test]
fn rows_outside_of_the_tensor_stop() {
    let mut failures = Failures::new();
    for (dtype, limit, expected) in [(DType::I32, 8, true), (DType::I64, 8, true), (DType::I64, 5, false)] {
        let mut session = Session::new(Form::Whole, [5, 9]);
        let x = session.tensor(DType::F32, &[5, 9], Fill::Tame);
        let index = session.whole(dtype, &[7, 1], Fill::Index(limit));
        let request = pypto::ops::rules::Request::none();
        let rows = session.b.emit(OpKind::GatherRows, &[x, index], Default::default(), &request, loc());
        session.output("gather_rows", rows);
        let label = format!("rows below {limit} by {dtype}");
        failures.extend(if expected { stops(&label, session) } else { check(&label, session) });
    }
    none(failures);
}

/// An index outside of its rows stops the kernel, also where nothing uses the elements.
#[test]
fn indices_of_elements_that_nothing_uses_stop() {
    let mut failures = Failures::new();
    for (limit, expected) in [(12, true), (5, false)] {
        for kind in [OpKind::Gather, OpKind::Scatter, OpKind::GatherRows, OpKind::Div] {
            let mut session = Session::new(Form::Whole, [5, 9]);
            let tensor = session.tensor(DType::F32, &[5, 9], Fill::Tame);
            let x = session.tile(Operand(DType::F32, Span::All, Span::All, Fill::Tame));
            let column = session.whole(DType::I32, &[5, 1], Fill::Index(limit));
            let operands = match kind {
                OpKind::Gather => vec![x, column],
                OpKind::Scatter => vec![x, column, session.tile(Operand(DType::F32, Span::All, Span::One, Fill::Tame))],
                OpKind::GatherRows => vec![tensor, column],
                // What divides by zero.
                _ => vec![column, if expected { session.whole(DType::I32, &[5, 1], Fill::Index(1)) } else { column }],
            };
            if kind == OpKind::Div && !expected {
                continue;
            }
            let unused =
                session.b.emit(kind, &operands, Default::default(), &pypto::ops::rules::Request::none(), loc());
            unused.expect("an operation");
            session.output("x", Ok(x));
            let label = format!("{} below {limit}", kind.name());
            failures.extend(if expected { stops(&label, session) } else { check(&label, session) });
        }
    }
    none(failures);
}
