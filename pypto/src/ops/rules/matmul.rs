//! Products of matrices: rank 2, or rank 3 batch by batch; the accumulator is `f32` or `i32`.

use super::{Bound, Operation, Outcome, RuleError};
use crate::ir::{AttrKey, DType, Extent, TileType};
use crate::ops::OpKind;

pub(super) fn rule(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    let (left, right) = if op.kind == OpKind::MatmulAcc { (1, 2) } else { (0, 1) };
    let (a, b) = (op.tile(left)?, op.tile(right)?);
    op.same_dtype(left, right)?;
    let dtype = op.supported(left, a.dtype)?.accumulator();
    let product = product(op, (left, a), (right, b))?;
    match op.kind {
        OpKind::MatmulAcc => accumulate(op, dtype, product),
        OpKind::MatmulBias => bias(op, dtype, product),
        _ => Ok(Outcome::Tile { dtype, dims: product.0, valid: product.1 }),
    }
}

type Shape = (Vec<Extent>, Vec<Bound>);

/// Extents and valid extents of `a @ b`.
fn product(op: &Operation<'_>, a: (usize, &TileType), b: (usize, &TileType)) -> Result<Shape, RuleError> {
    let ((left, a), (right, b)) = (a, b);
    if a.rank() != b.rank() {
        return Err(RuleError::RanksDiffer { op: op.kind, left, right, left_rank: a.rank(), right_rank: b.rank() });
    }
    let rank = a.rank();
    if !(2..=3).contains(&rank) {
        return Err(RuleError::Rank { op: op.kind, operand: left, expected: "2 or 3", found: rank });
    }
    let (row_a, inner_a) = pick(rank, op.attrs.flag(AttrKey::TransposeA));
    let (inner_b, column_b) = pick(rank, op.attrs.flag(AttrKey::TransposeB));
    if a.dims[inner_a] != b.dims[inner_b] {
        return Err(RuleError::Contraction {
            op: op.kind,
            left,
            right,
            left_dims: a.dims.clone(),
            right_dims: b.dims.clone(),
            left_extent: a.dims[inner_a],
            right_extent: b.dims[inner_b],
        });
    }
    let mut dims = vec![a.dims[row_a], b.dims[column_b]];
    let mut valid = vec![Bound::Is(a.valid[row_a]), Bound::Is(b.valid[column_b])];
    if rank == 3 {
        same_dims(op, (left, &a.dims), (right, &b.dims), 0)?;
        dims.insert(0, a.dims[0]);
        valid.insert(0, Bound::Is(a.valid[0]).min(Bound::Is(b.valid[0])));
    }
    Ok((dims, valid))
}

/// Dimensions that play the first and the second role of a matrix.
fn pick(rank: usize, transposed: bool) -> (usize, usize) {
    if transposed { (rank - 1, rank - 2) } else { (rank - 2, rank - 1) }
}

fn same_dims(
    op: &Operation<'_>,
    left: (usize, &[Extent]),
    right: (usize, &[Extent]),
    axis: usize,
) -> Result<(), RuleError> {
    if left.1.get(axis) == right.1.get(axis) {
        return Ok(());
    }
    Err(RuleError::ShapesDiffer {
        op: op.kind,
        left: left.0,
        right: right.0,
        left_dims: left.1.to_vec(),
        right_dims: right.1.to_vec(),
        axis,
    })
}

fn accumulator(op: &Operation<'_>, operand: usize, found: DType, dtype: DType) -> Result<(), RuleError> {
    if found == dtype {
        return Ok(());
    }
    Err(RuleError::DTypesDiffer { op: op.kind, left: operand, right: 1, left_dtype: found, right_dtype: dtype })
}

fn accumulate(op: &Operation<'_>, dtype: DType, (dims, valid): Shape) -> Result<Outcome, RuleError> {
    let acc = op.tile(0)?;
    accumulator(op, 0, acc.dtype, dtype)?;
    if acc.rank() != dims.len() {
        let (left_rank, right_rank) = (acc.rank(), dims.len());
        return Err(RuleError::RanksDiffer { op: op.kind, left: 0, right: 1, left_rank, right_rank });
    }
    for axis in 0..dims.len() {
        same_dims(op, (0, &acc.dims), (1, &dims), axis)?;
    }
    let valid = valid.into_iter().zip(&acc.valid).map(|(v, a)| Bound::Is(*a).min(v)).collect();
    Ok(Outcome::Tile { dtype, dims, valid })
}

fn bias(op: &Operation<'_>, dtype: DType, (dims, mut valid): Shape) -> Result<Outcome, RuleError> {
    let bias = op.tile(2)?;
    accumulator(op, 2, bias.dtype, dtype)?;
    let columns = dims.len() - 1;
    let mut expected = vec![Extent::Const(1); bias.rank()];
    if let Some(last) = expected.last_mut() {
        *last = dims[columns];
    }
    for axis in 0..expected.len().max(1) {
        same_dims(op, (2, &bias.dims), (1, &expected), axis)?;
    }
    if let Some(n) = bias.valid.last() {
        let product = valid[columns].clone();
        valid[columns] = product.min(Bound::Is(*n));
    }
    Ok(Outcome::Tile { dtype, dims, valid })
}
