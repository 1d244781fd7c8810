//! Splits a group into several loops where its narrow values hold up the loop over rows.
//!
//! In one loop over rows, the exponential of a row's maximum is a chain of scalar instructions between two column loops, too long to be
//! hidden by other rows. Split, each column loop has a loop over all rows of its own (a *row stage*), and the narrow values between two of
//! them are computed a vector of rows at a time (a *narrow stage*), kept in a buffer of one element for each row. Groups of narrow values
//! alone are one narrow stage. What is computed for a row, and in which order its columns are combined, stays the same.

use std::collections::HashMap;

use super::access::{Access, Cover, Memory};
use super::graph::{Node, NodeId, NodeKind, Sink};
use super::plan::{Plan, Segment, levels, plan};
use super::row_group::RowGroup;
use crate::codegen::host::lir::{Builder, Value};
use crate::ir::Extent;

/// Weight from which on a narrow value holds up the loop over rows.
const HEAVY: u32 = 8;
/// Elements of the iteration space up to which it pays to visit it once more: they stay in the first-level cache.
const RESIDENT: i64 = 8 << 10;
/// Rows of a tile up to which the narrow values of all are computed, valid or not.
const LOW: i64 = 256;

/// How a group is split.
pub(super) struct Stages {
    /// For each node, how many row stages must be over before it is known.
    level: Vec<usize>,
    /// Number of row stages.
    count: usize,
    /// Narrow nodes that stages hand on.
    pub handed_on: Vec<NodeId>,
}

/// How to split the group over tiles of these physical extents; `None` where one loop over rows is right.
pub(super) fn of(b: &Builder<'_>, nodes: &[Node<'_>], sinks: &[Sink], plan: &Plan, dims: &[Extent]) -> Option<Stages> {
    let &[Extent::Const(rows), columns] = dims else { return None };
    let visited = nodes.iter().zip(&plan.needed).filter(|(_, needed)| **needed);
    let plain = plan.narrow_checks.is_empty()
        && plan.segments.iter().all(|s| s.kept.is_empty() && s.checks.is_empty())
        && visited.clone().all(|(node, _)| is_plain(b, nodes, node))
        && sinks.iter().all(|sink| match sink {
            Sink::Store { node, access } => !nodes[*node].narrow || turned(b, access).is_some(),
            _ => false,
        });
    if !plain || rows < b.lanes() as i64 {
        return None;
    }
    let count = if plan.segments.iter().all(Segment::is_empty) { 0 } else { plan.segments.len() };
    let level = levels(nodes);
    let holds_up = |n: NodeId| plan.needed[n] && nodes[n].narrow && level[n] > 0 && nodes[n].kind.weight() >= HEAVY;
    let resident = columns.constant().is_some_and(|columns| rows.saturating_mul(columns) <= RESIDENT);
    if count > 0 && !(resident && (0..nodes.len()).any(holds_up)) {
        return None;
    }
    let is_handed_on = |n: &NodeId| {
        let computed = matches!(nodes[*n].kind, NodeKind::Apply { .. } | NodeKind::Reduce { .. });
        let early = level[*n] < count || matches!(nodes[*n].kind, NodeKind::Reduce { .. });
        plan.needed[*n] && nodes[*n].narrow && computed && early
    };
    let handed_on = (0..nodes.len()).filter(is_handed_on).collect();
    Some(Stages { level, count, handed_on })
}

/// Whether the node can be computed in stages.
fn is_plain(b: &Builder<'_>, nodes: &[Node<'_>], node: &Node<'_>) -> bool {
    match &node.kind {
        NodeKind::Uniform(_) | NodeKind::Apply { site: None, .. } => true,
        NodeKind::Memory(access) => !node.narrow || turned(b, access).is_some(),
        NodeKind::Reduce { arg, .. } => !nodes[*arg].narrow,
        _ => false,
    }
}

/// A column of elements that are adjacent, or the same for all rows, seen as one row; `None` for any other.
fn turned(b: &Builder<'_>, access: &Access) -> Option<Access> {
    let (&[stride, _], &[limit, None]) = (&access.strides[..], &access.limits[..]) else { return None };
    let own = b.as_const(stride)?;
    let memory = match (own, &access.memory) {
        (1, Memory::Slot { slot, cover: Cover::Whole | Cover::Column }) => {
            Memory::Slot { slot: *slot, cover: Cover::Whole }
        }
        _ => access.memory.part(),
    };
    matches!(own, 0 | 1).then(|| Access { strides: vec![stride], limits: vec![limit], memory, ..access.clone() })
}

/// What the stages share.
pub(super) struct Parts<'f> {
    pub nodes: Vec<Node<'f>>,
    pub sinks: Vec<Sink>,
    pub plan: Plan,
    /// Rows of the tiles, valid or not.
    pub height: i64,
    /// Valid rows and columns.
    pub rows: Value,
    pub columns: Value,
    /// One element for each row, for each node that is handed on.
    pub buffers: HashMap<NodeId, Access>,
}

impl Stages {
    /// Emits all stages in order.
    pub fn emit(&self, b: &mut Builder<'_>, parts: &Parts<'_>) {
        for stage in 0..self.count {
            self.narrow_stage(b, parts, stage);
            self.row_stage(b, parts, stage);
        }
        self.narrow_stage(b, parts, self.count);
    }

    /// The column loop of one segment, for all rows.
    fn row_stage(&self, b: &mut Builder<'_>, parts: &Parts<'_>, stage: usize) {
        let segment = &parts.plan.segments[stage];
        let one = b.index(1);
        let mut nodes = parts.nodes.clone();
        for (&n, buffer) in parts.buffers.iter().filter(|(n, _)| self.level[**n] <= stage) {
            nodes[n].kind = NodeKind::Memory(as_column(buffer, one));
        }
        let reduced = segment.reductions.iter().filter_map(|n| {
            let access = as_column(parts.buffers.get(n)?, one);
            Some(Sink::Store { node: *n, access })
        });
        let sinks: Vec<Sink> = segment.sinks.iter().map(|&i| parts.sinks[i].clone()).chain(reduced).collect();
        let plan = plan(&nodes, &sinks);
        let (rows, columns) = (vec![parts.rows], parts.columns);
        RowGroup { nodes, sinks, plan, rows, columns, buffers: HashMap::new() }.emit(b);
    }

    /// The narrow values that become known before a row stage, and after the last one those that leave the group; rows take the place of
    /// columns.
    fn narrow_stage(&self, b: &mut Builder<'_>, parts: &Parts<'_>, stage: usize) {
        let mut nodes = parts.nodes.clone();
        for n in 0..nodes.len() {
            if nodes[n].narrow {
                self.turn(b, parts, &mut nodes, n, stage);
            }
        }
        let mut sinks = Vec::new();
        for &n in &self.handed_on {
            if self.level[n] == stage && matches!(parts.nodes[n].kind, NodeKind::Apply { .. }) {
                sinks.push(Sink::Store { node: wide(&mut nodes, n), access: parts.buffers[&n].clone() });
            }
        }
        let leaving = parts.sinks.iter().filter(|sink| stage == self.count && parts.nodes[sink.node()].narrow);
        for sink in leaving {
            if let Sink::Store { node, access } = sink
                && let Some(access) = turned(b, access)
            {
                sinks.push(Sink::Store { node: wide(&mut nodes, *node), access });
            }
        }
        if sinks.is_empty() {
            return;
        }
        let plan = plan(&nodes, &sinks);
        // Vectors up to the last one that the tile has room for need no code for a part of a vector, and take no more time.
        let is_low = parts.height <= LOW && parts.height % b.lanes() as i64 == 0;
        let is_whole = is_low && has_all_rows(b, &nodes, &sinks, &plan);
        let columns = if is_whole { b.index(parts.height) } else { parts.rows };
        RowGroup { nodes, sinks, plan, rows: Vec::new(), columns, buffers: HashMap::new() }.emit(b);
    }

    /// Makes a narrow node one of a narrow stage.
    fn turn(&self, b: &Builder<'_>, parts: &Parts<'_>, nodes: &mut [Node<'_>], n: NodeId, stage: usize) {
        let reduced = matches!(nodes[n].kind, NodeKind::Reduce { .. });
        let known = self.level[n] < stage || (reduced && self.level[n] == stage);
        if let Some(buffer) = parts.buffers.get(&n).filter(|_| known) {
            (nodes[n].kind, nodes[n].narrow) = (NodeKind::Memory(buffer.clone()), false);
            return;
        }
        if let NodeKind::Memory(access) = &nodes[n].kind {
            if let Some(access) = turned(b, access) {
                (nodes[n].kind, nodes[n].narrow) = (NodeKind::Memory(access), false);
            }
            return;
        }
        let varies = nodes[n].kind.args().into_iter().any(|arg| !nodes[arg].narrow);
        nodes[n].narrow = !varies;
    }
}

/// Whether all memory that a narrow stage touches has room for all rows of the tiles.
fn has_all_rows(b: &Builder<'_>, nodes: &[Node<'_>], sinks: &[Sink], plan: &Plan) -> bool {
    let has_room = |access: &Access| b.as_const(access.strides[0]) == Some(0) || access.has_all_rows();
    let reads = nodes.iter().zip(&plan.needed).all(|(node, needed)| match &node.kind {
        NodeKind::Memory(access) => !needed || has_room(access),
        _ => true,
    });
    reads && sinks.iter().all(|sink| matches!(sink, Sink::Store { access, .. } if has_room(access)))
}

/// A buffer with one element for each row, as a tile of one column.
fn as_column(buffer: &Access, one: Value) -> Access {
    Access { strides: vec![one, one], limits: vec![None, None], memory: buffer.memory.part(), ..buffer.clone() }
}

/// A node with a value for each column.
fn wide(nodes: &mut Vec<Node<'_>>, n: NodeId) -> NodeId {
    if !nodes[n].narrow {
        return n;
    }
    let dtype = nodes[n].dtype;
    nodes.push(Node { kind: NodeKind::Fillpad { arg: n, value: n, inside: Vec::new() }, dtype, narrow: false });
    nodes.len() - 1
}
