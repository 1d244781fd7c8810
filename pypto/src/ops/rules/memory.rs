//! Operations on tensors: transfers, single elements, allocation and views.

use super::{Bound, Operation, Outcome, RuleError};
use crate::ir::{AttrKey, DType, Extent, TensorType, TileType, Type};
use crate::ops::OpKind;

pub(super) fn transfer(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    match op.kind {
        OpKind::Load => load(op),
        OpKind::Store => store(op),
        OpKind::GatherRows => gather(op),
        _ => scatter(op),
    }
}

/// The requested extents; valid is what lies inside the tensor, and inside the requested valid extents.
fn load(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let tensor = op.tensor(0)?;
    let offsets = op.indices(1, tensor.rank())?;
    let dims = op.requested(Some(tensor.rank()))?;
    let mut valid = op.requested_valid(&dims)?;
    for (axis, limit) in tensor.dims.iter().enumerate() {
        // A tile that starts inside is cut at the end; one that starts outside is a mistake.
        op.in_bounds(0, axis, offsets[axis], Extent::Const(0), *limit)?;
        let remaining = Bound::Remaining { limit: *limit, offset: offsets[axis] };
        valid[axis] = valid[axis].clone().min(remaining);
    }
    Ok(Outcome::Tile { dtype: tensor.dtype, dims, valid })
}

fn store(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let (tile, tensor) = (op.tile(0)?, op.tensor(1)?);
    op.same_dtype(0, 1)?;
    if tile.rank() != tensor.rank() {
        return Err(ranks_differ(op, tile, tensor));
    }
    let offsets = op.indices(2, tensor.rank())?;
    for (axis, offset) in offsets.iter().enumerate() {
        op.in_bounds(1, axis, *offset, tile.valid[axis], tensor.dims[axis])?;
    }
    Ok(Outcome::Nothing)
}

fn ranks_differ(op: &Operation<'_>, tile: &TileType, tensor: &TensorType) -> RuleError {
    RuleError::RanksDiffer { op: op.kind, left: 0, right: 1, left_rank: tile.rank(), right_rank: tensor.rank() }
}

/// A rank-2 tensor and an index tile `[n, 1]`.
fn rows_of<'a>(op: &Operation<'a>, tensor: usize, index: usize) -> Result<(&'a TensorType, &'a TileType), RuleError> {
    let (t, i) = (op.tensor(tensor)?, op.tile(index)?);
    if t.rank() != 2 {
        return Err(RuleError::Rank { op: op.kind, operand: tensor, expected: "2", found: t.rank() });
    }
    if !matches!(i.dtype, DType::I32 | DType::I64) || i.rank() != 2 || i.dims[1] != Extent::Const(1) {
        return Err(op.wrong_kind(index, "an `i32` or `i64` tile of extents [n, 1]"));
    }
    Ok((t, i))
}

fn gather(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let (tensor, index) = rows_of(op, 0, 1)?;
    let dims = vec![index.dims[0], tensor.dims[1]];
    let valid = vec![Bound::Is(index.valid[0]), Bound::Is(tensor.dims[1])];
    Ok(Outcome::Tile { dtype: tensor.dtype, dims, valid })
}

fn scatter(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let tile = op.tile(0)?;
    let (tensor, index) = rows_of(op, 1, 2)?;
    op.same_dtype(0, 1)?;
    if tile.rank() != 2 {
        return Err(ranks_differ(op, tile, tensor));
    }
    let expected = [index.dims[0], tensor.dims[1]];
    for axis in 0..2 {
        if tile.dims[axis] != expected[axis] {
            return Err(RuleError::ShapesDiffer {
                op: op.kind,
                left: 0,
                right: 1,
                left_dims: tile.dims.clone(),
                right_dims: expected.to_vec(),
                axis,
            });
        }
    }
    Ok(Outcome::Nothing)
}

/// `read`, `write` and `extract`: one index a dimension, inside where known.
pub(super) fn element(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let container = usize::from(op.kind == OpKind::Write);
    let (dtype, dims) = match op.kind {
        OpKind::Extract => op.tile(0).map(|t| (t.dtype, &t.dims))?,
        _ => op.tensor(container).map(|t| (t.dtype, &t.dims))?,
    };
    let indices = op.indices(container + 1, dims.len())?;
    for (axis, index) in indices.iter().enumerate() {
        op.in_bounds(container, axis, *index, Extent::Const(1), dims[axis])?;
    }
    if op.kind == OpKind::Write {
        op.scalar(0)?;
        op.same_dtype(0, 1)?;
        return Ok(Outcome::Nothing);
    }
    Ok(Outcome::Exact(Type::Scalar(dtype)))
}

/// `alloc` and `view`: extents and strides as requested.
pub(super) fn tensor(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let dims = op.requested(None)?;
    let strides = match &op.request.strides {
        Some(strides) if strides.len() == dims.len() => strides.clone(),
        other => {
            let found = other.as_ref().map_or(0, Vec::len);
            return Err(RuleError::ResultExtents { op: op.kind, expected: dims.len().to_string(), found });
        }
    };
    if op.kind == OpKind::Alloc {
        let dtype = op.attrs.dtype().ok_or(RuleError::Attribute { op: op.kind, key: AttrKey::DType })?;
        return Ok(Outcome::Exact(Type::Tensor(TensorType { dtype, dims, strides })));
    }
    let source = op.tensor(0)?;
    let offsets = op.indices(1, source.rank())?;
    let Some(dropped) = source.rank().checked_sub(dims.len()) else {
        let (left_rank, right_rank) = (source.rank(), dims.len());
        return Err(RuleError::RanksDiffer { op: op.kind, left: 0, right: 0, left_rank, right_rank });
    };
    for (axis, offset) in offsets.iter().enumerate() {
        let size = if axis < dropped { Extent::Const(1) } else { dims[axis - dropped] };
        op.in_bounds(0, axis, *offset, size, source.dims[axis])?;
    }
    Ok(Outcome::Exact(Type::Tensor(TensorType { dtype: source.dtype, dims, strides })))
}
