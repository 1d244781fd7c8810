//! Which fusion groups are emitted with rows across the lanes, and what memory that takes.

use super::super::access::{Access, computing, stored};
use super::super::graph::{Node, NodeId, NodeKind, Sink};
use super::super::plan::Plan;
use crate::codegen::host::lir::Builder;
use crate::ir::Extent;

/// Columns up to which a reduction is unrolled over the elements of each partial result.
const UNROLLED: i64 = 256;
/// Values up to this weight are computed again for a reduction rather than kept.
pub(super) const CHEAP: u32 = 4;

/// The memory that a group needs for its emission.
pub(in super::super) struct Needs {
    /// Wide values that are kept from one column loop to the next.
    pub strips: Vec<NodeId>,
    /// Reductions over a number of columns that is known only at run time.
    pub partials: Vec<NodeId>,
    /// Whether rows may be computed up to whole vectors: all memory has room for them, and no value beyond the valid rows is used.
    pub whole_vectors: bool,
}

/// What the group needs to be emitted this way; `None` where it can't be, or does not pay.
pub(in super::super) fn needs(
    b: &Builder<'_>,
    nodes: &[Node<'_>],
    sinks: &[Sink],
    plan: &Plan,
    dims: &[Extent],
    columns: Extent,
) -> Option<Needs> {
    let &[Extent::Const(rows), Extent::Const(_)] = dims else { return None };
    let visited = || nodes.iter().zip(&plan.needed).filter(|(_, needed)| **needed).map(|(node, _)| node);
    let fits = rows >= b.lanes() as i64
        && plan.narrow_checks.is_empty()
        && plan.segments.iter().all(|s| s.checks.is_empty())
        && visited().all(|node| can_turn(b, nodes, node))
        && sinks.iter().all(|sink| match sink {
            Sink::Store { node, access } if nodes[*node].narrow => is_column(b, access) && !is_repeated(b, access),
            Sink::Store { access, .. } => is_turned(b, access) || is_in_rows(b, access),
            _ => false,
        });
    let in_rows =
        |node: &Node<'_>| matches!(&node.kind, NodeKind::Memory(access) if !node.narrow && is_in_rows(b, access));
    let reduces = plan.segments.iter().any(|s| !s.reductions.is_empty());
    if reduces && visited().any(in_rows) {
        return None;
    }
    let in_memory =
        |node: &Node<'_>| matches!(&node.kind, NodeKind::Memory(access) if !node.narrow && is_turned(b, access));
    let written =
        |sink: &Sink| matches!(sink, Sink::Store { node, access } if !nodes[*node].narrow && is_turned(b, access));
    if !fits || !(visited().any(in_memory) || sinks.iter().any(written)) {
        return None;
    }
    let kept = (0..nodes.len()).filter(|&n| plan.home[n].is_some());
    let heavy = plan.segments.iter().flat_map(|s| &s.reductions).filter_map(|&r| match nodes[r].kind {
        NodeKind::Reduce { arg, .. } if cost(nodes, arg) > CHEAP && written_to(nodes, sinks, arg).is_none() => {
            Some(arg)
        }
        _ => None,
    });
    let mut strips: Vec<NodeId> = kept.chain(heavy).collect();
    strips.sort_unstable();
    strips.dedup();
    let open = columns.constant().is_none_or(|columns| columns > UNROLLED);
    let reductions = plan.segments.iter().flat_map(|s| s.reductions.iter().copied());
    let partials = reductions.filter(|_| open).collect();
    let accesses = visited().filter_map(|node| match &node.kind {
        NodeKind::Memory(access) => Some(access),
        _ => None,
    });
    let written = sinks.iter().filter_map(|sink| match sink {
        Sink::Store { access, .. } => Some(access),
        _ => None,
    });
    let whole_vectors = rows % b.lanes() as i64 == 0
        && accesses.filter(|access| !is_repeated(b, access)).chain(written).all(Access::has_all_rows);
    Some(Needs { strips, partials, whole_vectors })
}

fn can_turn(b: &Builder<'_>, nodes: &[Node<'_>], node: &Node<'_>) -> bool {
    match &node.kind {
        NodeKind::Uniform(_) | NodeKind::Iota { .. } | NodeKind::Apply { .. } => true,
        NodeKind::Memory(access) if node.narrow => is_column(b, access),
        NodeKind::Memory(access) => is_turned(b, access) || is_in_rows(b, access) || is_repeated(b, access),
        NodeKind::Fillpad { arg, value, .. } => arg == value,
        NodeKind::Reduce { arg, .. } => !nodes[*arg].narrow,
        _ => false,
    }
}

fn row_stride(b: &Builder<'_>, access: &Access) -> Option<i64> {
    access.strides.first().and_then(|&stride| b.as_const(stride))
}

/// Whether neighbouring rows are neighbours in memory, and columns are not.
fn is_turned(b: &Builder<'_>, access: &Access) -> bool {
    row_stride(b, access) == Some(1) && access.strides.last().and_then(|&s| b.as_const(s)) != Some(1)
}

/// Whether neighbouring columns are neighbours in memory, and rows are not; of elements that registers can transpose.
pub(super) fn is_in_rows(b: &Builder<'_>, access: &Access) -> bool {
    computing(access.dtype).bytes() == 4
        && !matches!(row_stride(b, access), Some(0 | 1))
        && access.strides.last().and_then(|&s| b.as_const(s)) == Some(1)
}

/// Whether all rows are the same.
pub(super) fn is_repeated(b: &Builder<'_>, access: &Access) -> bool {
    row_stride(b, access) == Some(0)
}

/// Whether the access is a column of neighbours, or the same for all rows.
fn is_column(b: &Builder<'_>, access: &Access) -> bool {
    let free = access.limits[1].is_none_or(|limit| b.as_const(limit).is_some_and(|limit| limit > 0));
    matches!(row_stride(b, access), Some(0 | 1)) && free
}

/// Weight of computing a value from memory and narrow values.
pub(super) fn cost(nodes: &[Node<'_>], n: NodeId) -> u32 {
    if nodes[n].narrow {
        return 0;
    }
    let args: u32 = nodes[n].kind.args().into_iter().map(|a| cost(nodes, a)).fold(0, u32::saturating_add);
    args.saturating_add(nodes[n].kind.weight())
}

/// Where the group writes a value in the form in which it computes with it.
pub(super) fn written_to<'s>(nodes: &[Node<'_>], sinks: &'s [Sink], n: NodeId) -> Option<&'s Access> {
    let exact = computing(nodes[n].dtype) == stored(nodes[n].dtype);
    sinks.iter().find_map(|sink| match sink {
        Sink::Store { node, access } if *node == n && exact && access.slot().is_some() => Some(access),
        _ => None,
    })
}
