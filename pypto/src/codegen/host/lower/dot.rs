//! Matrix products. The order of additions is fixed: per element blocks of 256 along K, in each a chain of fused multiply-adds from 0 with k
//! ascending, and the blocks added up in order, onto the accumulator or bias where there is one.

use super::access::{Access, Cursor, Row, computing, from_stored, stored};
use super::block::BlockState;
use super::columns::column_loop;
use super::context::{Lowering, Tile};
use super::cost;
use super::movement::own_copy;
use crate::codegen::host::lir::{Builder, Elem, Type, Value};
use crate::ir::{AttrKey, DType, Extent, Op, TileType, ValueId};
use crate::ops::OpKind;

/// Length of the blocks along K.
pub(super) const K_BLOCK: i64 = 256;

/// An operand in memory, as a matrix: strides along its rows and columns after transposition.
#[derive(Clone, Debug)]
struct Operand {
    dtype: DType,
    base: Value,
    batch_stride: Value,
    row_stride: Value,
    column_stride: Value,
}

/// Lowers a product; no group is open.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let (left, right) = if op.kind == OpKind::MatmulAcc { (1, 2) } else { (0, 1) };
    let (a, c) = (op.operands[left], op.operands[right]);
    let (ta, tb) = (l.tile_type(a), l.tile_type(c));
    let (transposed_a, transposed_b) = (op.attrs.flag(AttrKey::TransposeA), op.attrs.flag(AttrKey::TransposeB));
    let rank = ta.rank();
    let inner = (
        ta.valid[if transposed_a { rank - 2 } else { rank - 1 }],
        tb.valid[if transposed_b { rank - 1 } else { rank - 2 }],
    );
    let (ka, kb) = (l.extent(b, inner.0), l.extent(b, inner.1));
    let k = b.min(ka, kb);
    let (Some(x), Some(y)) = (operand(l, b, state, a, transposed_a), operand(l, b, state, c, transposed_b)) else {
        return l.unsupported(op.loc, "a matrix that is not known here");
    };
    let Some(out) = result(l, b, state, op) else {
        return l.unsupported(op.loc, "an accumulator that is not known here");
    };
    let ty = l.tile_type(op.result());
    cost::add_dot(l, &[&ty.valid[..], &[inner.0]].concat());
    let valid = l.extents(b, &ty.valid);
    let accumulates = op.kind != OpKind::Matmul;
    simple(b, &Product { x, y, out, dtype: ty.dtype, valid, k, accumulates });
}

/// The operand as a matrix in memory.
fn operand<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    state: &mut BlockState<'f>,
    value: ValueId,
    transposed: bool,
) -> Option<Operand> {
    let access = match l.tile(value)?.clone() {
        Tile::Memory(access) => access,
        _ => l.materialize(b, state, value)?,
    };
    let rank = access.strides.len();
    let (mut row, mut column) = (access.strides[rank - 2], access.strides[rank - 1]);
    if transposed {
        std::mem::swap(&mut row, &mut column);
    }
    let batch = if rank == 3 { access.strides[0] } else { b.index(0) };
    Some(Operand {
        dtype: access.dtype,
        base: access.base,
        batch_stride: batch,
        row_stride: row,
        column_stride: column,
    })
}

/// The slot of the result: holding the accumulator, or the bias in every row, where the product adds to one.
fn result<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) -> Option<Access> {
    let ty = l.tile_type(op.result());
    match op.kind {
        OpKind::MatmulAcc => own_copy(l, b, state, op.operands[0], op),
        OpKind::MatmulBias => {
            let out = l.take_tile_slot(b, ty, op.loc);
            let (bias, mut from) = (l.tile(op.operands[2])?.clone(), l.tile_type(op.operands[2]).clone());
            let tile = with_rank(b, bias, &mut from, ty.rank());
            l.copy_repeated(b, &tile, &from, ty, &out);
            l.define(state, op.result(), Tile::Memory(out.clone()));
            Some(out)
        }
        _ => {
            let out = l.take_tile_slot(b, ty, op.loc);
            l.define(state, op.result(), Tile::Memory(out.clone()));
            Some(out)
        }
    }
}

/// The tile with leading dimensions of extent 1 added.
fn with_rank(b: &mut Builder<'_>, tile: Tile, ty: &mut TileType, rank: usize) -> Tile {
    let missing = rank - ty.rank();
    for _ in 0..missing {
        ty.dims.insert(0, Extent::Const(1));
        ty.valid.insert(0, Extent::Const(1));
    }
    match tile {
        Tile::Memory(mut access) => {
            for _ in 0..missing {
                access.strides.insert(0, b.index(0));
                access.limits.insert(0, None);
            }
            Tile::Memory(access)
        }
        Tile::Iota { axis, start } => Tile::Iota { axis: axis + missing, start },
        other => other,
    }
}

/// A product whose operands and result lie in memory.
struct Product {
    x: Operand,
    y: Operand,
    out: Access,
    dtype: DType,
    valid: Vec<Value>,
    k: Value,
    accumulates: bool,
}

/// The straightforward form: a row of the result at a time, a vector of columns at a time. For every element type and layout.
fn simple(b: &mut Builder<'_>, p: &Product) {
    let n = p.valid.len();
    let (zero, one) = (b.index(0), b.index(1));
    let batches = if n == 3 { p.valid[0] } else { one };
    b.for_each(zero, batches, 1, |b, batch| {
        let x = matrix(b, &p.x, batch);
        let y = matrix(b, &p.y, batch);
        b.for_each(zero, p.valid[n - 2], 1, |b, i| {
            let mut rows = vec![Row { index: i, end: p.valid[n - 2] }];
            if n == 3 {
                rows.insert(0, Row { index: batch, end: batches });
            }
            p.out.row_address(b, &rows);
            let offset = b.mul(i, p.x.row_stride);
            let left = b.addr(x, stored(p.x.dtype), offset);
            column_loop(b, p.valid[n - 1], u32::MAX, &[], &mut |b, column, mask, _| {
                let at = Cursor { rows: &rows, column, columns: p.valid[n - 1], mask };
                let value = dot_lanes(b, p, left, y, &at);
                p.out.store(b, value, &at);
                Vec::new()
            });
        });
    });
}

fn matrix(b: &mut Builder<'_>, operand: &Operand, batch: Value) -> Value {
    let offset = b.mul(batch, operand.batch_stride);
    b.addr(operand.base, stored(operand.dtype), offset)
}

/// The sum over k for the lanes of a cursor.
fn dot_lanes(b: &mut Builder<'_>, p: &Product, left: Value, right: Value, at: &Cursor<'_>) -> Value {
    let (zero, block) = (b.index(0), b.index(K_BLOCK));
    let (first_end, total) = (b.min(p.k, block), p.k);
    let (start, begin) =
        if p.accumulates { (p.out.load(b, at), zero) } else { (chain(b, p, left, right, at, zero, first_end), block) };
    b.for_loop(begin, total, block, &[start], |b, k, carried| {
        let end = b.add(k, block);
        let end = b.min(end, total);
        let part = chain(b, p, left, right, at, k, end);
        vec![b.add(carried[0], part)]
    })[0]
}

/// One block: a chain of multiply-adds from 0.
fn chain(
    b: &mut Builder<'_>,
    p: &Product,
    left: Value,
    right: Value,
    at: &Cursor<'_>,
    begin: Value,
    end: Value,
) -> Value {
    let (elem, one) = (computing(p.dtype), b.index(1));
    let start = b.constant(Type::Vector(elem), 0);
    b.for_loop(begin, end, one, &[start], |b, k, carried| {
        let offset = b.mul(k, p.x.column_stride);
        let x = b.load(Type::Scalar(stored(p.x.dtype)), left, offset);
        let x = factor(b, x, p.x.dtype);
        let row = b.mul(k, p.y.row_stride);
        let row = b.addr(right, stored(p.y.dtype), row);
        let y = load_lanes(b, row, at, &p.y);
        let y = factor(b, y, p.y.dtype);
        vec![if elem == Elem::F32 {
            b.fma(x, y, carried[0])
        } else {
            let product = b.mul(x, y);
            b.add(carried[0], product)
        }]
    })[0]
}

fn load_lanes(b: &mut Builder<'_>, row: Value, at: &Cursor<'_>, operand: &Operand) -> Value {
    let elem = stored(operand.dtype);
    if b.as_const(operand.column_stride) == Some(1) {
        return b.load_vec(elem, row, at.column, None, at.mask);
    }
    let index = b.mul(at.column, operand.column_stride);
    b.load_vec(elem, row, index, Some(operand.column_stride), at.mask)
}

/// A factor in the type of the accumulator.
fn factor(b: &mut Builder<'_>, value: Value, dtype: DType) -> Value {
    let value = from_stored(b, value, dtype);
    if dtype.is_float() { value } else { b.resize(value, Elem::I32, dtype.is_signed_integer()) }
}

impl<'f> Lowering<'f> {
    /// Copies a tile to a region of type `to`, repeating extents of 1.
    fn copy_repeated(&mut self, b: &mut Builder<'_>, tile: &Tile, from: &TileType, to: &TileType, out: &Access) {
        let mut graph = super::build::GraphBuilder::new(self, to.dims.clone());
        let node = graph.source(b, tile, from);
        graph.write(node, to, out.clone());
        let (last, rows) = to.valid.split_last().map_or((Extent::Const(1), &[][..]), |(last, rows)| (*last, rows));
        graph.emit(b, rows, last);
    }
}
