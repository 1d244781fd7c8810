//! Loads and stores at offsets, and of rows by index.

use pypto::ir::{DType, Extent};
use pypto::ops::OpKind;

use super::compare::{Failures, check, none};
use super::data::Fill;
use super::session::{Form, Session, loc};

/// The operations that this file tests.
pub const KINDS: &[OpKind] = &[OpKind::Load, OpKind::Store, OpKind::GatherRows, OpKind::ScatterRows];

/// From every offset to every other, over the edge.
#[test]
fn loads_and_stores_at_offsets() {
    let mut failures = Failures::new();
    for dtype in DType::ALL {
        for extents in [[1, 1], [5, 7], [13, 33]] {
            let mut session = Session::new(Form::Whole, extents);
            let x = session.tensor(dtype, &extents, Fill::Special);
            for (number, [i, j]) in [[0, 0], [1, 1], [extents[0] - 1, extents[1] - 1], extents].into_iter().enumerate()
            {
                let (row, column) = (session.b.index(i, loc()), session.b.index(j, loc()));
                let tile = session.b.load(x, &[row, column], &[Extent::Const(4), Extent::Const(8)], None, loc());
                let tile = tile.expect("a load");
                let start = session.b.index(0, loc());
                for (place, offsets) in [("the start", [start, start]), ("the same place", [row, column])] {
                    let out = session.output_tensor(&format!("{number} to {place}"), dtype, &extents);
                    session.b.store(tile, out, &offsets, None, loc()).expect("a store");
                }
            }
            failures.extend(check(&format!("{dtype} {extents:?}"), session));
        }
    }
    none(failures);
}

#[test]
fn rows_by_index() {
    let mut failures = Failures::new();
    for dtype in DType::ALL {
        for index_type in [DType::I32, DType::I64] {
            for (extents, count) in [([1, 1], 1), ([5, 7], 9), ([13, 33], 4), ([4, 0], 3), ([6, 64], 0)] {
                let mut session = Session::new(Form::Whole, extents);
                let x = session.tensor(dtype, &extents, Fill::Special);
                let index = session.whole(index_type, &[count, 1], Fill::Index(extents[0]));
                let rows = session.b.emit(
                    OpKind::GatherRows,
                    &[x, index],
                    Default::default(),
                    &pypto::ops::rules::Request::none(),
                    loc(),
                );
                session.output("gather_rows", rows);
                let tile = session.whole(dtype, &[count, extents[1]], Fill::Special);
                let out = session.output_tensor("scatter_rows", dtype, &extents);
                let scattered =
                    session.b.emit_effect(OpKind::ScatterRows, &[tile, out, index], Default::default(), loc());
                scattered.expect("a scatter");
                failures.extend(check(&format!("{dtype} by {index_type} {extents:?} {count}"), session));
            }
        }
    }
    none(failures);
}
