//! Matrix products: operands are read where they lie, as pointers and strides; the result goes to a slot, onto the accumulator's own slot
//! where that is free to change. The loops and the order of additions are those of [`crate::codegen::host::gemm`].

use super::access::{Access, Memory, stored};
use super::block::BlockState;
use super::context::{Lowering, Tile};
use super::cost;
use super::movement::own_copy;
use super::trace::StepKind;
use crate::codegen::host::gemm::panels::{self, PanelParameter, Panels};
use crate::codegen::host::gemm::{self, Gemm, Init};
use crate::codegen::host::lir::{Builder, Value};
use crate::ir::{AttrKey, DType, Extent, Op, ValueId};
use crate::ops::OpKind;

/// An operand in memory as a matrix, after transposition.
struct Matrix {
    operand: gemm::Operand,
    batch_stride: Value,
    part: Option<Part>,
    /// Whether it has memory for all rows and columns of its tile, valid or not.
    padded: bool,
}

/// What a matrix is a part of, where that is a parameter of the kernel.
struct Part {
    parameter: usize,
    /// Whether the matrix is the part transposed.
    transposed: bool,
    /// Steps of the inner dimension of the whole tensor, if this is a right factor.
    depth: Value,
    /// Row and column of the matrix's first element in the tensor, transposed with it.
    first: [Value; 2],
}

/// Where a product goes.
pub(super) struct Place {
    pub out: Access,
    pub init: Init,
    /// Whether both have memory for all rows and columns of the tile, valid or not.
    pub padded: bool,
}

impl Place {
    fn of(out: Access, init: Init) -> Place {
        let padded = out.whole_slot().is_some() && !matches!(init, Init::Bias(_));
        Place { out, init, padded }
    }
}

/// Extents of a product.
struct Extents {
    batches: Value,
    m: Value,
    n: Value,
    k: Value,
    /// The largest that the last three can be, where that is known.
    most: [Option<i64>; 3],
}

/// Lowers a product; no group is open.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    lower_to(l, b, state, op, None);
}

/// The same, where the slot of the result and what the product is added to may be known.
pub(super) fn lower_to<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    state: &mut BlockState<'f>,
    op: &'f Op,
    place: Option<Place>,
) {
    let (left, right) = if op.kind == OpKind::MatmulAcc { (1, 2) } else { (0, 1) };
    let (x, y) = (op.operands[left], op.operands[right]);
    let (turn_x, turn_y) = (op.attrs.flag(AttrKey::TransposeA), op.attrs.flag(AttrKey::TransposeB));
    let (of_x, of_y) = (l.tile_type(x), l.tile_type(y));
    let (inner_x, inner_y) = (last_but(&of_x.valid, !turn_x), last_but(&of_y.valid, turn_y));
    let [most_x, most_y] = [last_but(&of_x.dims, !turn_x), last_but(&of_y.dims, turn_y)].map(Extent::constant);
    let most = most_x.zip(most_y).map(|(x, y)| x.min(y));
    let extents = extents(l, b, op, [inner_x, inner_y], most);
    let (Some(x), Some(y)) = (matrix(l, b, state, x, turn_x), matrix(l, b, state, y, turn_y)) else {
        return l.unsupported(op.loc, "a matrix that is not known here");
    };
    let Some(place) = place.or_else(|| result(l, b, state, op)) else {
        return l.unsupported(op.loc, "an accumulator that is not known here");
    };
    l.trace.note(op.loc, StepKind::Product);
    cost::add_dot(l, &[&l.tile_type(op.result()).valid[..], &[inner_x]].concat());
    let scratch = take_scratch(l, b, op, inner_x);
    let zero = b.index(0);
    if place.out.strides.len() == 2 {
        emit(l, b, zero, &extents, &x, &y, &place, scratch.base);
    } else {
        b.for_each(zero, extents.batches, 1, |b, batch| emit(l, b, batch, &extents, &x, &y, &place, scratch.base));
    }
    l.release(&scratch);
}

/// The last extent, or the one before it.
fn last_but(extents: &[Extent], last: bool) -> Extent {
    extents[extents.len() - if last { 1 } else { 2 }]
}

/// `inner` are the inner valid extents of both factors, `most` is the largest that they can be.
fn extents(l: &mut Lowering<'_>, b: &mut Builder<'_>, op: &Op, inner: [Extent; 2], most: Option<i64>) -> Extents {
    let valid = l.extents(b, &l.tile_type(op.result()).valid);
    let [kx, ky] = inner.map(|extent| l.extent(b, extent));
    let rank = valid.len();
    let batches = if rank == 3 { valid[0] } else { b.index(1) };
    let dims = &l.tile_type(op.result()).dims;
    let most = [dims[rank - 2].constant(), dims[rank - 1].constant(), most];
    Extents { batches, m: valid[rank - 2], n: valid[rank - 1], k: b.min(kx, ky), most }
}

/// Packed operands of the product.
fn take_scratch(l: &mut Lowering<'_>, b: &mut Builder<'_>, op: &Op, inner: Extent) -> Access {
    let bound = |e: Option<Extent>| e.and_then(Extent::constant).map(|n| n.max(0) as usize);
    // The factors of a turned product are exchanged, so its rows count as its columns do.
    let dims = &l.tile_type(op.result()).dims;
    let columns = bound(dims.last().copied());
    let rows = bound(dims.iter().rev().nth(1).copied());
    let columns = if l.turned.contains(&op.result()) { columns.zip(rows).map(|(c, r)| c.max(r)) } else { columns };
    let bytes = gemm::scratch_bytes(b.target(), columns, bound(Some(inner)));
    l.take_slot(b, DType::I8, &[bytes as i64])
}

fn emit(
    l: &mut Lowering<'_>,
    b: &mut Builder<'_>,
    batch: Value,
    extents: &Extents,
    x: &Matrix,
    y: &Matrix,
    place: &Place,
    scratch: Value,
) {
    let Place { out, init, padded } = place;
    let rank = out.strides.len();
    let offset = if rank == 3 { b.mul(batch, out.strides[0]) } else { b.index(0) };
    let c = b.addr(out.base, stored(out.dtype), offset);
    let product = Gemm {
        m: extents.m,
        n: extents.n,
        k: extents.k,
        most: extents.most,
        padded: *padded && y.padded,
        a: in_batch(b, x, batch),
        b: in_batch(b, y, batch),
        panels: None,
        c,
        c_stride: out.strides[rank - 2],
        init: *init,
        scratch,
    };
    let turned = b.as_const(out.strides[rank - 1]) != Some(1);
    let product = if turned {
        Gemm { c_stride: out.strides[rank - 1], padded: *padded && x.padded, ..product.turned() }
    } else {
        Gemm { panels: panels(l, b, &product, y), ..product }
    };
    gemm::emit(b, &product);
}

/// The right factor in panels, where it is a part of a parameter and would be packed: one more word of the kernel.
fn panels(l: &mut Lowering<'_>, b: &mut Builder<'_>, product: &Gemm, y: &Matrix) -> Option<Panels> {
    let part = y.part.as_ref().filter(|_| panels::fits(b, product))?;
    let width = b.target().nr();
    let word = l.panel_word(PanelParameter { parameter: part.parameter, width, transposed: part.transposed });
    Some(Panels { address: b.arg_i64(word), ptr: b.arg_ptr(word), depth: part.depth, first: part.first })
}

/// The parameter that the access is a part of, if nothing writes it.
fn part(l: &Lowering<'_>, access: &Access, transposed: bool) -> Option<Part> {
    let Memory::Tensor { root, region, .. } = &access.memory else { return None };
    let parameter = l.function.params.iter().position(|param| param.value == *root)?;
    let tensor = l.tensor(*root)?;
    let &[base, row, column] = &region[..] else { return None };
    let is_whole = base == tensor.base && access.strides == tensor.strides && !l.uses.is_written(*root);
    let (depth, first) = if transposed { (tensor.dims[1], [column, row]) } else { (tensor.dims[0], [row, column]) };
    is_whole.then_some(Part { parameter, transposed, depth, first })
}

fn in_batch(b: &mut Builder<'_>, matrix: &Matrix, batch: Value) -> gemm::Operand {
    let offset = b.mul(batch, matrix.batch_stride);
    gemm::Operand { ptr: b.addr(matrix.operand.ptr, matrix.operand.elem, offset), ..matrix.operand }
}

/// The operand as a matrix in memory.
fn matrix<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    state: &mut BlockState<'f>,
    value: ValueId,
    transposed: bool,
) -> Option<Matrix> {
    let access = match l.tile(value)?.clone() {
        Tile::Memory(access) => access,
        _ => l.materialize(b, state, value)?,
    };
    let rank = access.strides.len();
    let (mut row_stride, mut col_stride) = (access.strides[rank - 2], access.strides[rank - 1]);
    if transposed {
        std::mem::swap(&mut row_stride, &mut col_stride);
    }
    let (part, padded) = (part(l, &access, transposed), access.whole_slot().is_some());
    let operand = gemm::Operand {
        ptr: access.base,
        elem: stored(access.dtype),
        signed: access.dtype.is_signed_integer(),
        row_stride,
        col_stride,
        far: access.memory.is_far(),
    };
    Some(Matrix { operand, batch_stride: if rank == 3 { access.strides[0] } else { b.index(0) }, part, padded })
}

/// The slot of the result, and what the product is added to.
fn result<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) -> Option<Place> {
    let init = match op.kind {
        OpKind::MatmulAcc => {
            return own_copy(l, b, state, op.operands[0], op).map(|out| Place::of(out, Init::Accumulate));
        }
        OpKind::MatmulBias => Init::Bias(row(l, b, state, op.operands[2])?),
        _ => Init::Zero,
    };
    if let Some(out) = destination(l, b, state, op) {
        return Some(Place::of(out, init));
    }
    let out = l.take_slot_for(b, op.result(), op.loc);
    l.define(state, op.result(), Tile::Memory(out.clone()));
    Some(Place::of(out, init))
}

/// The part of a tensor that the product is only made for: it is written there at once, and the store that would do so is skipped. Nothing
/// between the two may see the tensor.
fn destination<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    state: &mut BlockState<'f>,
    op: &'f Op,
) -> Option<Access> {
    let &[position] = l.uses.positions(op.result()) else { return None };
    let store = state.block.ops.get(position).filter(|store| store.kind == OpKind::Store)?;
    let (root, offsets) = (l.uses.root(store.operands[1]), &store.operands[2..]);
    let untouched = state.block.ops[state.position + 1..position].iter().all(|between| {
        between.kind == OpKind::Constant || (between.kind.is_elementwise() && !l.is_tile(between.result()))
    });
    let reads = |value: &ValueId| match l.tile(*value) {
        Some(Tile::Memory(Access { memory: Memory::Tensor { root: read, .. }, .. })) => *read == root,
        _ => false,
    };
    if !untouched
        || l.is_read_later(state, root)
        || op.operands.iter().any(reads)
        || offsets.iter().any(|&o| l.bound(o).is_none())
    {
        return None;
    }
    let ty = l.tile_type(op.result());
    let access = l.tensor_access(b, store.operands[1], offsets, ty)?;
    let rows_contiguous = access.strides.last().is_some_and(|&stride| b.as_const(stride) == Some(1));
    (rows_contiguous && access.dtype == ty.dtype).then(|| {
        state.skip.push(position);
        access
    })
}

/// Address of a tile of one row with contiguous elements.
fn row<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, value: ValueId) -> Option<Value> {
    if let Some(Tile::Memory(access)) = l.tile(value)
        && access.strides.last().is_some_and(|&stride| b.as_const(stride) == Some(1))
    {
        return Some(access.base);
    }
    l.materialize(b, state, value).map(|access| access.base)
}
