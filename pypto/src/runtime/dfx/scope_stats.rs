//! Memory and tasks of the schedules that a call ran: a line of JSON each, and one before them with the maxima.
//!
//! A call has one schedule, or several where its control flow reads tensors.

use serde_json::json;

use crate::runtime::recording::Log;

/// Changes with the meaning of the lines.
pub const SCHEMA: u32 = 1;

/// The lines of a recorded call.
pub fn lines(log: &Log) -> String {
    let most = |of: fn(&crate::runtime::recording::ScopeRecord) -> usize| log.scopes.iter().map(of).max().unwrap_or(0);
    let header = json!({
        "schema": SCHEMA, "scopes": log.scopes.len(),
        "tasks_max": most(|scope| scope.tasks), "workspace_bytes_max": most(|scope| scope.workspace),
    });
    let scopes = log.scopes.iter().enumerate().map(|(number, scope)| {
        json!({
            "scope": number, "first_task": scope.first_task, "tasks": scope.tasks, "edges": scope.edges,
            "longest_chain": scope.longest_chain, "workspace_bytes": scope.workspace,
        })
    });
    std::iter::once(header).chain(scopes).map(|line| format!("{line}\n")).collect()
}
