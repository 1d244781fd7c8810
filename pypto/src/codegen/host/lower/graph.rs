//! The expression graph of a fusion group: what its operations compute for one row.
//!
//! A node is *narrow* when it has one value per row (tiles of one column, results of row reductions, scalars) and *wide* when it has one
//! per column. Nodes stand in dependency order.

use super::access::Access;
use super::context::Tensor;
use crate::codegen::host::lir::{Reduce, Value};
use crate::ir::{DType, Op};

/// Index of a node in its graph.
pub(super) type NodeId = usize;

/// What a node computes.
#[derive(Clone, Debug)]
pub(super) enum NodeKind<'f> {
    /// A scalar that does not depend on the position.
    Uniform(Value),
    /// The element of a region at this position.
    Memory(Access),
    /// `start + index` along a dimension of the tile; the last one counts columns.
    Iota { axis: usize, start: Value },
    /// An elementwise operation on operands of that element type; a site where it can fail; whether its first operand is known to be at
    /// most 0, or NaN.
    Apply { op: &'f Op, dtype: DType, args: Vec<NodeId>, site: Option<u32>, at_most_zero: bool },
    /// `arg` inside the extents, `value` outside.
    Fillpad { arg: NodeId, value: NodeId, inside: Vec<Value> },
    /// All columns of `arg` combined; there are `columns`.
    Reduce { reduce: Reduce, arg: NodeId, columns: Value },
    /// The column index where `arg` equals `extremum` or is NaN, elsewhere the largest integer.
    FirstIndex { arg: NodeId, extremum: NodeId },
    /// `arg`, or 0 where it is the largest integer: the index of an empty row.
    EmptyIsZero { arg: NodeId },
    /// The element of a tensor's row number `index`; reports indices outside.
    Gather { tensor: Tensor, index: NodeId, site: u32 },
}

/// One value of the graph.
#[derive(Clone, Debug)]
pub(super) struct Node<'f> {
    pub kind: NodeKind<'f>,
    /// Element type of the result.
    pub dtype: DType,
    /// Whether there is one value per row.
    pub narrow: bool,
}

/// What a group does with a node.
#[derive(Clone, Debug)]
pub(super) enum Sink {
    /// Writes it to a region.
    Store { node: NodeId, access: Access },
    /// Writes it to the tensor's row number `index`; indices outside are reported and not written.
    Scatter { node: NodeId, tensor: Tensor, index: NodeId, site: u32 },
    /// Combines it over the rows.
    Columns(ColumnReduction),
}

/// A reduction over the last but one dimension.
#[derive(Clone, Debug)]
pub(super) struct ColumnReduction {
    pub node: NodeId,
    pub kind: ColumnKind,
    /// Element type of the operand.
    pub dtype: DType,
    /// How many columns there are.
    pub columns: Value,
    /// One row of accumulators in computing form (`index` too, for extremum positions); becomes the result at the end.
    pub accumulator: Access,
    pub index: Option<Access>,
    pub result: Access,
}

/// What is accumulated per column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Combine(Reduce),
    /// Position of the first maximum (`true`) or minimum.
    Position {
        maximum: bool,
    },
}

impl NodeKind<'_> {
    /// The nodes that it is computed from.
    pub fn args(&self) -> Vec<NodeId> {
        match self {
            NodeKind::Uniform(_) | NodeKind::Memory(_) | NodeKind::Iota { .. } => Vec::new(),
            NodeKind::Apply { args, .. } => args.clone(),
            NodeKind::Fillpad { arg, value, .. } => vec![*arg, *value],
            NodeKind::Reduce { arg, .. } | NodeKind::EmptyIsZero { arg } => vec![*arg],
            NodeKind::FirstIndex { arg, extremum } => vec![*arg, *extremum],
            NodeKind::Gather { index, .. } => vec![*index],
        }
    }

    /// Whether computing it may record a failure.
    pub fn can_fail(&self) -> bool {
        matches!(self, NodeKind::Apply { site: Some(_), .. } | NodeKind::Gather { .. })
    }

    /// Cost in simple vector instructions, without the operands.
    pub fn weight(&self) -> u32 {
        match self {
            NodeKind::Uniform(_) => 0,
            NodeKind::Memory(_) | NodeKind::Iota { .. } | NodeKind::Gather { .. } => 1,
            NodeKind::Apply { op, dtype, .. } => super::elementwise::weight(op.kind, *dtype),
            NodeKind::Fillpad { .. } | NodeKind::Reduce { .. } | NodeKind::EmptyIsZero { .. } => 1,
            NodeKind::FirstIndex { .. } => 4,
        }
    }
}

impl Sink {
    /// The value that it takes.
    pub fn node(&self) -> NodeId {
        match self {
            Sink::Store { node, .. } | Sink::Scatter { node, .. } => *node,
            Sink::Columns(c) => c.node,
        }
    }

    /// Further values that it needs once per row.
    pub fn row_args(&self) -> Option<NodeId> {
        match self {
            Sink::Scatter { index, .. } => Some(*index),
            _ => None,
        }
    }
}
