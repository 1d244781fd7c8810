//! The virtual time of a simulated call as a recording: what reads recordings reads it like that of any call.

use std::time::Duration;

use super::recording::{Detail, Log, Recording, ScopeRecord, Span, TaskRecord, longest_chain};
use crate::codegen::ascend::dialect::Core;
use crate::simulator::{Cores, VirtualTime};

/// Fills a recording; `workspace` are the bytes of all temporaries. Lanes are the cores that exist: those of the matrix unit, then those of the vector unit.
pub(super) fn record(recording: &Recording, time: &VirtualTime, cores: Cores, workspace: usize) {
    let timeline = &time.timeline;
    let lane = |core: Core, number: usize| match core {
        Core::Cube => number,
        Core::Vector => cores.cube + number,
    };
    let wants_ready = recording.detail() >= Detail::Dispatch;
    let mut log = recording.log();
    let Log { tasks, edges, spans, phases, scopes, lanes, virtual_total, .. } = &mut *log;
    // The phases of the call are on the host's clock, which has no place among virtual times.
    phases.clear();
    let first = tasks.len() as u32;
    tasks.extend(
        timeline.tasks.iter().map(|task| TaskRecord {
            kernel: task.kernel.clone(),
            ready: wants_ready.then(|| nanoseconds(task.ready)),
        }),
    );
    let own: Vec<(u32, u32)> = timeline.edges.iter().map(|(from, to)| (*from as u32, *to as u32)).collect();
    edges.extend(own.iter().map(|(from, to)| (first + from, first + to)));
    spans.extend(timeline.spans.iter().map(|span| Span {
        task: first + span.task as u32,
        lane: lane(span.core, span.core_number),
        begin: span.block as i64,
        end: span.block as i64 + 1,
        started: nanoseconds(span.begin),
        finished: nanoseconds(span.end),
        counts: None,
    }));
    scopes.push(ScopeRecord {
        first_task: first,
        tasks: timeline.tasks.len(),
        edges: own.len(),
        longest_chain: longest_chain(timeline.tasks.len(), &own),
        workspace,
    });
    let names = |core: Core, count: usize| (0..count).map(move |number| format!("{} {number}", core.unit()));
    *lanes = names(Core::Cube, cores.cube).chain(names(Core::Vector, cores.vector)).collect();
    *virtual_total = Some(virtual_total.unwrap_or_default() + nanoseconds(time.total));
}

fn nanoseconds(time: f64) -> Duration {
    Duration::from_nanos(time.round() as u64)
}
