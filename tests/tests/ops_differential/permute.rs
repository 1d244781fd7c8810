//! Elements of rows by index, the order of rows, and bits as another type.

use pypto::ir::{Attr, AttrKey, Attrs, DType, Extent, ValueId};
use pypto::ops::OpKind;
use pypto::ops::rules::{Request, RuleError};

use super::compare::{Failures, check, none, stops};
use super::data::Fill;
use super::elementwise::sessions;
use super::session::{Form, Operand, Session, Span, loc};

/// The operations that this file tests.
pub const KINDS: &[OpKind] = &[OpKind::Gather, OpKind::Scatter, OpKind::RowArgsort];

fn emit(session: &mut Session, kind: OpKind, operands: &[ValueId]) -> Result<ValueId, RuleError> {
    session.b.emit(kind, operands, Attrs::new(), &Request::none(), loc())
}

#[test]
fn gathers_of_elements() {
    none(sessions(|session, dtype| {
        let x = session.tile(Operand(dtype, Span::All, Span::All, Fill::Special));
        let row = session.tile(Operand(dtype, Span::One, Span::All, Fill::Special));
        // Of no columns nothing can be chosen, by however many indices.
        let index = Fill::Index(session.columns);
        for rows in [Span::All, Span::One] {
            let at = session.tile(Operand(DType::I32, rows, Span::All, index));
            let value = emit(session, OpKind::Gather, &[x, at]);
            session.output(&format!("gather by {rows:?}"), value);
        }
        let at = session.tile(Operand(DType::I32, Span::All, Span::All, index));
        let value = emit(session, OpKind::Gather, &[row, at]);
        session.output("gather of one row", value);
        if session.columns > 0 {
            let one = session.tile(Operand(DType::I32, Span::All, Span::One, index));
            let value = emit(session, OpKind::Gather, &[x, one]);
            session.output("gather of one column", value);
        }
    }));
}

#[test]
fn scatters_of_elements() {
    none(sessions(|session, dtype| {
        let target = session.tile(Operand(dtype, Span::All, Span::All, Fill::Tame));
        for (rows, from) in [(Span::All, Span::All), (Span::One, Span::All), (Span::All, Span::One)] {
            let at = session.tile(Operand(DType::I32, rows, Span::All, Fill::Index(session.columns)));
            let source = session.tile(Operand(dtype, from, Span::All, Fill::Special));
            let value = emit(session, OpKind::Scatter, &[target, at, source]);
            session.output(&format!("scatter by {rows:?} from {from:?}"), value);
        }
        let at = session.tile(Operand(DType::I32, Span::All, Span::All, Fill::Index(session.columns)));
        let value = emit(session, OpKind::Scatter, &[target, at, target]);
        session.output("scatter from itself", value);
    }));
}

#[test]
fn orders_of_rows() {
    none(sessions(|session, dtype| {
        for fill in [Fill::Special, Fill::Tame] {
            let x = session.tile(Operand(dtype, Span::All, Span::All, fill));
            let order = emit(session, OpKind::RowArgsort, &[x]);
            session.output(&format!("row_argsort {fill:?}"), order.clone());
            let sorted = order.and_then(|order| emit(session, OpKind::Gather, &[x, order]));
            session.output(&format!("sorted {fill:?}"), sorted);
        }
    }));
}

/// Where only the first columns of an order are used, rows are not sorted: few and many columns, of rows that fall, rise, and repeat.
#[test]
fn first_columns_of_orders() {
    let mut failures = Failures::new();
    for dtype in DType::ALL {
        for (form, extents) in [(Form::Whole, [3, 1100]), (Form::Padded, [5, 300]), (Form::Blocks, [6, 131])] {
            let mut session = Session::new(form, extents);
            for fill in [Fill::Special, Fill::Tame, Fill::Bits] {
                let x = session.tile(Operand(dtype, Span::All, Span::All, fill));
                let (rows, columns) = (Extent::Const(session.tile_dims()[0]), session.tile_dims()[1]);
                let zero = session.b.index(0, loc());
                for count in [1, 32, 33, columns / 4, columns / 2].into_iter().filter(|n| *n <= columns) {
                    let order = emit(&mut session, OpKind::RowArgsort, &[x]);
                    let first = order
                        .and_then(|order| session.b.slice(order, &[zero, zero], &[rows, Extent::Const(count)], loc()));
                    session.output(&format!("first {count} of {fill:?}"), first.clone());
                    let values = first.and_then(|first| emit(&mut session, OpKind::Gather, &[x, first]));
                    session.output(&format!("largest {count} of {fill:?}"), values);
                }
            }
            failures.extend(check(&format!("{dtype} {form:?} {extents:?}"), session));
        }
    }
    none(failures);
}

#[test]
fn bits_as_another_type() {
    let mut failures = Failures::new();
    for from in DType::ALL.into_iter().filter(|d| *d != DType::Bool) {
        for (fill, extents) in [(Fill::Special, [13, 67]), (Fill::Bits, [256, 256])] {
            let mut session = Session::new(Form::Whole, extents);
            let x = session.tile(Operand(from, Span::All, Span::All, fill));
            for to in DType::ALL.into_iter().filter(|d| *d != DType::Bool && d.size() == from.size()) {
                let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(to));
                let value = session.b.emit(OpKind::Bitcast, &[x], attrs, &Request::none(), loc());
                session.output(&format!("bitcast to {to}"), value);
            }
            failures.extend(check(&format!("bits of {from} {fill:?}"), session));
        }
    }
    none(failures);
}

#[test]
fn bits_of_another_width_are_refused() {
    let mut session = Session::new(Form::Whole, [4, 4]);
    let x = session.tile(Operand(DType::F32, Span::All, Span::All, Fill::Tame));
    for to in [DType::I16, DType::Bool] {
        let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(to));
        assert!(session.b.emit(OpKind::Bitcast, &[x], attrs, &Request::none(), loc()).is_err());
    }
}

#[test]
fn indices_outside_of_the_row_stop() {
    let mut failures = Failures::new();
    for kind in [OpKind::Gather, OpKind::Scatter] {
        for (limit, expected) in [(9, false), (10, true)] {
            let mut session = Session::new(Form::Whole, [5, 9]);
            let x = session.tile(Operand(DType::F32, Span::All, Span::All, Fill::Tame));
            let at = session.tile(Operand(DType::I32, Span::All, Span::All, Fill::Index(limit)));
            let operands: &[ValueId] = if kind == OpKind::Gather { &[x, at] } else { &[x, at, x] };
            let value = emit(&mut session, kind, operands);
            session.output(kind.name(), value);
            let label = format!("{} below {limit}", kind.name());
            failures.extend(if expected { stops(&label, session) } else { check(&label, session) });
        }
    }
    none(failures);
}

/// Only what is valid of a row may be named.
#[test]
fn indices_of_padding_stop() {
    let mut session = Session::new(Form::Whole, [5, 9]);
    let x = session.tile(Operand(DType::F32, Span::All, Span::All, Fill::Tame));
    let at = session.tile(Operand(DType::I32, Span::All, Span::All, Fill::Index(9)));
    let part = session.b.set_valid(x, &[Extent::Const(5), Extent::Const(8)], loc()).expect("a part");
    let value = emit(&mut session, OpKind::Gather, &[part, at]);
    session.output("gather", value);
    none(stops("padding", session));
}
