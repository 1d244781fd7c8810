//! Elements of the last dimension by index, and the order of a row.

use super::elementwise::repeated;
use super::{Bound, Operation, Outcome, RuleError};
use crate::ir::{DType, Extent, TileType};
use crate::ops::OpKind;

pub(super) fn rule(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let x = op.tile(0)?;
    op.supported(0, x.dtype)?;
    if x.rank() == 0 {
        return Err(RuleError::Rank { op: op.kind, operand: 0, expected: "at least 1", found: 0 });
    }
    match op.kind {
        OpKind::Gather => gather(op, x),
        OpKind::Scatter => scatter(op, x),
        _ => {
            let valid = x.valid.iter().map(|v| Bound::Is(*v)).collect();
            Ok(Outcome::Tile { dtype: DType::I32, dims: x.dims.clone(), valid })
        }
    }
}

/// The index operand: a tile of `i32` of the rank of the first operand.
fn index<'a>(op: &Operation<'a>, x: &TileType) -> Result<&'a TileType, RuleError> {
    let index = op.tile(1)?;
    if index.dtype != DType::I32 {
        return Err(op.wrong_kind(1, "an `i32` tile"));
    }
    same_rank(op, 1, x, index)?;
    Ok(index)
}

fn same_rank(op: &Operation<'_>, operand: usize, x: &TileType, other: &TileType) -> Result<(), RuleError> {
    if x.rank() == other.rank() {
        return Ok(());
    }
    let (left_rank, right_rank) = (x.rank(), other.rank());
    Err(RuleError::RanksDiffer { op: op.kind, left: 0, right: operand, left_rank, right_rank })
}

fn differ(op: &Operation<'_>, (left, a): (usize, &TileType), (right, b): (usize, &TileType), axis: usize) -> RuleError {
    let (left_dims, right_dims) = (a.dims.clone(), b.dims.clone());
    RuleError::ShapesDiffer { op: op.kind, left, right, left_dims, right_dims, axis }
}

/// Leading extents combined as by elementwise operations; the last is that of the index.
fn gather(op: &Operation<'_>, x: &TileType) -> Result<Outcome, RuleError> {
    let index = index(op, x)?;
    let (last, one) = (x.rank() - 1, Extent::Const(1));
    let (mut dims, mut valid) = (index.dims.clone(), Vec::with_capacity(x.rank()));
    for (axis, dim) in dims.iter_mut().enumerate().take(last) {
        *dim = match (x.dims[axis], index.dims[axis]) {
            (a, b) if a == b || b == one => a,
            (a, b) if a == one => b,
            _ => return Err(differ(op, (0, x), (1, index), axis)),
        };
        let own = repeated(x.dims[axis], x.valid[axis], *dim);
        valid.push(own.min(repeated(index.dims[axis], index.valid[axis], *dim)));
    }
    valid.push(Bound::Is(index.valid[last]));
    Ok(Outcome::Tile { dtype: x.dtype, dims, valid })
}

/// Index and source are as large as the target, or repeat; along the last dimension they are equally large.
fn scatter(op: &Operation<'_>, target: &TileType) -> Result<Outcome, RuleError> {
    let (index, source) = (index(op, target)?, op.tile(2)?);
    op.same_dtype(0, 2)?;
    same_rank(op, 2, target, source)?;
    let (last, one) = (target.rank() - 1, Extent::Const(1));
    for axis in 0..last {
        for (operand, tile) in [(1, index), (2, source)] {
            if tile.dims[axis] != target.dims[axis] && tile.dims[axis] != one {
                return Err(differ(op, (0, target), (operand, tile), axis));
            }
        }
    }
    if index.dims[last] != source.dims[last] {
        return Err(differ(op, (1, index), (2, source), last));
    }
    let valid = target.valid.iter().map(|v| Bound::Is(*v)).collect();
    Ok(Outcome::Tile { dtype: target.dtype, dims: target.dims.clone(), valid })
}
