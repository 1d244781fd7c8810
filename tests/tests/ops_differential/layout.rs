//! Creation and rearrangement of tiles, and single elements.

use pypto::ir::{DType, Extent};
use pypto::ops::OpKind;

use super::EXTENTS;
use super::compare::{Failures, check, none};
use super::data::Fill;
use super::session::{Form, Operand, Session, Span, loc};

/// The operations that this file tests.
pub const KINDS: &[OpKind] = &[
    OpKind::Full,
    OpKind::Iota,
    OpKind::Slice,
    OpKind::Assemble,
    OpKind::Reshape,
    OpKind::Transpose,
    OpKind::Concat,
    OpKind::Broadcast,
    OpKind::Fillpad,
    OpKind::SetValid,
    OpKind::Read,
    OpKind::Write,
    OpKind::Extract,
];

fn add(session: &mut Session, kind: OpKind, dtype: DType) {
    match kind {
        OpKind::Full | OpKind::Iota | OpKind::Fillpad => create(session, kind, dtype),
        OpKind::Slice | OpKind::Assemble => cut(session, kind, dtype),
        OpKind::Read | OpKind::Write | OpKind::Extract => element(session, kind, dtype),
        _ => rearrange(session, kind, dtype),
    }
}

fn constant(session: &mut Session, dtype: DType) -> pypto::ir::ValueId {
    let memory = session.tensor(dtype, &[1, 2], Fill::Tame);
    let at = session.b.index(0, loc());
    session.b.element(memory, &[at, at], loc()).expect("an element")
}

fn create(session: &mut Session, kind: OpKind, dtype: DType) {
    let value = constant(session, dtype);
    let dims = session.tile_dims().map(Extent::Const);
    match kind {
        OpKind::Full => {
            let full = session.b.full(value, &dims, loc());
            session.output("full", full);
        }
        OpKind::Iota if dtype.is_integer() => {
            for axis in [0, 1] {
                let iota = session.b.iota(value, axis, &dims, loc());
                session.output(&format!("iota along {axis}"), iota);
            }
        }
        OpKind::Fillpad => {
            let x = session.tile(Operand(dtype, Span::All, Span::All, Fill::Special));
            let filled = session.b.fillpad(x, value, loc());
            session.output("fillpad", filled);
        }
        _ => {}
    }
}

fn cut(session: &mut Session, kind: OpKind, dtype: DType) {
    let x = session.tile(Operand(dtype, Span::All, Span::All, Fill::Special));
    let dims = session.tile_dims();
    // What lies inside along both dimensions, starting at the second element where there is one.
    let inner = dims.map(|n| Extent::Const((n - 1).max(0)));
    let offsets = dims.map(|n| session.b.index(i64::from(n > 0), loc()));
    let part = session.b.slice(x, &offsets, &inner, loc());
    if kind == OpKind::Slice {
        session.output("slice", part);
        let zero = session.b.index(0, loc());
        let top = session.b.slice(x, &[zero, offsets[1]], &[Extent::Const(dims[0]), inner[1]], loc());
        session.output("slice of columns", top);
        return;
    }
    let zero = session.b.index(0, loc());
    let joined = part.and_then(|part| session.b.assemble(x, part, &[zero, zero], loc()));
    session.output("assemble at the start", joined);
    let other = session.tile(Operand(dtype, Span::All, Span::All, Fill::Tame));
    let part = session.b.slice(other, &[zero, zero], &inner, loc());
    let joined = part.and_then(|part| session.b.assemble(x, part, &offsets, loc()));
    session.output("assemble inside", joined);
}

fn rearrange(session: &mut Session, kind: OpKind, dtype: DType) {
    let x = session.tile(Operand(dtype, Span::All, Span::All, Fill::Special));
    let [m, n] = session.tile_dims();
    match kind {
        OpKind::Reshape => {
            for dims in [vec![n, m], vec![1, m * n], vec![m * n], vec![m, 1, n]] {
                let extents: Vec<Extent> = dims.iter().map(|d| Extent::Const(*d)).collect();
                let value = session.b.with_dims(kind, x, &extents, loc());
                session.output(&format!("reshape to {dims:?}"), value);
            }
        }
        OpKind::Transpose => {
            let value = session.b.unary(kind, x, loc());
            session.output("transpose", value);
        }
        OpKind::Concat => {
            let other = session.tile(Operand(dtype, Span::All, Span::All, Fill::Tame));
            for axis in [0, 1] {
                let value = session.b.concat(x, other, axis, loc());
                session.output(&format!("concat along {axis}"), value);
            }
        }
        OpKind::Broadcast => {
            for (rows, columns) in [(Span::All, Span::One), (Span::One, Span::All), (Span::One, Span::One)] {
                let small = session.tile(Operand(dtype, rows, columns, Fill::Special));
                let value = session.b.with_dims(kind, small, &[Extent::Const(m), Extent::Const(n)], loc());
                session.output(&format!("broadcast of {rows:?} {columns:?}"), value);
            }
        }
        _ => {
            let least = session.rows.min(2).min(m);
            let valid = [Extent::Const(least), Extent::Const(session.columns / 2)];
            let value = session.b.set_valid(x, &valid, loc());
            if session.form != Form::Blocks {
                session.output("set_valid", value);
            }
        }
    }
}

fn element(session: &mut Session, kind: OpKind, dtype: DType) {
    if session.rows == 0 || session.columns == 0 {
        return;
    }
    let (zero, last) = (session.b.index(0, loc()), session.b.index(session.columns - 1, loc()));
    let value = match kind {
        OpKind::Extract => {
            let x = session.tile(Operand(dtype, Span::All, Span::All, Fill::Special));
            session.b.element(x, &[zero, last], loc())
        }
        _ => {
            let x = session.tensor(dtype, &[session.rows, session.columns], Fill::Special);
            session.b.element(x, &[zero, last], loc())
        }
    };
    if kind == OpKind::Write {
        let out = session.output_tensor("write", dtype, &[session.rows, session.columns]);
        value.and_then(|v| session.b.write(v, out, &[zero, last], loc())).expect("a write");
        return;
    }
    let dims = [Extent::Const(1), Extent::Const(1)];
    let value = value.and_then(|v| session.b.full(v, &dims, loc()));
    session.output(kind.name(), value);
}

fn sessions(kinds: &[OpKind]) -> Failures {
    let mut failures = Failures::new();
    for dtype in DType::ALL {
        for form in Form::ALL {
            for extents in EXTENTS {
                let mut session = Session::new(form, extents);
                for kind in kinds {
                    add(&mut session, *kind, dtype);
                }
                failures.extend(check(&format!("{dtype} {form:?} {extents:?}"), session));
            }
        }
    }
    failures
}

#[test]
fn creation_and_rearrangement() {
    none(sessions(&KINDS[..10]));
}

#[test]
fn single_elements() {
    none(sessions(&KINDS[10..]));
}
