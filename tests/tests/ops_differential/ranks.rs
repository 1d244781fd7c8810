//! Tiles of one and of three dimensions, whole and reaching over the ends of their tensors.

use pypto::ir::{Attrs, DType, Extent, Round, ValueId};
use pypto::ops::rules::{Request, RuleError};
use pypto::ops::{Class, OpKind};

use super::compare::{Failures, check, none};
use super::data::Fill;
use super::of_class;
use super::session::{Form, Session, loc};

const SHAPES: [&[i64]; 7] = [&[0], &[1], &[37], &[1, 1, 1], &[3, 0, 4], &[3, 5, 33], &[2, 7, 1]];

/// A tile of a tensor of its own that is larger by `more` along each dimension.
fn tile(session: &mut Session, dtype: DType, dims: &[i64], more: i64, fill: Fill) -> ValueId {
    let tensor = session.tensor(dtype, dims, fill);
    let zero = session.b.index(0, loc());
    let extents: Vec<Extent> = dims.iter().map(|n| Extent::Const(n + more)).collect();
    session.b.load(tensor, &vec![zero; dims.len()], &extents, None, loc()).expect("a load")
}

/// As [`Session::output`], but operations that need two dimensions have none where there is one.
fn output(session: &mut Session, name: &str, rank: usize, value: Result<ValueId, RuleError>) {
    match value {
        Err(RuleError::Rank { .. }) if rank == 1 => {}
        value => drop(session.output(name, value)),
    }
}

fn elementwise(session: &mut Session, dtype: DType, dims: &[i64], more: i64) {
    let a = tile(session, dtype, dims, more, Fill::Special);
    let b = tile(session, dtype, dims, more, Fill::Divisor);
    let mask = tile(session, DType::Bool, dims, more, Fill::Special);
    for kind in of_class(&[Class::Unary]).filter(|kind| kind.info().dtypes.contains(dtype)) {
        let value = session.b.unary(kind, a, loc());
        session.output(kind.name(), value);
    }
    for kind in of_class(&[Class::Binary, Class::Compare]).filter(|kind| kind.info().dtypes.contains(dtype)) {
        let value = session.b.binary(kind, a, b, loc());
        session.output(kind.name(), value);
    }
    let value = session.b.select(mask, a, b, loc());
    session.output("select", value);
    let value = session.b.cast(a, DType::F16, Round::Floor, loc());
    session.output("cast", value);
}

fn by_rows(session: &mut Session, dtype: DType, dims: &[i64], more: i64) {
    let x = tile(session, dtype, dims, more, Fill::Special);
    let reductions = [Class::RowReduce, Class::RowArg, Class::ColReduce, Class::ColArg];
    for kind in of_class(&reductions).filter(|kind| kind.info().dtypes.contains(dtype)) {
        let value = session.b.unary(kind, x, loc());
        output(session, kind.name(), dims.len(), value);
    }
    let value = session.b.unary(OpKind::Transpose, x, loc());
    output(session, "transpose", dims.len(), value);
    let order = session.b.emit(OpKind::RowArgsort, &[x], Attrs::new(), &Request::none(), loc());
    session.output("row_argsort", order);
    let width = *dims.last().expect("a dimension");
    let index = tile(session, DType::I32, dims, 0, Fill::Index(width));
    let value = session.b.emit(OpKind::Gather, &[x, index], Attrs::new(), &Request::none(), loc());
    if more == 0 {
        session.output("gather", value);
    }
    for axis in 0..dims.len() {
        let value = session.b.concat(x, x, axis as i64, loc());
        session.output(&format!("concat along {axis}"), value);
    }
}

fn each_shape(add: fn(&mut Session, DType, &[i64], i64)) -> Failures {
    let mut failures = Failures::new();
    for dtype in DType::ALL {
        for dims in SHAPES {
            for more in [0, 3] {
                let mut session = Session::new(Form::Whole, [1, 1]);
                add(&mut session, dtype, dims, more);
                failures.extend(check(&format!("{dtype} {dims:?} and {more}"), session));
            }
        }
    }
    failures
}

#[test]
fn elementwise_operations_of_other_ranks() {
    none(each_shape(elementwise));
}

#[test]
fn rows_and_columns_of_other_ranks() {
    none(each_shape(by_rows));
}
