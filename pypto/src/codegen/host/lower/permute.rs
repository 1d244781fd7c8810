//! Elements of rows by index, and the order of rows: loops over single elements of tiles in memory.

use super::access::{Access, from_stored, stored};
use super::block::BlockState;
use super::context::{Lowering, Tile};
use super::cost;
use super::movement::own_copy;
use super::sort;
use super::trace::StepKind;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};
use crate::ir::{DType, Extent, Op, TileType};
use crate::ops::OpKind;

/// Nanoseconds of an element that is moved by index.
const MOVE: f64 = 1.0;
/// Nanoseconds of an element in one pass of the merge sort, and in one step of the network.
const MERGE: f64 = 4.0;
const STEP: f64 = 0.12;

/// Lowers an operation of class `Permute`; no group is open.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    l.trace.note(op.loc, StepKind::ByElement(op.kind));
    match op.kind {
        OpKind::Gather => gather(l, b, state, op),
        OpKind::Scatter => scatter(l, b, state, op),
        _ => argsort(l, b, state, op),
    }
}

/// Runs `body` for the indices of the leading dimensions.
fn for_rows(b: &mut Builder<'_>, extents: &[Value], body: &mut dyn FnMut(&mut Builder<'_>, &[Value])) {
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
fn operand<'f>(
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
fn row_of(b: &mut Builder<'_>, access: &Access, rows: &[Value]) -> Value {
    let mut at = b.index(0);
    for (&row, &stride) in rows.iter().zip(&access.strides) {
        let step = b.mul(row, stride);
        at = b.add(at, step);
    }
    b.addr(access.base, stored(access.dtype), at)
}

/// The element at a column of the row at `base`, in stored form.
fn load(b: &mut Builder<'_>, access: &Access, base: Value, column: Value) -> Value {
    let at = b.mul(column, access.strides[access.strides.len() - 1]);
    b.load(Type::Scalar(stored(access.dtype)), base, at)
}

fn store(b: &mut Builder<'_>, value: Value, access: &Access, base: Value, column: Value) {
    let at = b.mul(column, access.strides[access.strides.len() - 1]);
    b.store(value, base, at);
}

/// The column that an element of the index tile names, and whether it lies below `limit`, which is reported.
fn named_column(b: &mut Builder<'_>, index: Value, limit: Value, site: u32) -> (Value, Value) {
    let column = b.resize(index, Elem::I64, true);
    // One unsigned comparison: negative indices are huge.
    let inside = b.ucmp(Cmp::Lt, column, limit);
    let outside = b.not(inside);
    b.fail_if(outside, site);
    (column, inside)
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
            let (column, inside) = named_column(b, named, limit, site);
            b.if_then(inside, |b| each(b, bases, k, column));
        });
    });
}

fn split_last(extents: Vec<Value>) -> (Vec<Value>, Value) {
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
    cost::add_elements(l, &ty.valid, MOVE);
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
    cost::add_elements(l, &index_ty.valid, MOVE);
}

/// Sorts rows by a network of vectors.
fn sort_rows(l: &mut Lowering<'_>, b: &mut Builder<'_>, x: &Access, out: &Access, ty: &TileType, width: i64) {
    let vectors = sort::vectors(b, width);
    let pairs = vectors.saturating_mul(b.lanes() as i64);
    let [keys, indices] = [0, 1].map(|_| l.take_slot(b, DType::I32, &[pairs]));
    let (rows, length) = split_last(l.extents(b, &ty.valid));
    let network = sort::Network { keys: keys.base, indices: indices.base, vectors };
    for_rows(b, &rows, &mut |b, rows| {
        let (row, order) = (row_of(b, x, rows), row_of(b, out, rows));
        network.emit(b, x, row, length, order);
    });
    let steps = f64::from(pairs.ilog2() * (pairs.ilog2() + 1) / 2);
    cost::add_elements(l, &ty.valid, STEP * steps);
    l.release(&keys);
    l.release(&indices);
}

/// Sorts rows of keys that have no short form: a merge sort of indices, from runs of one element upwards; it is stable.
fn argsort<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let (result, ty) = (op.result(), l.tile_type(op.operands[0]));
    let Some(x) = operand(l, b, state, op, (0, &ty.dims)) else { return };
    let Some(width) = ty.dims.last().and_then(|d| d.constant()) else {
        return l.unsupported(op.loc, "rows whose extent is known only at run time, to be sorted");
    };
    let out = l.take_tile_slot(b, l.tile_type(result), op.loc);
    if sort::has_keys(ty.dtype) {
        sort_rows(l, b, &x, &out, ty, width);
        return l.define(state, result, Tile::Memory(out));
    }
    let merged = l.take_slot(b, DType::I32, &[width]);
    let (rows, length) = split_last(l.extents(b, &ty.valid));
    for_rows(b, &rows, &mut |b, rows| {
        let (keys, order) = (row_of(b, &x, rows), row_of(b, &out, rows));
        let zero = b.index(0);
        b.for_each(zero, length, 1, |b, n| {
            let index = b.resize(n, Elem::I32, true);
            b.store(index, order, n);
        });
        let mut run = 1;
        while run < width {
            b.for_each(zero, length, 2 * run, |b, start| {
                let merge = Merge { keys: &x, row: keys, order, start, run, length };
                merge.emit(b, merged.base);
            });
            b.for_each(zero, length, 1, |b, n| {
                let index = b.load(Type::Scalar(Elem::I32), merged.base, n);
                b.store(index, order, n);
            });
            run *= 2;
        }
    });
    let passes = f64::from(64 - (width.max(1) - 1).leading_zeros());
    cost::add_elements(l, &ty.valid, MERGE * (passes + 1.0));
    l.release(&merged);
    l.define(state, result, Tile::Memory(out));
}

/// Two neighbouring runs of a row's order that become one.
struct Merge<'a> {
    keys: &'a Access,
    /// Address of the row of keys.
    row: Value,
    /// Address of the row of indices.
    order: Value,
    start: Value,
    /// Elements of a run.
    run: i64,
    length: Value,
}

impl Merge<'_> {
    fn emit(&self, b: &mut Builder<'_>, merged: Value) {
        let (run, one) = (b.index(self.run), b.index(1));
        let middle = b.add(self.start, run);
        let end = b.add(middle, run);
        let (middle, end) = (b.min(middle, self.length), b.min(end, self.length));
        // The left position is carried; the right one follows from it and from how many are merged.
        b.for_loop(self.start, end, one, &[self.start], |b, k, carried| {
            let left = carried[0];
            let taken = b.sub(k, left);
            let right = b.add(middle, taken);
            let (has_left, has_right) = (b.cmp(Cmp::Lt, left, middle), b.cmp(Cmp::Lt, right, end));
            let (a, c) = (self.index(b, left, has_left), self.index(b, right, has_right));
            let (key_a, key_c) = (self.key(b, a), self.key(b, c));
            let overtakes = comes_first(b, self.keys.dtype, key_c, key_a);
            let overtakes = b.and(overtakes, has_right);
            let stays = b.not(overtakes);
            let takes_left = b.and(has_left, stays);
            let chosen = b.select(takes_left, a, c);
            b.store(chosen, merged, k);
            let next = b.add(left, one);
            vec![b.select(takes_left, next, left)]
        });
    }

    /// The index at a position of the order; where there is none, any.
    fn index(&self, b: &mut Builder<'_>, position: Value, exists: Value) -> Value {
        let position = b.select(exists, position, self.start);
        b.load(Type::Scalar(Elem::I32), self.order, position)
    }

    fn key(&self, b: &mut Builder<'_>, index: Value) -> Value {
        let column = b.resize(index, Elem::I64, true);
        let value = load(b, self.keys, self.row, column);
        from_stored(b, value, self.keys.dtype)
    }
}

/// Whether `c` stands before `a` in falling order though it comes later.
fn comes_first(b: &mut Builder<'_>, dtype: DType, c: Value, a: Value) -> Value {
    match dtype {
        DType::Bool => {
            let not_a = b.not(a);
            b.and(c, not_a)
        }
        _ if dtype.is_unsigned_integer() => b.ucmp(Cmp::Gt, c, a),
        _ if dtype.is_float() => {
            let (larger, c_nan, a_nan) = (b.cmp(Cmp::Gt, c, a), b.is_nan(c), b.is_nan(a));
            let number = b.not(a_nan);
            let first = b.and(c_nan, number);
            b.or(larger, first)
        }
        _ => b.cmp(Cmp::Gt, c, a),
    }
}
