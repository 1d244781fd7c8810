//! Which parts of which tensors a block of operations reads and writes, as boxes with symbolic offsets.
//!
//! A box is an over-approximation: everything that the operation may touch lies inside it. Tensors are told apart by
//! their root, the parameter or allocation that a chain of views starts from; distinct roots never overlap.

use std::collections::HashMap;

use super::affine::Affine;
use super::ranges::Ranges;
use crate::ir::{AttrKey, Block, Direction, Loc, Op, Program, TensorType, Type, ValueId};
use crate::ops::OpKind;

/// One dimension of a box: `[offset, offset + extent)` for every extent listed, all of which hold.
#[derive(Clone, Debug)]
pub struct Interval {
    pub offset: Affine,
    /// Upper bounds of the extent; the smallest counts.
    pub extents: Vec<Affine>,
}

/// A part of a tensor.
#[derive(Clone, Debug)]
pub struct Access {
    /// Parameter, allocation, or region argument that the tensor stems from.
    pub root: ValueId,
    /// One interval a dimension of the root; `None` where nothing is known and the whole tensor counts.
    pub region: Option<Vec<Interval>>,
    pub writes: bool,
    pub reads: bool,
    pub loc: Loc,
}

/// Directions of the parameters of every function, for calls.
pub type Directions = HashMap<String, Vec<Direction>>;

/// Directions of all functions of a program.
pub fn directions(program: &Program) -> Directions {
    program.functions.iter().map(|f| (f.name.clone(), f.params.iter().map(|p| p.direction).collect())).collect()
}

/// The accesses of a block and of everything nested in it, in program order.
pub fn of_block(block: &Block, ranges: &Ranges<'_>, directions: &Directions) -> Vec<Access> {
    let mut found = Vec::new();
    collect(block, ranges, directions, &mut found);
    found
}

/// The root of a tensor value: what is left when views are peeled off.
pub fn root(tensor: ValueId, ranges: &Ranges<'_>) -> ValueId {
    match ranges.definitions.op(tensor) {
        Some(op) if op.kind == OpKind::View => root(op.operands[0], ranges),
        _ => tensor,
    }
}

fn collect(block: &Block, ranges: &Ranges<'_>, directions: &Directions, found: &mut Vec<Access>) {
    for op in &block.ops {
        of_op(op, ranges, directions, found);
        for region in &op.regions {
            collect(region, ranges, directions, found);
        }
    }
}

/// The accesses of one operation, without those of its regions.
pub fn of_op(op: &Op, ranges: &Ranges<'_>, directions: &Directions, found: &mut Vec<Access>) {
    let function = ranges.definitions.function;
    match op.kind {
        OpKind::Load => {
            let Type::Tile(tile) = function.ty(op.result()) else { return };
            let region = tile_region(op, 0, &tile.dims, &tile.valid, ranges);
            found.push(access(op, op.operands[0], Some(region), ranges, false));
        }
        OpKind::Store => {
            let Type::Tile(tile) = function.ty(op.operands[0]) else { return };
            let region = tile_region(op, 1, &tile.dims, &tile.valid, ranges);
            found.push(access(op, op.operands[1], Some(region), ranges, true));
        }
        OpKind::Read | OpKind::Write => {
            let tensor = usize::from(op.kind == OpKind::Write);
            let one = |v: &ValueId| Interval { offset: ranges.form(*v), extents: vec![Affine::constant(1)] };
            let region = op.operands[tensor + 1..].iter().map(one).collect();
            found.push(access(op, op.operands[tensor], Some(region), ranges, tensor == 1));
        }
        OpKind::GatherRows => found.push(access(op, op.operands[0], None, ranges, false)),
        OpKind::ScatterRows => found.push(access(op, op.operands[1], None, ranges, true)),
        OpKind::Print | OpKind::Checkpoint => {
            let tensors = op.operands.iter().filter(|v| function.ty(**v).as_tensor().is_some());
            found.extend(tensors.map(|tensor| access(op, *tensor, None, ranges, false)));
        }
        OpKind::Call => of_call(op, ranges, directions, found),
        _ => {}
    }
}

fn of_call(op: &Op, ranges: &Ranges<'_>, directions: &Directions, found: &mut Vec<Access>) {
    let callee = op.attrs.text(AttrKey::Callee).and_then(|name| directions.get(name));
    for (index, argument) in op.operands.iter().enumerate() {
        if ranges.definitions.function.ty(*argument).as_tensor().is_none() {
            continue;
        }
        let direction = callee.and_then(|d| d.get(index)).copied().unwrap_or(Direction::InOut);
        let mut access = access(op, *argument, None, ranges, direction != Direction::In);
        access.reads = direction != Direction::Out;
        found.push(access);
    }
}

fn tile_region(
    op: &Op,
    tensor: usize,
    dims: &[crate::ir::Extent],
    valid: &[crate::ir::Extent],
    ranges: &Ranges<'_>,
) -> Vec<Interval> {
    let offsets = &op.operands[tensor + 1..];
    let interval = |(axis, offset): (usize, &ValueId)| {
        let mut extents = vec![ranges.extent(valid[axis])];
        if dims[axis] != valid[axis] {
            extents.push(ranges.extent(dims[axis]));
        }
        Interval { offset: ranges.form(*offset), extents }
    };
    offsets.iter().enumerate().map(interval).collect()
}

/// An access of `tensor`; without a region the whole of it, which for a view is still only a part of the root.
fn access(op: &Op, tensor: ValueId, region: Option<Vec<Interval>>, ranges: &Ranges<'_>, writes: bool) -> Access {
    let region = region.or_else(|| whole(tensor, ranges));
    let (root, region) = through_views(tensor, region, ranges);
    Access { root, region, writes, reads: !writes, loc: op.loc }
}

fn whole(tensor: ValueId, ranges: &Ranges<'_>) -> Option<Vec<Interval>> {
    let ty = ranges.definitions.function.ty(tensor).as_tensor()?;
    let all = |d| Interval { offset: Affine::constant(0), extents: vec![ranges.extent(d)] };
    Some(ty.dims.iter().copied().map(all).collect())
}

fn through_views(
    tensor: ValueId,
    region: Option<Vec<Interval>>,
    ranges: &Ranges<'_>,
) -> (ValueId, Option<Vec<Interval>>) {
    let view = match ranges.definitions.op(tensor) {
        Some(op) if op.kind == OpKind::View => op,
        _ => return (tensor, region),
    };
    let function = ranges.definitions.function;
    let base = view.operands[0];
    let region = match (function.ty(base), function.ty(tensor), region) {
        (Type::Tensor(outer), Type::Tensor(inner), Some(region)) => {
            shifted(outer, inner, region, &view.operands[1..], ranges).or_else(|| whole(base, ranges))
        }
        _ => whole(base, ranges),
    };
    through_views(base, region, ranges)
}

/// The region of a view in the coordinates of what it is a view of; leading dimensions may have been dropped.
fn shifted(
    outer: &TensorType,
    inner: &TensorType,
    region: Vec<Interval>,
    offsets: &[ValueId],
    ranges: &Ranges<'_>,
) -> Option<Vec<Interval>> {
    let dropped = outer.rank().checked_sub(inner.rank())?;
    if outer.strides[dropped..] != inner.strides[..] || offsets.len() != outer.rank() || region.len() != inner.rank() {
        return None;
    }
    let leading = offsets[..dropped]
        .iter()
        .map(|offset| Some(Interval { offset: ranges.form(*offset), extents: vec![Affine::constant(1)] }));
    let rest = region.into_iter().zip(&offsets[dropped..]).map(|(interval, offset)| {
        Some(Interval { offset: interval.offset.add(&ranges.form(*offset))?, extents: interval.extents })
    });
    leading.chain(rest).collect()
}
