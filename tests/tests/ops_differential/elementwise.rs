//! Unary, binary, comparison, select and cast: tiles, broadcasts of rows, columns and scalars.

use pypto::ir::{DType, Round};
use pypto::ops::{Class, OpKind};

use super::compare::{Failures, check, none};
use super::data::Fill;
use super::session::{Form, Operand, Session, Span, loc};
use super::{EXTENTS, of_class};

fn full(dtype: DType, fill: Fill) -> Operand {
    Operand(dtype, Span::All, Span::All, fill)
}

/// One session an element type, form and shape.
pub fn sessions(add: impl Fn(&mut Session, DType)) -> Failures {
    let mut failures = Failures::new();
    for dtype in DType::ALL {
        for form in Form::ALL {
            for extents in EXTENTS {
                let mut session = Session::new(form, extents);
                add(&mut session, dtype);
                failures.extend(check(&format!("{dtype} {form:?} {extents:?}"), session));
            }
        }
    }
    failures
}

fn unary(session: &mut Session, dtype: DType, fill: Fill) {
    let x = session.tile(full(dtype, fill));
    for kind in of_class(&[Class::Unary]).filter(|k| k.info().dtypes.contains(dtype)) {
        let value = session.b.unary(kind, x, loc());
        session.output(kind.name(), value);
    }
}

#[test]
fn unary_operations() {
    none(sessions(|session, dtype| unary(session, dtype, Fill::Special)));
}

/// Every value of the 16-bit types, and as many of the others.
#[test]
fn unary_operations_on_every_half_float() {
    let mut failures = Failures::new();
    for dtype in [DType::F16, DType::BF16, DType::I16, DType::U16] {
        let mut session = Session::new(Form::Whole, [256, 256]);
        unary(&mut session, dtype, Fill::Bits);
        failures.extend(check(&format!("all of {dtype}"), session));
    }
    none(failures);
}

/// The second operand: what an integer may be divided by where the operation divides.
fn second(kind: OpKind) -> Fill {
    if matches!(kind, OpKind::Div | OpKind::Rem) { Fill::Divisor } else { Fill::Paired }
}

#[test]
fn binary_operations_and_comparisons() {
    none(sessions(|session, dtype| {
        let a = session.tile(full(dtype, Fill::Special));
        for kind in of_class(&[Class::Binary, Class::Compare]).filter(|k| k.info().dtypes.contains(dtype)) {
            let fill = second(kind);
            for (rows, columns) in [(Span::All, Span::All), (Span::All, Span::One), (Span::One, Span::All)] {
                let b = session.tile(Operand(dtype, rows, columns, fill));
                let value = session.b.binary(kind, a, b, loc());
                session.output(&format!("{} {rows:?} {columns:?}", kind.name()), value);
            }
        }
    }));
}

#[test]
fn scalars_on_either_side() {
    none(sessions(|session, dtype| {
        let x = session.tile(full(dtype, Fill::Divisor));
        // A scalar that is read at run time, so that it cannot be folded.
        let memory = session.tensor(dtype, &[1, 2], Fill::Divisor);
        let zero = session.b.index(0, loc());
        let s = session.b.element(memory, &[zero, zero], loc()).expect("an element");
        for kind in of_class(&[Class::Binary, Class::Compare]).filter(|k| k.info().dtypes.contains(dtype)) {
            let value = session.b.binary(kind, x, s, loc());
            session.output(&format!("{} with a scalar", kind.name()), value);
            let value = session.b.binary(kind, s, x, loc());
            session.output(&format!("{} of a scalar", kind.name()), value);
        }
    }));
}

#[test]
fn select_between_tiles() {
    none(sessions(|session, dtype| {
        let (a, b) = (session.tile(full(dtype, Fill::Special)), session.tile(full(dtype, Fill::Paired)));
        for (rows, columns) in [(Span::All, Span::All), (Span::All, Span::One), (Span::One, Span::All)] {
            let mask = session.tile(Operand(DType::Bool, rows, columns, Fill::Special));
            let value = session.b.select(mask, a, b, loc());
            session.output(&format!("select by {rows:?} {columns:?}"), value);
        }
        let row = session.tile(Operand(dtype, Span::One, Span::All, Fill::Paired));
        let mask = session.tile(full(DType::Bool, Fill::Special));
        let value = session.b.select(mask, a, row, loc());
        session.output("select a row", value);
    }));
}

/// Every pair of types in every rounding mode.
fn casts(session: &mut Session, from: DType, fill: Fill) {
    let x = session.tile(full(from, fill));
    for to in DType::ALL {
        for round in Round::ALL {
            let value = session.b.cast(x, to, round, loc());
            session.output(&format!("cast to {to} {round}"), value);
        }
    }
}

#[test]
fn casts_between_all_types() {
    let mut failures = Failures::new();
    for from in DType::ALL {
        for (form, extents) in [(Form::Whole, [13, 67]), (Form::Blocks, [6, 9]), (Form::Padded, [3, 31])] {
            let mut session = Session::new(form, extents);
            casts(&mut session, from, Fill::Special);
            failures.extend(check(&format!("{from} {form:?}"), session));
        }
    }
    none(failures);
}

/// Every value of the types of at most 16 bits.
#[test]
fn casts_of_every_short_value() {
    let mut failures = Failures::new();
    for from in [DType::F16, DType::BF16, DType::I16, DType::U16, DType::I8, DType::U8, DType::Bool] {
        let mut session = Session::new(Form::Whole, [256, 256]);
        casts(&mut session, from, Fill::Bits);
        failures.extend(check(&format!("all of {from}"), session));
    }
    none(failures);
}
