//! What the nodes of a graph say of the sign of a value.
//!
//! The exponential of what is at most 0 needs no bound above. Softmax is of that kind, as each element less the maximum of its row is, and so
//! is the bell curve.

use super::graph::{Node, NodeId, NodeKind};
use crate::codegen::host::lir::{Builder, Reduce};
use crate::ops::OpKind;

/// Operands of operands that are looked at.
const DEPTH: u32 = 4;

/// Whether a float is at most 0 or NaN wherever it is defined, by the operations it is made of.
pub(super) fn is_at_most_zero(b: &Builder<'_>, nodes: &[Node<'_>], n: NodeId) -> bool {
    Signs { b, nodes }.at_most_zero(n, DEPTH)
}

struct Signs<'s, 'm, 'f> {
    b: &'s Builder<'m>,
    nodes: &'s [Node<'f>],
}

impl Signs<'_, '_, '_> {
    fn at_most_zero(&self, n: NodeId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let at_most = |n: &NodeId| self.at_most_zero(*n, depth);
        let at_least = |n: &NodeId| self.at_least_zero(*n, depth);
        let Some((kind, args)) = self.operation(n) else { return self.constant(n).is_some_and(|value| value <= 0.0) };
        match (kind, args) {
            (OpKind::Sub, [x, y]) => self.bounds(*y, *x, depth) || at_most(x) && at_least(y),
            (OpKind::Neg, [x]) => at_least(x),
            (OpKind::Min, [x, y]) => at_most(x) || at_most(y),
            (OpKind::Max | OpKind::Add, [x, y]) => at_most(x) && at_most(y),
            (OpKind::Mul, [x, y]) => at_most(x) && at_least(y) || at_least(x) && at_most(y),
            _ => false,
        }
    }

    fn at_least_zero(&self, n: NodeId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let at_least = |n: &NodeId| self.at_least_zero(*n, depth);
        let Some((kind, args)) = self.operation(n) else { return self.constant(n).is_some_and(|value| value >= 0.0) };
        match (kind, args) {
            (OpKind::Abs | OpKind::Relu | OpKind::Exp | OpKind::Exp2 | OpKind::Sigmoid | OpKind::Sqrt, _) => true,
            (OpKind::Max, [x, y]) => at_least(x) || at_least(y),
            (OpKind::Mul, [x, y]) if x == y => true,
            (OpKind::Min | OpKind::Add | OpKind::Mul, [x, y]) => at_least(x) && at_least(y),
            _ => false,
        }
    }

    /// Whether x is at most `bound`, or `bound` is NaN.
    fn bounds(&self, bound: NodeId, x: NodeId, depth: u32) -> bool {
        if bound == x {
            return true;
        }
        if let NodeKind::Reduce { reduce: Reduce::Max, arg, .. } = self.nodes[bound].kind {
            return arg == x;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        matches!(self.operation(bound), Some((OpKind::Max, args)) if args.iter().any(|&arg| self.bounds(arg, x, depth)))
    }

    fn operation(&self, n: NodeId) -> Option<(OpKind, &[NodeId])> {
        match &self.nodes[n].kind {
            NodeKind::Apply { op, args, .. } => Some((op.kind, args)),
            _ => None,
        }
    }

    fn constant(&self, n: NodeId) -> Option<f32> {
        match self.nodes[n].kind {
            NodeKind::Uniform(value) => self.b.as_float(value),
            _ => None,
        }
    }
}
