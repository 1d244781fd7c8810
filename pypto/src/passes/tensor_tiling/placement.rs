//! How blocking the result of an operation blocks its operands.
//!
//! A placement says of each dimension of a value by which loop of a group it is cut into blocks, if by any. A rule maps
//! the placement of a result to those that the operands need; where an operation would need all of a cut dimension
//! (a reduction along it), there is no rule, and the operand has to be stored as a whole first.

use crate::ir::{AttrKey, Extent, Function, Op, TileType, ValueId};
use crate::ops::{Class, OpKind};

/// For each dimension the number of the loop that cuts it.
pub type Placement = Vec<Option<usize>>;

/// A tile operand, by position, with the placement that it needs.
pub type Demand = (usize, Placement);

/// Operations that read memory or make a value out of nothing: any block of them can be made anywhere.
pub fn is_leaf(op: &Op) -> bool {
    matches!(op.kind, OpKind::Load | OpKind::Full | OpKind::Iota)
}

/// Placements of the tile operands of `op` for a result that is placed at `p`; `None` where the result cannot be cut
/// like that. For a store, `p` places the stored tile.
pub fn operands(op: &Op, p: &Placement, function: &Function) -> Option<Vec<Demand>> {
    let tile = |operand: usize| function.ty(op.operands[operand]).as_tile();
    match op.kind.class() {
        Class::Unary | Class::Binary | Class::Compare | Class::Select | Class::Cast => elementwise(op, p, function),
        Class::RowReduce | Class::RowArg => one_axis_whole(p, 1),
        Class::ColReduce | Class::ColArg => one_axis_whole(p, 2),
        Class::Create => Some(Vec::new()),
        Class::Matmul => Some(matmul(op, p, function)),
        Class::Layout => match op.kind {
            OpKind::Broadcast | OpKind::Fillpad | OpKind::SetValid => elementwise(op, p, function),
            OpKind::Transpose => {
                let mut q = p.clone();
                let rank = q.len();
                q.swap(rank - 1, rank - 2);
                Some(vec![(0, q)])
            }
            _ => p.iter().all(Option::is_none).then(|| whole_operands(op, function)),
        },
        // A row is chosen from as a whole; leading extents of 1 repeat.
        Class::Permute => p.last().is_some_and(Option::is_none).then(|| elementwise(op, p, function)).flatten(),
        Class::Transfer => match op.kind {
            OpKind::Load => Some(Vec::new()),
            OpKind::Store => Some(vec![(0, p.clone())]),
            OpKind::GatherRows => p[1].is_none().then(|| vec![(1, vec![p[0], None])]),
            OpKind::ScatterRows => Some(vec![(0, p.clone()), (2, vec![p[0], None])]),
            _ => None,
        },
        _ => tile(0).map(|_| Vec::new()),
    }
}

/// Extents of 1 that are repeated are not cut.
fn elementwise(op: &Op, p: &Placement, function: &Function) -> Option<Vec<Demand>> {
    let result: &TileType = function.ty(op.result()).as_tile()?;
    let demand = |(position, operand): (usize, &ValueId)| {
        let tile = function.ty(*operand).as_tile()?;
        let axis =
            |a: usize| if tile.dims[a] == Extent::Const(1) && result.dims[a] != tile.dims[a] { None } else { p[a] };
        Some((position, (0..tile.rank()).map(axis).collect()))
    };
    Some(op.operands.iter().enumerate().filter_map(demand).collect())
}

fn one_axis_whole(p: &Placement, from_end: usize) -> Option<Vec<Demand>> {
    p[p.len() - from_end].is_none().then(|| vec![(0, p.clone())])
}

fn whole_operands(op: &Op, function: &Function) -> Vec<Demand> {
    let whole = |(position, v): (usize, &ValueId)| function.ty(*v).as_tile().map(|t| (position, vec![None; t.rank()]));
    op.operands.iter().enumerate().filter_map(whole).collect()
}

fn matmul(op: &Op, p: &Placement, function: &Function) -> Vec<Demand> {
    let rank = p.len();
    let (rows, columns) = (p[rank - 2], p[rank - 1]);
    let matrix = |first: Option<usize>, second: Option<usize>, transposed: bool| {
        let mut q = p[..rank - 2].to_vec();
        q.extend(if transposed { [second, first] } else { [first, second] });
        q
    };
    let a = matrix(rows, None, op.attrs.flag(AttrKey::TransposeA));
    let b = matrix(None, columns, op.attrs.flag(AttrKey::TransposeB));
    match op.kind {
        OpKind::MatmulAcc => vec![(0, p.clone()), (1, a), (2, b)],
        OpKind::MatmulBias => {
            let rank = function.ty(op.operands[2]).as_tile().map_or(1, |t| t.rank());
            let mut bias = vec![None; rank];
            bias[rank - 1] = columns;
            vec![(0, a), (1, b), (2, bias)]
        }
        _ => vec![(0, a), (1, b)],
    }
}
