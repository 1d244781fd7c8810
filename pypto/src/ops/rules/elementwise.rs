//! Elementwise operations: scalars, or tiles with scalars; extents of 1 broadcast; valid is the smallest of all.

use super::{Bound, Operation, Outcome, RuleError};
use crate::ir::{AttrKey, DType, Extent, TileType, Type};
use crate::ops::{Class, OpKind};

pub(super) fn rule(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    for (operand, ty) in op.types.iter().enumerate() {
        if !matches!(ty, Type::Scalar(_) | Type::Tile(_)) {
            return Err(op.wrong_kind(operand, "a scalar or a tile"));
        }
    }
    let dtype = result_dtype(op)?;
    let mut shape: Option<(usize, Vec<Extent>)> = None;
    for (operand, ty) in op.types.iter().enumerate() {
        if let Type::Tile(tile) = ty {
            shape = Some(match shape {
                None => (operand, tile.dims.clone()),
                Some((first, dims)) => (first, broadcast(op, first, &dims, operand, &tile.dims)?),
            });
        }
    }
    let Some((_, dims)) = shape else {
        return Ok(Outcome::Exact(Type::Scalar(dtype)));
    };
    let tiles: Vec<&TileType> = op.types.iter().filter_map(|t| t.as_tile()).collect();
    let valid = (0..dims.len()).map(|axis| smallest_valid(&tiles, &dims, axis)).collect();
    Ok(Outcome::Tile { dtype, dims, valid })
}

fn result_dtype(op: &Operation<'_>) -> Result<DType, RuleError> {
    let of = |operand: usize| op.types[operand].dtype().unwrap_or(DType::Bool);
    match op.kind.class() {
        Class::Cast => {
            op.supported(0, of(0))?;
            let to = op.attrs.dtype().ok_or(RuleError::Attribute { op: op.kind, key: AttrKey::DType })?;
            if op.kind == OpKind::Bitcast {
                op.tile(0)?;
                op.supported(0, to)?;
                if of(0).size() != to.size() {
                    return Err(op.wrong_kind(0, "of an element type as wide as that of the result"));
                }
            }
            Ok(to)
        }
        Class::Select => {
            if of(0) != DType::Bool {
                return Err(op.wrong_kind(0, "of element type `bool`"));
            }
            op.same_dtype(1, 2)?;
            op.supported(1, of(1))
        }
        Class::Binary | Class::Compare => {
            op.same_dtype(0, 1)?;
            op.supported(0, of(0))?;
            Ok(if op.kind.class() == Class::Compare { DType::Bool } else { of(0) })
        }
        _ => op.supported(0, of(0)),
    }
}

/// Extents that both shapes broadcast to.
fn broadcast(
    op: &Operation<'_>,
    left: usize,
    left_dims: &[Extent],
    right: usize,
    right_dims: &[Extent],
) -> Result<Vec<Extent>, RuleError> {
    if left_dims.len() != right_dims.len() {
        let (left_rank, right_rank) = (left_dims.len(), right_dims.len());
        return Err(RuleError::RanksDiffer { op: op.kind, left, right, left_rank, right_rank });
    }
    let one = Extent::Const(1);
    let merge = |(axis, (a, b)): (usize, (&Extent, &Extent))| match (*a, *b) {
        (a, b) if a == b || b == one => Ok(a),
        (a, b) if a == one => Ok(b),
        _ => Err(RuleError::ShapesDiffer {
            op: op.kind,
            left,
            right,
            left_dims: left_dims.to_vec(),
            right_dims: right_dims.to_vec(),
            axis,
        }),
    };
    left_dims.iter().zip(right_dims).enumerate().map(merge).collect()
}

/// The minimum of the operands' valid extents along `axis`, extents of 1 counting for the whole.
fn smallest_valid(tiles: &[&TileType], dims: &[Extent], axis: usize) -> Bound {
    let bound = |tile: &TileType| repeated(tile.dims[axis], tile.valid[axis], dims[axis]);
    tiles[1..].iter().fold(bound(tiles[0]), |least, tile| least.min(bound(tile)))
}

/// Valid extent of a dimension of extent `from` after broadcasting it to `to`.
pub(super) fn repeated(from: Extent, valid: Extent, to: Extent) -> Bound {
    if from == to {
        return Bound::Is(valid);
    }
    match valid {
        Extent::Const(0) => Bound::Is(Extent::Const(0)),
        Extent::Const(_) => Bound::Is(to),
        Extent::Value(_) => Bound::Repeat { valid, dim: to },
    }
}

/// The shape rule of `broadcast`: requested extents, reached from extents of 1.
pub(super) fn broadcast_to(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    debug_assert_eq!(op.kind, OpKind::Broadcast);
    let x = op.tile(0)?;
    let dims = op.requested(Some(x.rank()))?;
    for (axis, (from, to)) in x.dims.iter().zip(&dims).enumerate() {
        if from != to && *from != Extent::Const(1) {
            return Err(RuleError::ShapesDiffer {
                op: op.kind,
                left: 0,
                right: 0,
                left_dims: x.dims.clone(),
                right_dims: dims,
                axis,
            });
        }
    }
    let valid = (0..dims.len()).map(|a| repeated(x.dims[a], x.valid[a], dims[a])).collect();
    Ok(Outcome::Tile { dtype: x.dtype, dims, valid })
}
