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
