//! The swimlane of a call: one lane a thread, or a core of a simulated accelerator; one slice for each piece of a task.
//!
//! Two forms. [`records`] is the data, one row for each fact; [`trace`] is the Trace Event Format that Perfetto and
//! `chrome://tracing` load, with arrows between dependent tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::runtime::recording::{Detail, Log, Phase, Span};

/// Changes with the meaning of [`Records`].
pub const SCHEMA: u32 = 2;

/// The data of a swimlane. Times are nanoseconds since the start of the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    pub schema: u32,
    /// 1 kernels, 2 and when tasks became ready, 3 and waiting threads, 4 and the phases of the call.
    pub level: u8,
    /// `wall` where a clock was read, `virtual` where the times are those of a cost model.
    pub clock: String,
    /// What each lane is: a thread, or a core of a simulated accelerator.
    pub lanes: Vec<String>,
    pub tasks: Vec<TaskRow>,
    pub edges: Vec<(u32, u32)>,
    pub spans: Vec<SpanRow>,
    pub phases: Vec<PhaseRow>,
}

/// A task, by its place in program order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRow {
    pub kernel: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ready_ns: Option<u64>,
}

/// Iterations of a task's kernel that one thread ran; in a simulator the number of a block, and the one after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanRow {
    pub task: u32,
    pub lane: usize,
    /// First iteration, and the one after the last.
    pub iterations: (i64, i64),
    pub start_ns: u64,
    pub end_ns: u64,
}

/// What a thread did besides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseRow {
    pub kind: String,
    pub lane: usize,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// The level that stands for a detail.
pub const fn level(detail: Detail) -> u8 {
    match detail {
        Detail::Kernels => 1,
        Detail::Dispatch => 2,
        Detail::Scheduler => 3,
        Detail::Orchestration => 4,
    }
}

/// The rows of a recorded call.
pub fn records(log: &Log, detail: Detail) -> Records {
    let tasks = log.tasks.iter().map(|task| TaskRow { kernel: task.kernel.clone(), ready_ns: task.ready.map(nanos) });
    let mut spans: Vec<SpanRow> = log.spans.iter().map(span_row).collect();
    spans.sort_by_key(|span| (span.start_ns, span.task, span.iterations));
    let mut phases: Vec<PhaseRow> = log.phases.iter().map(phase_row).collect();
    phases.sort_by_key(|phase| (phase.start_ns, phase.lane));
    Records {
        schema: SCHEMA,
        level: level(detail),
        clock: if log.virtual_total.is_some() { "virtual" } else { "wall" }.into(),
        lanes: lane_names(log),
        tasks: tasks.collect(),
        edges: log.edges.clone(),
        spans,
        phases,
    }
}

fn lane_names(log: &Log) -> Vec<String> {
    if !log.lanes.is_empty() {
        return log.lanes.clone();
    }
    let used = log.spans.iter().map(|span| span.lane).chain(log.phases.iter().map(|phase| phase.lane)).max();
    let name = |lane| if lane == 0 { "caller".to_owned() } else { format!("worker {}", lane - 1) };
    (0..used.map_or(0, |last| last + 1)).map(name).collect()
}

fn span_row(span: &Span) -> SpanRow {
    let Span { task, lane, begin, end, started, finished, counts: _ } = *span;
    SpanRow { task, lane, iterations: (begin, end), start_ns: nanos(started), end_ns: nanos(finished) }
}

fn phase_row(phase: &Phase) -> PhaseRow {
    let Phase { kind, lane, started, finished } = *phase;
    PhaseRow { kind: kind.name().into(), lane, start_ns: nanos(started), end_ns: nanos(finished) }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The process of the lanes in a trace.
const PROCESS: u32 = 1;

/// The Trace Event Format: a slice for each span and phase, and an arrow from the end of a task to the start of each that
/// waited for it.
pub fn trace(program: &str, records: &Records) -> Value {
    let mut events = vec![name_event("process_name", 0, program)];
    let lanes: BTreeMap<usize, ()> =
        records.spans.iter().map(|span| (span.lane, ())).chain(records.phases.iter().map(|p| (p.lane, ()))).collect();
    let name_of = |lane: usize| records.lanes.get(lane).map_or("?", String::as_str);
    events.extend(lanes.keys().map(|lane| name_event("thread_name", *lane, name_of(*lane))));
    events.extend(records.spans.iter().map(|span| span_event(records, span)));
    events.extend(records.phases.iter().map(phase_event));
    events.extend(records.edges.iter().enumerate().flat_map(|(number, edge)| arrow(records, number, *edge)));
    let other = json!({ "clock": records.clock, "level": records.level });
    json!({ "traceEvents": events, "displayTimeUnit": "ns", "otherData": other })
}

fn name_event(kind: &str, lane: usize, name: &str) -> Value {
    json!({ "ph": "M", "name": kind, "pid": PROCESS, "tid": lane, "args": { "name": name } })
}

fn span_event(records: &Records, span: &SpanRow) -> Value {
    let task = &records.tasks[span.task as usize];
    let waited = task.ready_ns.map(|ready| span.start_ns.saturating_sub(ready));
    let arguments = json!({ "task": span.task, "iterations": span.iterations, "waited_ns": waited });
    slice(&format!("{}({})", task.kernel, span.task), "kernel", span.lane, span.start_ns, span.end_ns, arguments)
}

fn phase_event(phase: &PhaseRow) -> Value {
    slice(&phase.kind, "phase", phase.lane, phase.start_ns, phase.end_ns, json!({}))
}

fn slice(name: &str, category: &str, lane: usize, start: u64, end: u64, arguments: Value) -> Value {
    json!({
        "ph": "X", "name": name, "cat": category, "pid": PROCESS, "tid": lane,
        "ts": micros(start), "dur": micros(end.saturating_sub(start)), "args": arguments,
    })
}

/// Two events: the arrow leaves the span of `from` that ended last and reaches the span of `to` that started first.
fn arrow(records: &Records, number: usize, (from, to): (u32, u32)) -> Vec<Value> {
    let last = records.spans.iter().filter(|span| span.task == from).max_by_key(|span| span.end_ns);
    let first = records.spans.iter().filter(|span| span.task == to).min_by_key(|span| span.start_ns);
    let (Some(last), Some(first)) = (last, first) else { return Vec::new() };
    let event = |phase: &str, lane: usize, at: u64| {
        json!({
            "ph": phase, "name": "dependency", "cat": "dependency", "id": number, "pid": PROCESS, "tid": lane,
            "ts": micros(at), "bp": "e",
        })
    };
    // The format binds an arrow to the slice that encloses its time, so it leaves just before the slice's end.
    vec![
        event("s", last.lane, last.end_ns.saturating_sub(1).max(last.start_ns)),
        event("f", first.lane, first.start_ns),
    ]
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::recording::{PhaseKind, TaskRecord};

    fn log() -> Log {
        let at = Duration::from_nanos;
        let task = |kernel: &str, ready| TaskRecord { kernel: kernel.into(), ready: Some(at(ready)) };
        let span = |task, lane, begin, end, started, finished| Span {
            task,
            lane,
            begin,
            end,
            started: at(started),
            finished: at(finished),
            counts: None,
        };
        Log {
            tasks: vec![task("scale", 100), task("add", 2600)],
            edges: vec![(0, 1)],
            spans: vec![span(0, 1, 4, 8, 300, 2600), span(0, 0, 0, 4, 200, 2500), span(1, 0, 0, 1, 2700, 3000)],
            phases: vec![Phase { kind: PhaseKind::Bind, lane: 0, started: at(0), finished: at(90) }],
            ..Log::default()
        }
    }

    #[test]
    fn records_read_back() {
        let records = records(&log(), Detail::Orchestration);
        let text = serde_json::to_string(&records).unwrap();
        assert_eq!(serde_json::from_str::<Records>(&text).unwrap(), records);
        assert_eq!(records.spans[0].iterations, (0, 4));
    }

    #[test]
    fn arrows_leave_the_last_piece_and_reach_the_first() {
        let trace = trace("layer", &records(&log(), Detail::Orchestration));
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |phase: &str| events.iter().filter(|e| e["ph"] == phase).collect::<Vec<_>>();
        assert_eq!(of("X").len(), 4);
        assert_eq!((&of("s")[0]["tid"], &of("s")[0]["ts"]), (&json!(1), &json!(2.599)));
        assert_eq!((&of("f")[0]["tid"], &of("f")[0]["ts"]), (&json!(0), &json!(2.7)));
        let names: Vec<&str> = of("M").iter().filter_map(|e| e["args"]["name"].as_str()).collect();
        assert_eq!(names, ["layer", "caller", "worker 0"]);
        assert_eq!(of("X")[2]["args"]["waited_ns"], 100);
    }
}
