//! What one call did: the tasks of its schedules, their edges, and which thread ran which iterations of which kernel when.
//!
//! A call is recorded only on request; otherwise a task costs one more branch. Recording changes neither the order of
//! tasks nor how they are cut into chunks, so a recorded call computes what any call computes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::counters::{self, Counts};
use super::dfx::dump_args::ArgumentsDump;
use super::kernel::{Failure, Kernel};
use super::pool::lane;
use super::reports::ReportLog;
use super::schedule::Schedule;
use crate::config::PmuEvent;
use crate::ir::report::Report;

/// How much is recorded; each level has everything of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Which iterations of which kernel ran where and when.
    Kernels,
    /// When each task became ready.
    Dispatch,
    /// When threads waited for tasks.
    Scheduler,
    /// What the call did besides: binding of arguments, making of schedules, memory for temporaries.
    Orchestration,
}

/// Filled by the calls that it is passed to.
pub struct Recording {
    detail: Detail,
    counters: PmuEvent,
    start: Instant,
    log: Mutex<Log>,
}

/// What was recorded. Times count from the making of the [`Recording`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Tasks in program order.
    pub tasks: Vec<TaskRecord>,
    /// `(from, to)`: task `to` waited for task `from`.
    pub edges: Vec<(u32, u32)>,
    /// Pieces of tasks, in the order in which they ended.
    pub spans: Vec<Span>,
    pub phases: Vec<Phase>,
    /// The schedules that ran, in order.
    pub scopes: Vec<ScopeRecord>,
    /// What the lanes are, where they are not threads.
    pub lanes: Vec<String>,
    /// The time of the whole call, where times are those of a cost model and not of a clock.
    pub virtual_total: Option<Duration>,
}

/// A schedule that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeRecord {
    /// Number of its first task.
    pub first_task: u32,
    pub tasks: usize,
    pub edges: usize,
    /// Tasks on the longest path of edges: below this many steps, no number of threads ends it.
    pub longest_chain: usize,
    /// Bytes of temporaries.
    pub workspace: usize,
}

/// A task of a recorded call.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRecord {
    pub kernel: String,
    /// When everything that it waits for was finished; `None` below [`Detail::Dispatch`].
    pub ready: Option<Duration>,
}

/// Iterations `begin..end` of a task's kernel, run by one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub task: u32,
    /// 0 is the calling thread, n the worker n - 1 of the pool; or the number of a core.
    pub lane: usize,
    pub begin: i64,
    pub end: i64,
    pub started: Duration,
    pub finished: Duration,
    /// What the hardware counted meanwhile.
    pub counts: Option<Counts>,
}

/// What a thread did besides running kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    pub kind: PhaseKind,
    pub lane: usize,
    pub started: Duration,
    pub finished: Duration,
}

/// The kinds of [`Phase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseKind {
    /// Arguments become words.
    Bind,
    /// The schedule is made, or found.
    Schedule,
    /// Temporaries get memory.
    Workspace,
    /// A thread waits for a task to become ready.
    Wait,
}

impl PhaseKind {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            PhaseKind::Bind => "bind",
            PhaseKind::Schedule => "schedule",
            PhaseKind::Workspace => "workspace",
            PhaseKind::Wait => "wait",
        }
    }

    const fn detail(self) -> Detail {
        match self {
            PhaseKind::Wait => Detail::Scheduler,
            _ => Detail::Orchestration,
        }
    }
}

impl Recording {
    /// An empty recording, whose clock starts now.
    pub fn new(detail: Detail) -> Recording {
        Recording { detail, counters: PmuEvent::Off, start: Instant::now(), log: Mutex::default() }
    }

    /// With hardware counters around every piece of work.
    pub fn with_counters(self, counters: PmuEvent) -> Recording {
        Recording { counters, ..self }
    }

    /// How much is recorded.
    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// What was recorded so far.
    pub fn into_log(self) -> Log {
        self.log.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// About how long recording so many pieces of work takes: measured now, on this machine.
    pub fn overhead(pieces: usize) -> Duration {
        const SAMPLES: u32 = 256;
        let recording = Recording::new(Detail::Kernels);
        for _ in 0..SAMPLES {
            let (started, lane) = (recording.now(), lane());
            let span = Span { task: 0, lane, begin: 0, end: 0, started, finished: recording.now(), counts: None };
            recording.log().spans.push(span);
        }
        recording.now().mul_f64(pieces as f64 / f64::from(SAMPLES))
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Adds the tasks of a schedule; returns the number of its first one.
    fn add(&self, schedule: &Schedule, kernels: &[Kernel]) -> u32 {
        let now = self.now();
        let wants_ready = self.detail >= Detail::Dispatch;
        let mut log = self.log();
        let first = log.tasks.len() as u32;
        for task in &schedule.tasks {
            let ready = (wants_ready && task.waits == 0).then_some(now);
            log.tasks.push(TaskRecord { kernel: kernels[task.kernel].name.clone(), ready });
        }
        let successors = |(from, task)| schedule.successors_of(task).iter().map(move |to| (from as u32, *to));
        let edges: Vec<(u32, u32)> = schedule.tasks.iter().enumerate().flat_map(successors).collect();
        log.edges.extend(edges.iter().map(|(from, to)| (first + from, first + to)));
        log.scopes.push(ScopeRecord {
            first_task: first,
            tasks: schedule.tasks.len(),
            edges: edges.len(),
            longest_chain: longest_chain(schedule.tasks.len(), &edges),
            workspace: schedule.workspace,
        });
        first
    }

    fn phase<R>(&self, kind: PhaseKind, f: impl FnOnce() -> R) -> R {
        if self.detail < kind.detail() {
            return f();
        }
        let started = self.now();
        let result = f();
        let phase = Phase { kind, lane: lane(), started, finished: self.now() };
        self.log().phases.push(phase);
        result
    }
}

/// Tasks on the longest path. Edges go to later tasks, in the order of what they leave, or of what they reach.
pub(super) fn longest_chain(tasks: usize, edges: &[(u32, u32)]) -> usize {
    let mut steps = vec![1; tasks];
    for (from, to) in edges {
        steps[*to as usize] = steps[*to as usize].max(steps[*from as usize] + 1);
    }
    steps.into_iter().max().unwrap_or(0)
}

/// How a call runs.
#[derive(Clone, Copy)]
pub struct Execution<'r> {
    /// Threads, the caller included.
    pub threads: usize,
    pub recording: Option<&'r Recording>,
    pub arguments: Option<&'r ArgumentsDump>,
    /// Where kernels that show values put them.
    pub reports: Option<&'r ReportLog>,
    /// When no further piece of work is begun.
    pub deadline: Option<Instant>,
}

impl<'r> Execution<'r> {
    /// Runs on so many threads, unobserved.
    pub fn on(threads: usize) -> Execution<'r> {
        Execution { threads, recording: None, arguments: None, reports: None, deadline: None }
    }

    /// Whether nothing is recorded, kept or limited: the call leaves what it computes, and nothing else.
    #[inline]
    pub(super) fn is_unobserved(self) -> bool {
        self.recording.is_none() && self.arguments.is_none() && self.reports.is_none() && self.deadline.is_none()
    }

    /// Does something that is a phase of the call.
    pub(super) fn phase<R>(self, kind: PhaseKind, f: impl FnOnce() -> R) -> R {
        match self.recording {
            Some(recording) => recording.phase(kind, f),
            None => f(),
        }
    }

    /// Starts a schedule; its tasks are recorded through the result.
    pub(super) fn begin(self, schedule: &Schedule, kernels: &[Kernel]) -> Tasks<'r> {
        let recording = self.recording.map(|recording| (recording, recording.add(schedule, kernels)));
        let reports = self.reports.map(|log| (log, log.add_tasks(schedule.tasks.len())));
        Tasks { recording, reports, deadline: self.deadline }
    }
}

/// The running tasks of a schedule.
#[derive(Clone, Copy)]
pub(super) struct Tasks<'r> {
    /// With the number of the schedule's first task.
    recording: Option<(&'r Recording, u32)>,
    /// The same.
    reports: Option<(&'r ReportLog, usize)>,
    deadline: Option<Instant>,
}

impl Tasks<'_> {
    /// Runs iterations of a task, unless the time is over. `f` adds what they show to a list.
    pub(super) fn span(
        self,
        task: usize,
        begin: i64,
        end: i64,
        f: impl FnOnce(&mut Vec<Report>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut shown = Vec::new();
        let result = self.timed(task, begin, end, || f(&mut shown));
        if let Some((log, first)) = self.reports {
            log.add(first + task, begin, shown);
        }
        result
    }

    fn timed(self, task: usize, begin: i64, end: i64, f: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Failure::TimeLimit);
        }
        let Some((recording, first)) = self.recording else { return f() };
        let started = recording.now();
        let (result, counts) = match recording.counters {
            PmuEvent::Off => (f(), None),
            set => counters::count(set, f),
        };
        let finished = recording.now();
        let span = Span { task: first + task as u32, lane: lane(), begin, end, started, finished, counts };
        recording.log().spans.push(span);
        result
    }

    /// Notes that a task became ready.
    pub(super) fn ready(self, task: usize) {
        if let Some((recording, first)) = self.recording
            && recording.detail >= Detail::Dispatch
        {
            let now = recording.now();
            recording.log().tasks[first as usize + task].ready = Some(now);
        }
    }

    /// Waits for a task to become ready.
    pub(super) fn wait<R>(self, f: impl FnOnce() -> R) -> R {
        match self.recording {
            Some((recording, _)) => recording.phase(PhaseKind::Wait, f),
            None => f(),
        }
    }
}
