//! Creation and rearrangement of tiles: mostly other views of the same memory, copies where the elements must move.

use super::access::{Access, stored};
use super::block::BlockState;
use super::context::{Bound, Lowering, Tile, row_major};
use crate::codegen::host::lir::{Builder, Cmp, Value};
use crate::ir::{AttrKey, Extent, Op, TileType, ValueId};
use crate::ops::{Class, OpKind};

/// Lowers an operation of class `Layout` or `Create` whose operands are not pending.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    match op.kind {
        OpKind::Full => {
            let value = l.scalar(b, op.operands[0]);
            l.bind_tile(op.result(), Tile::Full(value));
        }
        OpKind::Iota => {
            let start = l.scalar(b, op.operands[0]);
            l.bind_tile(op.result(), Tile::Iota { axis: axis(op), start });
        }
        OpKind::SetValid => rename(l, state, op, |tile, _| tile),
        OpKind::Broadcast => broadcast(l, b, state, op),
        OpKind::Slice => slice(l, b, state, op),
        OpKind::Transpose => transpose(l, b, state, op),
        OpKind::Reshape => reshape(l, b, state, op),
        OpKind::Assemble => assemble(l, b, state, op),
        OpKind::Concat => concat(l, b, state, op),
        _ => l.unsupported(op.loc, format!("`{}` of this form", op.kind.name())),
    }
}

fn axis(op: &Op) -> usize {
    op.attrs.int(AttrKey::Axis).map_or(0, |a| a.max(0) as usize)
}

/// Binds the result to a changed view of the operand.
fn rename<'f>(
    l: &mut Lowering<'f>,
    state: &mut BlockState<'f>,
    op: &Op,
    change: impl FnOnce(Tile, &'f TileType) -> Tile,
) {
    let (from, result) = (op.operands[0], op.result());
    match l.tile(from).cloned() {
        Some(tile) => {
            let tile = change(tile, l.tile_type(from));
            l.define_view(state, result, tile);
        }
        None => l.unsupported(op.loc, "a tile that is not known here"),
    }
}

fn broadcast<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let to = l.tile_type(op.result());
    rename(l, state, op, |tile, from| {
        let repeated: Vec<bool> = from.dims.iter().zip(&to.dims).map(|(a, b)| a != b).collect();
        match tile {
            Tile::Memory(access) => Tile::Memory(access.repeat(b, &repeated)),
            Tile::Iota { axis, start } if repeated.get(axis) == Some(&true) => Tile::Full(start),
            other => other,
        }
    });
}

/// Offsets of a part of the given extents, reported and clamped where they lead outside.
fn checked_offsets(
    l: &mut Lowering<'_>,
    b: &mut Builder<'_>,
    op: &Op,
    offsets: &[ValueId],
    part: &[Extent],
    whole: &[Extent],
) -> Vec<Value> {
    let mut checked = Vec::new();
    for ((&offset, &part), &whole) in offsets.iter().zip(part).zip(whole) {
        let (offset, part, whole) = (l.scalar(b, offset), l.extent(b, part), l.extent(b, whole));
        let (zero, room) = (b.index(0), b.sub(whole, part));
        let (below, above) = (b.cmp(Cmp::Lt, offset, zero), b.cmp(Cmp::Gt, offset, room));
        let outside = b.or(below, above);
        if b.as_const(outside) == Some(0) {
            checked.push(offset);
            continue;
        }
        let site = l.site(op.loc, "an offset is outside the tile");
        b.fail_if(outside, site);
        checked.push(b.select(outside, zero, offset));
    }
    checked
}

/// The part of a region at offsets.
fn part(b: &mut Builder<'_>, access: &Access, offsets: &[Value]) -> Access {
    let mut at = b.index(0);
    let mut limits = Vec::new();
    for ((&offset, &stride), &limit) in offsets.iter().zip(&access.strides).zip(&access.limits) {
        let step = b.mul(offset, stride);
        at = b.add(at, step);
        limits.push(limit.map(|limit| b.sub(limit, offset)));
    }
    let base = b.addr(access.base, stored(access.dtype), at);
    Access { base, limits, memory: access.memory.part(), ..access.clone() }
}

fn slice<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let (from, to) = (l.tile_type(op.operands[0]), l.tile_type(op.result()));
    let offsets = checked_offsets(l, b, op, &op.operands[1..], &to.dims, &from.dims);
    rename(l, state, op, |tile, _| match tile {
        Tile::Memory(access) => Tile::Memory(part(b, &access, &offsets)),
        Tile::Iota { axis, start } => {
            let offset = b.resize(offsets[axis], b.elem(start), true);
            Tile::Iota { axis, start: b.add(start, offset) }
        }
        other => other,
    });
}

fn swap_last<T>(items: &mut [T]) {
    let n = items.len();
    if n >= 2 {
        items.swap(n - 1, n - 2);
    }
}

fn transpose<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let only_multiplied = l
        .uses
        .positions(op.result())
        .iter()
        .all(|&p| state.block.ops.get(p).is_some_and(|user| user.kind.class() == Class::Matmul));
    rename(l, state, op, |tile, ty| match tile {
        Tile::Memory(mut access) => {
            swap_last(&mut access.strides);
            swap_last(&mut access.limits);
            access.memory = access.memory.part();
            Tile::Memory(access)
        }
        Tile::Iota { axis, start } if axis + 2 >= ty.rank() => Tile::Iota { axis: 2 * ty.rank() - 3 - axis, start },
        other => other,
    });
    if !only_multiplied && matches!(l.tile(op.result()), Some(Tile::Memory(_))) {
        l.flush(b, state);
        l.materialize(b, state, op.result());
    }
}

fn reshape<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    if let Some(Tile::Full(value)) = l.tile(op.operands[0]) {
        let value = *value;
        return l.bind_tile(op.result(), Tile::Full(value));
    }
    l.flush(b, state);
    let Some(mut access) = l.materialize(b, state, op.operands[0]) else {
        return l.unsupported(op.loc, "a tile that is not known here");
    };
    let Some(dims) = l.tile_type(op.result()).constant_dims() else {
        return l.unsupported(op.loc, "a reshape to extents known only at run time");
    };
    access.strides = row_major(&dims).into_iter().map(|s| b.index(s)).collect();
    access.limits = vec![None; dims.len()];
    l.define_view(state, op.result(), Tile::Memory(access));
}

/// The slot of a dying operand that the result may take over, when nothing else uses it.
pub(super) fn take_over(l: &Lowering<'_>, state: &BlockState<'_>, value: ValueId, result: ValueId) -> Option<Access> {
    let Some(Tile::Memory(access)) = l.tile(value) else { return None };
    let slot = access.whole_slot()?;
    let becomes = l.destinations.get(&result).and_then(|(access, _)| access.slot());
    let allowed = 1 + usize::from(becomes == Some(slot));
    let dies = l.uses.dies_at(value, state.block, state.position);
    (dies && l.slots.holders(slot) <= allowed).then(|| access.clone())
}

/// A slot that holds the operand's value for the result to change: the operand's own where possible, otherwise a copy.
pub(super) fn own_copy<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    state: &mut BlockState<'f>,
    value: ValueId,
    op: &Op,
) -> Option<Access> {
    if let Some(access) = take_over(l, state, value, op.result()) {
        l.define_view(state, op.result(), Tile::Memory(access.clone()));
        return Some(access);
    }
    let tile = l.tile(value)?.clone();
    let access = l.take_slot_for(b, op.result(), op.loc);
    l.copy(b, &tile, l.tile_type(value), &access);
    l.define(state, op.result(), Tile::Memory(access.clone()));
    Some(access)
}

fn assemble<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    l.flush(b, state);
    let (target, source) = (op.operands[0], op.operands[1]);
    let (whole, ty) = (l.tile_type(target), l.tile_type(source));
    let offsets = checked_offsets(l, b, op, &op.operands[2..], &ty.dims, &whole.dims);
    let Some(access) = own_copy(l, b, state, target, op) else { return };
    let Some(tile) = l.tile(source).cloned() else { return };
    let region = part(b, &access, &offsets);
    l.copy(b, &tile, ty, &region);
}

fn concat<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    l.flush(b, state);
    let (ty, axis) = (l.tile_type(op.result()), axis(op));
    let access = l.take_tile_slot(b, ty, op.loc);
    let mut offsets: Vec<Value> = ty.dims.iter().map(|_| b.index(0)).collect();
    for &operand in &op.operands {
        let (Some(tile), from) = (l.tile(operand).cloned(), l.tile_type(operand)) else { return };
        let region = part(b, &access, &offsets);
        l.copy(b, &tile, from, &region);
        offsets[axis] = l.extent(b, from.dims[axis]);
    }
    l.define(state, op.result(), Tile::Memory(access));
}

/// Lowers `alloc` and `view`.
pub(super) fn lower_tensor<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, _state: &mut BlockState<'f>, op: &'f Op) {
    let result = op.result();
    let Some(ty) = l.function.ty(result).as_tensor() else { return };
    let base = match (op.kind, op.operands.first().and_then(|&t| l.tensor(t)).cloned()) {
        (OpKind::View, Some(tensor)) => {
            let mut at = b.index(0);
            for (&offset, &stride) in op.operands[1..].iter().zip(&tensor.strides) {
                let offset = l.scalar(b, offset);
                let step = b.mul(offset, stride);
                at = b.add(at, step);
            }
            b.addr(tensor.base, stored(tensor.dtype), at)
        }
        (OpKind::Alloc, _) => {
            let dims: Option<Vec<i64>> = ty.dims.iter().map(|d| d.constant()).collect();
            // The tensor may be used anywhere in the kernel, so its memory is never given back.
            match dims {
                Some(dims) => l.take_slot(b, ty.dtype, &dims).base,
                None => return l.unsupported(op.loc, "a temporary tensor whose extents are known only at run time"),
            }
        }
        _ => return l.unsupported(op.loc, "a tensor that is not known here"),
    };
    let tensor = l.describe_tensor(b, base, ty);
    l.bind(result, Bound::Tensor(tensor));
}
