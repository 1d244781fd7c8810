//! The order of rows.
//!
//! Rows with keys of 32 bits ([`keys`]) are sorted by a network of vectors ([`network`]): all of it ([`whole`]), or only as many as are
//! used ([`select`]). Others are merged element by element ([`merge`]). Whatever is done, equal elements keep their order.

mod keys;
mod merge;
mod network;
mod select;
mod whole;

use super::access::Access;
use super::block::BlockState;
use super::context::{Lowering, Tile};
use super::cost;
use super::permute::{for_rows, operand, row_of, split_last};
use crate::codegen::host::lir::Builder;
use crate::ir::{AttrKey, DType, Extent, Op, TileType, ValueId};
use crate::ops::OpKind;
use select::Selection;
use whole::Sorting;

/// Nanoseconds of an element in one pass of the merge sort, in one step of the network, and in a selection.
const MERGE: f64 = 4.0;
const STEP: f64 = 0.06;
const SELECT: f64 = 0.7;

/// Lowers `row_argsort`; no group is open.
pub(super) fn argsort<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let (result, ty) = (op.result(), l.tile_type(op.operands[0]));
    let Some(x) = operand(l, b, state, op, (0, &ty.dims)) else { return };
    let Some(width) = ty.dims.last().and_then(|d| d.constant()) else {
        return l.unsupported(op.loc, "rows whose extent is known only at run time, to be sorted");
    };
    if !keys::exist(ty.dtype) || width >= 1 << keys::INDEX_BITS {
        let out = l.take_tile_slot(b, l.tile_type(result), op.loc);
        merge_rows(l, b, &x, &out, ty, width);
        return l.define(state, result, Tile::Memory(out));
    }
    let wanted = wanted(l, b, state, result).filter(|&count| select::pays(count, width));
    let out = match wanted {
        Some(count) => {
            // Nothing but slices of the first columns sees the result, so that there need be no others.
            let mut kept = l.tile_type(result).clone();
            kept.dims.pop();
            kept.dims.push(Extent::Const(count));
            let out = l.take_tile_slot(b, &kept, op.loc);
            select_rows(l, b, &x, &out, ty, (count, width));
            out
        }
        None => {
            let out = l.take_tile_slot(b, l.tile_type(result), op.loc);
            sort_rows(l, b, &x, &out, ty, width);
            out
        }
    };
    l.define(state, result, Tile::Memory(out));
}

/// How many of the first columns of a value are used, where it is only ever cut to its first ones.
fn wanted<'f>(l: &Lowering<'f>, b: &Builder<'_>, state: &BlockState<'f>, value: ValueId) -> Option<i64> {
    let mut most = None;
    for &position in l.uses.positions(value) {
        let user = state.block.ops.get(position).filter(|op| op.kind == OpKind::Slice && op.operands[0] == value)?;
        let starts_at_first = user.operands.last().is_some_and(|&offset| is_zero(l, b, state, offset));
        let count = l.tile_type(user.result()).dims.last()?.constant().filter(|_| starts_at_first)?;
        most = most.max(Some(count));
    }
    most.filter(|&count| count > 0)
}

/// Whether a scalar, which may be defined after the operation that is being lowered, is the constant 0.
fn is_zero<'f>(l: &Lowering<'f>, b: &Builder<'_>, state: &BlockState<'f>, value: ValueId) -> bool {
    match l.bound(value) {
        Some(super::context::Bound::Scalar(lir)) => b.as_const(*lir) == Some(0),
        _ => state.block.ops.iter().any(|op| {
            op.kind == OpKind::Constant && op.results.contains(&value) && op.attrs.int(AttrKey::Value) == Some(0)
        }),
    }
}

/// Selects the first columns of the order of rows.
fn select_rows(
    l: &mut Lowering<'_>,
    b: &mut Builder<'_>,
    x: &Access,
    out: &Access,
    ty: &TileType,
    (count, width): (i64, i64),
) {
    let (padded, places) = (select::padded(b, width), select::places(count) + b.lanes() as i64);
    let keys = l.take_slot(b, DType::I32, &[padded]);
    let [pairs, best] = [places, count].map(|n| l.take_slot(b, DType::I64, &[n]));
    let selection = Selection { keys: keys.base, pairs: pairs.base, best: best.base, count };
    let (rows, length) = split_last(l.extents(b, &ty.valid));
    for_rows(b, &rows, &mut |b, rows| {
        let (row, order) = (row_of(b, x, rows), row_of(b, out, rows));
        selection.emit(b, x, row, length, order);
    });
    cost::add_elements(l, &cost::usual(ty), SELECT);
    [keys, pairs, best].iter().for_each(|slot| l.release(slot));
}

/// Sorts rows by a network of vectors.
fn sort_rows(l: &mut Lowering<'_>, b: &mut Builder<'_>, x: &Access, out: &Access, ty: &TileType, width: i64) {
    let vectors = whole::vectors(b, width);
    let count = vectors.saturating_mul(b.lanes() as i64);
    let pairs = l.take_slot(b, DType::I64, &[count]);
    let sorting = Sorting { pairs: pairs.base, vectors };
    let (rows, length) = split_last(l.extents(b, &ty.valid));
    for_rows(b, &rows, &mut |b, rows| {
        let (row, order) = (row_of(b, x, rows), row_of(b, out, rows));
        sorting.emit(b, x, row, length, order);
    });
    let steps = f64::from(count.ilog2() * (count.ilog2() + 1) / 2);
    cost::add_elements(l, &cost::usual(ty), STEP * steps);
    l.release(&pairs);
}

/// Sorts rows whose elements have no short keys.
fn merge_rows(l: &mut Lowering<'_>, b: &mut Builder<'_>, x: &Access, out: &Access, ty: &TileType, width: i64) {
    let merged = l.take_slot(b, DType::I32, &[width]);
    let (rows, length) = split_last(l.extents(b, &ty.valid));
    for_rows(b, &rows, &mut |b, rows| {
        let (row, order) = (row_of(b, x, rows), row_of(b, out, rows));
        merge::sort(b, x, [row, order, merged.base], length, width);
    });
    let passes = f64::from(64 - (width.max(1) - 1).leading_zeros());
    cost::add_elements(l, &cost::usual(ty), MERGE * (passes + 1.0));
    l.release(&merged);
}
