//! The task graph of a call: its tasks, and which waits for which.

use serde::{Deserialize, Serialize};

use crate::runtime::recording::Log;

/// Changes with the meaning of [`Graph`].
pub const SCHEMA: u32 = 1;

/// A task graph. Tasks are numbered in program order, so every edge goes to a greater number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    pub schema: u32,
    /// The kernel of each task.
    pub tasks: Vec<String>,
    pub edges: Vec<Edge>,
}

/// `succ` starts after `pred` is finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    pub pred: u32,
    pub succ: u32,
    /// Other edges already imply this one.
    pub implied: bool,
}

/// The graph of a recorded call.
pub fn graph(log: &Log) -> Graph {
    let tasks = log.tasks.iter().map(|task| task.kernel.clone()).collect();
    let edges =
        log.edges.iter().map(|(pred, succ)| Edge { pred: *pred, succ: *succ, implied: implied(log, *pred, *succ) });
    Graph { schema: SCHEMA, tasks, edges: edges.collect() }
}

/// Whether a path of at least two edges leads from `pred` to `succ`.
fn implied(log: &Log, pred: u32, succ: u32) -> bool {
    let mut seen = vec![false; (succ - pred) as usize];
    let mut open: Vec<u32> = successors(log, pred).filter(|next| *next < succ).collect();
    while let Some(task) = open.pop() {
        if std::mem::replace(&mut seen[(task - pred) as usize], true) {
            continue;
        }
        for next in successors(log, task) {
            if next == succ {
                return true;
            }
            if next < succ {
                open.push(next);
            }
        }
    }
    false
}

fn successors(log: &Log, task: u32) -> impl Iterator<Item = u32> + '_ {
    let start = log.edges.partition_point(|(from, _)| *from < task);
    log.edges[start..].iter().take_while(move |(from, _)| *from == task).map(|(_, to)| *to)
}

/// The graph in the DOT language; implied edges are left out.
pub fn dot(graph: &Graph) -> String {
    let nodes =
        graph.tasks.iter().enumerate().map(|(task, kernel)| format!("  t{task} [label=\"{kernel}({task})\"];\n"));
    let edges = graph.edges.iter().filter(|edge| !edge.implied);
    let edges = edges.map(|edge| format!("  t{} -> t{};\n", edge.pred, edge.succ));
    format!("digraph tasks {{\n{}{}}}\n", nodes.collect::<String>(), edges.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::recording::TaskRecord;

    #[test]
    fn implied_edges_are_marked() {
        let tasks = (0..4).map(|i| TaskRecord { kernel: format!("k{i}"), ready: None }).collect();
        let log = Log { tasks, edges: vec![(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)], ..Log::default() };
        let graph = graph(&log);
        let implied: Vec<bool> = graph.edges.iter().map(|edge| edge.implied).collect();
        assert_eq!(implied, [false, true, true, false, false]);
        assert!(dot(&graph).contains("t0 [label=\"k0(0)\"]") && !dot(&graph).contains("t0 -> t3"));
    }
}
