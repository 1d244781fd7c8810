//! Elements of rows by index: loops over single elements of tiles in memory.

use super::access::{Access, stored};
use super::block::BlockState;
use super::context::{Lowering, Tile};
use super::cost;
use super::movement::own_copy;
use super::order;
use super::trace::StepKind;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};
use crate::ir::{Extent, Op, TileType};
use crate::ops::OpKind;

/// Nanoseconds of an element that is moved by index.
const MOVE: f64 = 1.0;

/// Lowers an operation of class `Permute`; no group is open.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    l.trace.note(op.loc, StepKind::ByElement(op.kind));
    match op.kind {
        OpKind::Gather => gather(l, b, state, op),
        OpKind::Scatter => scatter(l, b, state, op),
        _ => order::argsort(l, b, state, op),
    }
}

/// Runs `body` for the indices of the leading dimensions.
pub(super) fn for_rows(b: &mut Builder<'_>, extents: &[Value], body: &mut dyn FnMut(&mut Builder<'_>, &[Value])) {
    fn nest(
        b: &mut Builder<'_>,
        extents: &[Value],
        rows: &mut Vec<Value>,
        body: &mut dyn FnMut(&mut Builder<'_>, &[Value]),
    ) {
        let Some(&end) = extents.get(rows.len()) else { return body(b, rows) };
        let zero = b.index(0);
        b.for_each(zero, end, 1, |b, index| {
            rows.push(index);
            nest(b, extents, rows, body);
            rows.pop();
        });
    }
    nest(b, extents, &mut Vec::new(), body);
}

/// An operand in memory that may be read in full, its dimensions of extent 1 repeated to `dims`.
pub(super) fn operand<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    state: &mut BlockState<'f>,
    op: &Op,
    (number, dims): (usize, &[Extent]),
) -> Option<Access> {
    let value = op.operands[number];
    let Some(access) = l.materialize(b, state, value) else {
        l.unsupported(op.loc, "a tile that is not known here");
        return None;
    };
    let ty = l.tile_type(value);
    let last = ty.rank().saturating_sub(1);
    let repeats = |axis: usize| axis < last && ty.dims[axis] == Extent::Const(1) && dims[axis] != ty.dims[axis];
    let repeated: Vec<bool> = (0..ty.rank()).map(repeats).collect();
    Some(access.repeat(b, &repeated))
}

/// Address of the first element of a row.
pub(super) fn row_of(b: &mut Builder<'_>, access: &Access, rows: &[Value]) -> Value {
    let mut at = b.index(0);
    for (&row, &stride) in rows.iter().zip(&access.strides) {
        let step = b.mul(row, stride);
        at = b.add(at, step);
    }
    b.addr(access.base, stored(access.dtype), at)
}

/// The element at a column of the row at `base`, in stored form.
pub(super) fn load(b: &mut Builder<'_>, access: &Access, base: Value, column: Value) -> Value {
    let at = b.mul(column, access.strides[access.strides.len() - 1]);
    b.load(Type::Scalar(stored(access.dtype)), base, at)
}

fn store(b: &mut Builder<'_>, value: Value, access: &Access, base: Value, column: Value) {
    let at = b.mul(column, access.strides[access.strides.len() - 1]);
    b.store(value, base, at);
}

/// The column that an element of the index tile names; one that does not lie below `limit` leaves the kernel.
fn named_column(b: &mut Builder<'_>, index: Value, limit: Value, site: u32) -> Value {
    let column = b.resize(index, Elem::I64, true);
    // One unsigned comparison: negative indices are huge.
    let inside = b.ucmp(Cmp::Lt, column, limit);
    let outside = b.not(inside);
    b.fail_if(outside, site);
    column
}

/// How many elements of a tile that repeats to the target's leading extents take part along a dimension.
fn counted(l: &mut Lowering<'_>, b: &mut Builder<'_>, ty: &TileType, whole: &TileType, axis: usize) -> Value {
    let valid = l.extent(b, ty.valid[axis]);
    if axis + 1 == whole.rank() || ty.dims[axis] == whole.dims[axis] {
        return valid;
    }
    let all = l.extent(b, whole.dims[axis]);
    b.mul(valid, all)
}

/// For every element of an index tile that names a column below the limit: where its row starts in two other tiles, its
/// own column, and the one that it names.
fn for_named(
    b: &mut Builder<'_>,
    counts: Vec<Value>,
    (index, limit, site): (&Access, Value, u32),
    others: [&Access; 2],
    each: &mut dyn FnMut(&mut Builder<'_>, [Value; 2], Value, Value),
) {
    let (rows, columns) = split_last(counts);
    for_rows(b, &rows, &mut |b, rows| {
        let (indices, bases) = (row_of(b, index, rows), others.map(|other| row_of(b, other, rows)));
        let zero = b.index(0);
        b.for_each(zero, columns, 1, |b, k| {
            let named = load(b, index, indices, k);
            let column = named_column(b, named, limit, site);
            each(b, bases, k, column);
        });
    });
}

pub(super) fn split_last(extents: Vec<Value>) -> (Vec<Value>, Value) {
    let mut rows = extents;
    // The type rule has checked that there is a dimension.
    let last = rows.pop().expect("tiles of this class have a dimension");
    (rows, last)
}

fn gather<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let (result, last) = (op.result(), l.tile_type(op.result()).rank() - 1);
    let ty = l.tile_type(result);
    let Some(x) = operand(l, b, state, op, (0, &ty.dims)) else { return };
    let Some(index) = operand(l, b, state, op, (1, &ty.dims)) else { return };
    let out = l.take_tile_slot(b, ty, op.loc);
    let limit = l.tile_type(op.operands[0]).valid[last];
    let limit = l.extent(b, limit);
    let site = l.site(op.loc, "an index is outside the row");
    let counts = l.extents(b, &ty.valid);
    for_named(b, counts, (&index, limit, site), [&x, &out], &mut |b, [from, to], k, column| {
        let value = load(b, &x, from, column);
        store(b, value, &out, to, k);
    });
    cost::add_elements(l, &cost::usual(ty), MOVE);
    l.define(state, result, Tile::Memory(out));
}

fn scatter<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let target = op.operands[0];
    let (whole, index_ty, source_ty) = (l.tile_type(target), l.tile_type(op.operands[1]), l.tile_type(op.operands[2]));
    let Some(index) = operand(l, b, state, op, (1, &whole.dims)) else { return };
    let Some(source) = operand(l, b, state, op, (2, &whole.dims)) else { return };
    let out = if op.operands[1..].contains(&target) {
        // What is read must not change meanwhile.
        let Some(tile) = l.tile(target).cloned() else { return };
        let access = l.take_tile_slot(b, whole, op.loc);
        l.copy(b, &tile, whole, &access);
        l.define(state, op.result(), Tile::Memory(access.clone()));
        access
    } else {
        let Some(access) = own_copy(l, b, state, target, op) else { return };
        access
    };
    let last = whole.rank() - 1;
    let limit = l.extent(b, whole.dims[last]);
    let site = l.site(op.loc, "an index is outside the row");
    let counts = (0..=last).map(|axis| {
        let [a, c] = [index_ty, source_ty].map(|ty| counted(l, b, ty, whole, axis));
        b.min(a, c)
    });
    let counts = counts.collect();
    for_named(b, counts, (&index, limit, site), [&source, &out], &mut |b, [from, to], k, column| {
        let value = load(b, &source, from, k);
        store(b, value, &out, to, column);
    });
    cost::add_elements(l, &cost::usual(index_ty), MOVE);
}
