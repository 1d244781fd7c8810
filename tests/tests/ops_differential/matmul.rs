//! Products: every element type, transposed operands, accumulators, biases, batches.

use pypto::ir::{DType, Extent, ValueId};
use pypto::ops::OpKind;

use super::compare::{Failures, check, none};
use super::data::Fill;
use super::session::{Form, Session, loc};

/// The operations that this file tests.
pub const KINDS: &[OpKind] = &[OpKind::Matmul, OpKind::MatmulAcc, OpKind::MatmulBias];

/// M, N, K.
const SHAPES: [[i64; 3]; 13] = [
    [0, 3, 4],
    [3, 0, 4],
    [3, 4, 0],
    [1, 1, 1],
    [1, 33, 7],
    [7, 1, 13],
    [5, 17, 31],
    [13, 67, 33],
    [3, 5, 257],
    [65, 63, 64],
    [17, 35, 1],
    [20, 33, 77],
    [29, 70, 258],
];

/// The operand, exchanged in memory where the operation reads it transposed.
fn operand(session: &mut Session, dtype: DType, batch: Option<i64>, [m, n]: [i64; 2], turned: bool) -> ValueId {
    let fill = if m * n % 2 == 0 { Fill::Tame } else { Fill::Special };
    let mut dims: Vec<i64> = batch.into_iter().collect();
    dims.extend(if turned { [n, m] } else { [m, n] });
    session.whole(dtype, &dims, fill)
}

fn products(session: &mut Session, dtype: DType, batch: Option<i64>, [m, n, k]: [i64; 3]) {
    let accumulator = dtype.accumulator();
    for (turn_a, turn_b) in [(false, false), (false, true), (true, false), (true, true)] {
        let a = operand(session, dtype, batch, [m, k], turn_a);
        let b = operand(session, dtype, batch, [k, n], turn_b);
        for kind in KINDS {
            let operands = match kind {
                OpKind::MatmulAcc => vec![operand(session, accumulator, batch, [m, n], false), a, b],
                OpKind::MatmulBias => vec![a, b, operand(session, accumulator, batch.map(|_| 1), [1, n], false)],
                _ => vec![a, b],
            };
            let value = session.b.matmul(*kind, &operands, turn_a, turn_b, loc());
            session.output(&format!("{} {turn_a} {turn_b}", kind.name()), value);
        }
    }
}

#[test]
fn products_of_matrices() {
    let mut failures = Failures::new();
    for dtype in OpKind::Matmul.info().dtypes.members() {
        for shape in SHAPES {
            let mut session = Session::new(Form::Whole, [shape[0], shape[1]]);
            products(&mut session, dtype, None, shape);
            failures.extend(check(&format!("{dtype} {shape:?}"), session));
        }
    }
    none(failures);
}

#[test]
fn products_of_batches() {
    let mut failures = Failures::new();
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::I8] {
        for (batch, shape) in [(0, [2, 3, 4]), (1, [3, 5, 7]), (3, [5, 17, 9]), (2, [17, 5, 33]), (2, [33, 35, 19])] {
            let mut session = Session::new(Form::Whole, [shape[0], shape[1]]);
            products(&mut session, dtype, Some(batch), shape);
            failures.extend(check(&format!("{dtype} {batch} x {shape:?}"), session));
        }
    }
    none(failures);
}

/// Tiles that reach over the ends of their tensors.
#[test]
fn products_of_partly_valid_tiles() {
    let mut failures = Failures::new();
    for dtype in OpKind::Matmul.info().dtypes.members() {
        for [m, n, k] in [[1, 1, 1], [3, 5, 7], [13, 33, 31], [29, 37, 63]] {
            let mut session = Session::new(Form::Whole, [m, n]);
            let zero = session.b.index(0, loc());
            let (a, b) = (session.tensor(dtype, &[m, k], Fill::Tame), session.tensor(dtype, &[k, n], Fill::Tame));
            let tiles = [(a, [m + 2, k + 3]), (b, [k + 3, n + 1])].map(|(tensor, dims)| {
                session.b.load(tensor, &[zero, zero], &dims.map(Extent::Const), None, loc()).expect("a load")
            });
            let value = session.b.matmul(OpKind::Matmul, &tiles, false, false, loc());
            session.output("matmul", value);
            failures.extend(check(&format!("{dtype} {:?}", [m, n, k]), session));
        }
    }
    none(failures);
}
