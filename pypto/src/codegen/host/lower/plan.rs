//! Splits the work on one row into segments: column loops, with narrow values computed between them.
//!
//! The result of a row reduction exists only after its column loop, so whatever depends on it belongs to a later segment. A wide value that
//! several segments need is computed again where that is cheap, and otherwise kept in a row buffer by the first of them.

use std::collections::BTreeSet;

use super::access::Access;
use super::graph::{Node, NodeId, NodeKind, Sink};

/// A wide value up to this weight is computed again rather than kept.
const CHEAP: u32 = 4;

/// One column loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    /// Row reductions whose operand it visits.
    pub reductions: Vec<NodeId>,
    /// Wide values that it keeps for later segments.
    pub kept: Vec<NodeId>,
    /// Wide values that nothing uses, but whose operation may fail.
    pub checks: Vec<NodeId>,
    /// Indices of wide sinks.
    pub sinks: Vec<usize>,
    /// Weight of one iteration's body in simple vector instructions.
    pub weight: u32,
}

/// The segments of a group and what is kept between them.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub segments: Vec<Segment>,
    /// For each node, the segment that keeps it in a row buffer.
    pub home: Vec<Option<usize>>,
    /// Narrow values that nothing uses, but whose operation may fail.
    pub narrow_checks: Vec<NodeId>,
    /// Nodes that are needed at all.
    pub needed: Vec<bool>,
}

impl Segment {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.reductions.is_empty() && self.kept.is_empty() && self.checks.is_empty() && self.sinks.is_empty()
    }
}

/// Plans a group. Memory that the group itself overwrites is never read in a later segment than the one that writes it: then it is read in
/// the first segment, and kept.
pub(super) fn plan(nodes: &[Node<'_>], sinks: &[Sink]) -> Plan {
    let level = levels(nodes);
    let mut written: Vec<(&Access, usize)> = Vec::new();
    let mut plan = Plan {
        segments: Vec::new(),
        home: vec![None; nodes.len()],
        narrow_checks: Vec::new(),
        needed: vec![false; nodes.len()],
    };
    let mut visits: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); nodes.len()];
    for (i, sink) in sinks.iter().enumerate() {
        plan.needed[sink.node()] = true;
        if let Some(arg) = sink.row_args() {
            plan.needed[arg] = true;
        }
        if !nodes[sink.node()].narrow {
            let at = sink.row_args().map_or(0, |arg| level[arg]).max(level[sink.node()]);
            visits[sink.node()].insert(at);
            plan.segment(at).sinks.push(i);
            if let Sink::Store { access, .. } = sink {
                written.push((access, at));
            }
        }
    }
    let costs = costs(nodes);
    for n in (0..nodes.len()).rev() {
        let node = &nodes[n];
        if !plan.needed[n] {
            if !node.kind.can_fail() {
                continue;
            }
            // Everything that could use it has been visited: only its failure matters.
            if node.narrow {
                plan.narrow_checks.push(n);
            } else {
                visits[n].insert(level[n]);
                plan.segment(level[n]).checks.push(n);
            }
        }
        if let NodeKind::Reduce { arg, .. } = node.kind {
            plan.needed[arg] = true;
            if !nodes[arg].narrow {
                visits[arg].insert(level[arg]);
                plan.segment(level[arg]).reductions.push(n);
            }
            continue;
        }
        let at = plan.place(n, node, &visits[n], costs[n], &written);
        for arg in node.kind.args() {
            plan.needed[arg] = true;
            visits[arg].extend(&at);
        }
        for s in at {
            plan.segment(s).weight += node.kind.weight();
        }
    }
    for segment in &mut plan.segments {
        segment.reductions.reverse();
        segment.kept.reverse();
        segment.weight += (segment.reductions.len() + segment.kept.len() + segment.sinks.len()) as u32;
    }
    plan
}

impl Plan {
    fn segment(&mut self, level: usize) -> &mut Segment {
        if self.segments.len() <= level {
            self.segments.resize_with(level + 1, Segment::default);
        }
        &mut self.segments[level]
    }

    /// The segments that compute node `n`; decides whether the first one keeps it for the others.
    fn place(
        &mut self,
        n: NodeId,
        node: &Node<'_>,
        visits: &BTreeSet<usize>,
        cost: u32,
        written: &[(&Access, usize)],
    ) -> BTreeSet<usize> {
        let pinned = match (&node.kind, visits.last()) {
            (NodeKind::Memory(access), Some(&last)) => {
                written.iter().any(|(w, at)| *at < last && w.shares_memory(access))
            }
            _ => false,
        };
        let Some(&first) = visits.first().filter(|_| !node.narrow) else { return BTreeSet::new() };
        let first = if pinned { 0 } else { first };
        let elsewhere = visits.iter().any(|&v| v != first);
        if !elsewhere || (cost <= CHEAP && !pinned) {
            return visits.clone();
        }
        self.home[n] = Some(first);
        self.segment(first).kept.push(n);
        BTreeSet::from([first])
    }
}

/// For wide nodes the earliest segment that can compute them, for narrow ones the segment before which they are known.
pub(super) fn levels(nodes: &[Node<'_>]) -> Vec<usize> {
    let mut level = vec![0; nodes.len()];
    for (n, node) in nodes.iter().enumerate() {
        let args = node.kind.args().into_iter().map(|a| level[a]).max().unwrap_or(0);
        let after = matches!(node.kind, NodeKind::Reduce { arg, .. } if !nodes[arg].narrow);
        level[n] = args + usize::from(after);
    }
    level
}

/// Weight of computing each wide node from memory and narrow values.
fn costs(nodes: &[Node<'_>]) -> Vec<u32> {
    let mut costs = vec![0u32; nodes.len()];
    for (n, node) in nodes.iter().enumerate() {
        if !node.narrow {
            let args: u32 = node.kind.args().into_iter().map(|a| costs[a]).sum();
            costs[n] = args.saturating_add(node.kind.weight());
        }
    }
    costs
}
