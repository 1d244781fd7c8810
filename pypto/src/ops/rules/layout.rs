//! Reductions, creation of tiles, and rearrangements of tiles.

use super::{Bound, Operation, Outcome, RuleError, elementwise};
use crate::ir::{AttrKey, DType, Extent, TileType};
use crate::ops::{Class, OpKind};

/// Extent 1 along the reduced dimension, valid there even where nothing was reduced.
pub(super) fn reduction(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let x = op.tile(0)?;
    let from_end = if matches!(op.kind.class(), Class::RowReduce | Class::RowArg) { 1 } else { 2 };
    if x.rank() < from_end {
        let expected = if from_end == 1 { "at least 1" } else { "at least 2" };
        return Err(RuleError::Rank { op: op.kind, operand: 0, expected, found: x.rank() });
    }
    let dtype = op.supported(0, x.dtype)?;
    let dtype = if matches!(op.kind.class(), Class::RowArg | Class::ColArg) { DType::I32 } else { dtype };
    let axis = x.rank() - from_end;
    let mut dims = x.dims.clone();
    dims[axis] = Extent::Const(1);
    let mut valid: Vec<Bound> = x.valid.iter().map(|v| Bound::Is(*v)).collect();
    valid[axis] = Bound::Is(Extent::Const(1));
    Ok(Outcome::Tile { dtype, dims, valid })
}

/// `full` and `iota`: the requested extents, valid as requested.
pub(super) fn create(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let dtype = op.supported(0, op.scalar(0)?)?;
    let dims = op.requested(None)?;
    if op.kind == OpKind::Iota {
        axis(op, dims.len())?;
    }
    let valid = op.requested_valid(&dims)?;
    Ok(Outcome::Tile { dtype, dims, valid })
}

/// Attribute `axis`, within the rank.
fn axis(op: &Operation<'_>, rank: usize) -> Result<usize, RuleError> {
    let axis = op.attrs.int(AttrKey::Axis).ok_or(RuleError::Attribute { op: op.kind, key: AttrKey::Axis })?;
    usize::try_from(axis).ok().filter(|a| *a < rank).ok_or(RuleError::Axis { op: op.kind, axis, rank })
}

pub(super) fn rule(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let x = op.tile(0)?;
    op.supported(0, x.dtype)?;
    match op.kind {
        OpKind::Slice => slice(op, x),
        OpKind::Assemble => assemble(op, x),
        OpKind::Reshape => reshape(op, x),
        OpKind::Transpose => transpose(op, x),
        OpKind::Concat => concat(op, x),
        OpKind::Broadcast => elementwise::broadcast_to(op),
        OpKind::Fillpad => {
            op.scalar(1)?;
            op.same_dtype(0, 1)?;
            Ok(Outcome::full(x.dtype, x.dims.clone()))
        }
        _ => {
            let valid = op.requested_valid(&x.dims)?;
            Ok(Outcome::Tile { dtype: x.dtype, dims: x.dims.clone(), valid })
        }
    }
}

fn slice(op: &Operation<'_>, x: &TileType) -> Result<Outcome, RuleError> {
    let offsets = op.indices(1, x.rank())?;
    let dims = op.requested(Some(x.rank()))?;
    let mut valid = Vec::with_capacity(dims.len());
    for (axis, dim) in dims.iter().enumerate() {
        op.in_bounds(0, axis, offsets[axis], *dim, x.dims[axis])?;
        let remaining = Bound::Remaining { limit: x.valid[axis], offset: offsets[axis] };
        valid.push(Bound::Is(*dim).min(remaining));
    }
    Ok(Outcome::Tile { dtype: x.dtype, dims, valid })
}

fn assemble(op: &Operation<'_>, target: &TileType) -> Result<Outcome, RuleError> {
    let source = op.tile(1)?;
    op.same_dtype(0, 1)?;
    if source.rank() != target.rank() {
        let (left_rank, right_rank) = (target.rank(), source.rank());
        return Err(RuleError::RanksDiffer { op: op.kind, left: 0, right: 1, left_rank, right_rank });
    }
    let offsets = op.indices(2, target.rank())?;
    for (axis, offset) in offsets.iter().enumerate() {
        op.in_bounds(0, axis, *offset, source.dims[axis], target.dims[axis])?;
    }
    let valid = target.valid.iter().map(|v| Bound::Is(*v)).collect();
    Ok(Outcome::Tile { dtype: target.dtype, dims: target.dims.clone(), valid })
}

fn fully_valid(op: &Operation<'_>, operand: usize, x: &TileType, axis: usize) -> Result<(), RuleError> {
    if x.dims[axis] == x.valid[axis] {
        return Ok(());
    }
    Err(RuleError::NotFull { op: op.kind, operand, axis, dim: x.dims[axis], valid: x.valid[axis] })
}

fn reshape(op: &Operation<'_>, x: &TileType) -> Result<Outcome, RuleError> {
    for axis in 0..x.rank() {
        fully_valid(op, 0, x, axis)?;
    }
    let dims = op.requested(None)?;
    if element_count(&x.dims) != element_count(&dims) {
        return Err(RuleError::ElementCount { op: op.kind, from: x.dims.clone(), to: dims });
    }
    Ok(Outcome::full(x.dtype, dims))
}

/// A product of extents in a form that compares: the constant factor, and the run-time factors in order.
fn element_count(dims: &[Extent]) -> (Option<i64>, Vec<crate::ir::ValueId>) {
    let mut values: Vec<_> = dims.iter().filter_map(|d| d.value()).collect();
    values.sort();
    let factor = dims.iter().filter_map(|d| d.constant()).try_fold(1i64, i64::checked_mul);
    (factor, values)
}

fn transpose(op: &Operation<'_>, x: &TileType) -> Result<Outcome, RuleError> {
    let rank = x.rank();
    if rank < 2 {
        return Err(RuleError::Rank { op: op.kind, operand: 0, expected: "at least 2", found: rank });
    }
    let mut dims = x.dims.clone();
    dims.swap(rank - 1, rank - 2);
    let mut valid: Vec<Bound> = x.valid.iter().map(|v| Bound::Is(*v)).collect();
    valid.swap(rank - 1, rank - 2);
    Ok(Outcome::Tile { dtype: x.dtype, dims, valid })
}

fn concat(op: &Operation<'_>, a: &TileType) -> Result<Outcome, RuleError> {
    let b = op.tile(1)?;
    op.same_dtype(0, 1)?;
    if a.rank() != b.rank() {
        return Err(RuleError::RanksDiffer {
            op: op.kind,
            left: 0,
            right: 1,
            left_rank: a.rank(),
            right_rank: b.rank(),
        });
    }
    let along = axis(op, a.rank())?;
    fully_valid(op, 0, a, along)?;
    fully_valid(op, 1, b, along)?;
    let (mut dims, mut valid) = (a.dims.clone(), Vec::with_capacity(a.rank()));
    for (axis, dim) in dims.iter_mut().enumerate() {
        if axis == along {
            *dim = joined(op, a, b, axis)?;
            valid.push(Bound::Is(*dim));
        } else if a.dims[axis] == b.dims[axis] {
            valid.push(Bound::Is(a.valid[axis]).min(Bound::Is(b.valid[axis])));
        } else {
            return Err(shapes_differ(op, a, b, axis));
        }
    }
    Ok(Outcome::Tile { dtype: a.dtype, dims, valid })
}

/// Sum of two constant extents, or for run-time ones the requested extent.
fn joined(op: &Operation<'_>, a: &TileType, b: &TileType, axis: usize) -> Result<Extent, RuleError> {
    match (a.dims[axis], b.dims[axis]) {
        (Extent::Const(x), Extent::Const(y)) => {
            let overflow = RuleError::Overflow { op: OpKind::Add, left: x, right: y, dtype: DType::I64 };
            x.checked_add(y).map(Extent::Const).ok_or(overflow)
        }
        _ => Ok(op.requested(Some(a.rank()))?[axis]),
    }
}

fn shapes_differ(op: &Operation<'_>, a: &TileType, b: &TileType, axis: usize) -> RuleError {
    RuleError::ShapesDiffer {
        op: op.kind,
        left: 0,
        right: 1,
        left_dims: a.dims.clone(),
        right_dims: b.dims.clone(),
        axis,
    }
}
