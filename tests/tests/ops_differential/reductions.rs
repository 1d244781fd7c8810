//! Reductions of rows and of columns.

use pypto::ir::DType;
use pypto::ops::Class;

use super::compare::{Failures, check, none};
use super::data::Fill;
use super::session::{Form, Operand, Session, Span, loc};
use super::{EXTENTS, of_class};

fn reductions(classes: &[Class]) -> Failures {
    let mut failures = Failures::new();
    let long = [[5, 1000], [300, 5]];
    for dtype in DType::ALL {
        for form in Form::ALL {
            for extents in EXTENTS.into_iter().chain(long) {
                let mut session = Session::new(form, extents);
                for fill in [Fill::Special, Fill::Tame] {
                    let x = session.tile(Operand(dtype, Span::All, Span::All, fill));
                    for kind in of_class(classes).filter(|k| k.info().dtypes.contains(dtype)) {
                        let value = session.b.unary(kind, x, loc());
                        session.output(&format!("{} {fill:?}", kind.name()), value);
                    }
                }
                failures.extend(check(&format!("{dtype} {form:?} {extents:?}"), session));
            }
        }
    }
    failures
}

#[test]
fn reductions_of_rows() {
    none(reductions(&[Class::RowReduce, Class::RowArg]));
}

#[test]
fn reductions_of_columns() {
    none(reductions(&[Class::ColReduce, Class::ColArg]));
}
