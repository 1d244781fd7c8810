//! What holds operations together: constants, new tensors, views, loops, branches and checks, with every element type passing through.

use pypto::ir::builder::ForLoop;
use pypto::ir::{DType, Extent, LoopKind, ValueId};
use pypto::ops::OpKind;
use pypto::ops::fold::Literal;

use super::compare::{Failures, check, none, stops};
use super::data::Fill;
use super::session::{Form, Operand, Session, Span, loc};

/// The operations that this file tests. Calls are what compilation makes of every program here.
pub const KINDS: &[OpKind] = &[
    OpKind::Constant,
    OpKind::Alloc,
    OpKind::View,
    OpKind::For,
    OpKind::If,
    OpKind::While,
    OpKind::Call,
    OpKind::Assert,
];

const ROWS: i64 = 5;
const COLUMNS: i64 = 33;

/// A number that is read at run time.
fn number(session: &mut Session, limit: i64, at: i64) -> ValueId {
    let memory = session.tensor(DType::I64, &[4], Fill::Index(limit));
    let index = session.b.index(at, loc());
    session.b.element(memory, &[index], loc()).expect("an element")
}

/// A condition that is known at run time only.
fn condition(session: &mut Session, holds: bool) -> ValueId {
    // The first two elements are 3 and 0.
    let n = number(session, 5, i64::from(!holds));
    let three = session.b.index(3, loc());
    session.b.binary(OpKind::CmpEq, n, three, loc()).expect("a comparison")
}

fn input(session: &mut Session, dtype: DType, fill: Fill) -> ValueId {
    session.tile(Operand(dtype, Span::All, Span::All, fill))
}

fn each_type(name: &str, add: impl Fn(&mut Session, DType)) -> Failures {
    let mut failures = Failures::new();
    for dtype in DType::ALL {
        let mut session = Session::new(Form::Whole, [ROWS, COLUMNS]);
        add(&mut session, dtype);
        failures.extend(check(&format!("{name} {dtype}"), session));
    }
    failures
}

#[test]
fn constants_of_every_type() {
    none(each_type("constants", |session, dtype| {
        let literals = match dtype {
            DType::Bool => vec![Literal::Bool(false), Literal::Bool(true)],
            _ if dtype.is_float() => [0.0, -0.0, 1.5, -0.1, 65504.0, 1e-5].map(Literal::Float).to_vec(),
            _ if dtype.is_signed_integer() => vec![Literal::Int(-128), Literal::Int(-1), Literal::Int(127)],
            _ => vec![Literal::Int(0), Literal::Int(255)],
        };
        for literal in literals {
            let value = session.b.literal_of(literal, dtype, loc()).expect("a constant");
            let dims = [Extent::Const(2), Extent::Const(3)];
            let filled = session.b.full(value, &dims, loc());
            session.output(&format!("{literal:?}"), filled);
        }
    }));
}

#[test]
fn new_tensors_and_views() {
    none(each_type("memory", |session, dtype| {
        let x = input(session, dtype, Fill::Special);
        let dims = [Extent::Const(ROWS), Extent::Const(COLUMNS)];
        let (zero, one) = (session.b.index(0, loc()), session.b.index(1, loc()));
        let memory = session.b.alloc(dtype, &dims, loc()).expect("a tensor");
        session.b.store(x, memory, &[zero, zero], None, loc()).expect("a store");
        let inner = [Extent::Const(ROWS - 2), Extent::Const(COLUMNS - 1)];
        let part = session.b.view(memory, &[one, one], &inner, loc()).expect("a view");
        let value = session.b.load_all(part, loc());
        session.output("part", value);
        let row = session.b.view(memory, &[one, zero], &[Extent::Const(COLUMNS)], loc()).expect("a row");
        let value = session.b.load_all(row, loc());
        session.output("row", value);
        // What is written through a view is in the tensor.
        let other = input(session, dtype, Fill::Tame);
        let block = session.b.slice(other, &[zero, zero], &inner, loc()).expect("a slice");
        session.b.store(block, part, &[zero, zero], None, loc()).expect("a store");
        let value = session.b.load_all(memory, loc());
        session.output("whole", value);
    }));
}

#[test]
fn values_through_loops_and_branches() {
    none(each_type("control", |session, dtype| {
        let (x, y) = (input(session, dtype, Fill::Special), input(session, dtype, Fill::Paired));
        for holds in [true, false] {
            let condition = condition(session, holds);
            session.b.begin_if(condition, loc()).expect("a branch");
            session.b.begin_else(&[x]).expect("another");
            let value = session.b.end_if(&[y]).map(|values| values[0]);
            session.output(&format!("if {holds}"), value);
        }
        let (zero, one) = (session.b.index(0, loc()), session.b.index(1, loc()));
        let upper = number(session, 5, 0);
        let (kind, names) = (LoopKind::Auto, Vec::new());
        let initial = vec![x, y];
        let head = ForLoop { kind, lower: zero, upper, step: one, initial, index_name: None, names, loc: loc() };
        let (_, carried) = session.b.begin_for(&head, &[]).expect("a loop");
        let value = session.b.end_for(&[carried[1], carried[0]]).map(|values| values[0]);
        session.output("for", value);
        let carried = session.b.begin_while(&[upper, x, y], &[], &[], loc());
        let goes_on = session.b.binary(OpKind::CmpGt, carried[0], zero, loc()).expect("a comparison");
        let carried = session.b.begin_while_body(goes_on).expect("a body");
        let less = session.b.binary(OpKind::Sub, carried[0], one, loc()).expect("a difference");
        let value = session.b.end_while(&[less, carried[2], carried[1]]).map(|values| values[1]);
        session.output("while", value);
    }));
}

#[test]
fn checks_stop_where_they_do_not_hold() {
    let mut failures = Failures::new();
    for holds in [true, false] {
        let mut session = Session::new(Form::Whole, [ROWS, COLUMNS]);
        let condition = condition(&mut session, holds);
        session.b.assert(condition, "it holds", loc()).expect("a check");
        let x = input(&mut session, DType::F32, Fill::Tame);
        session.output("after", Ok(x));
        failures.extend(if holds { check("holds", session) } else { stops("fails", session) });
    }
    none(failures);
}
