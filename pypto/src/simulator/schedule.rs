//! Virtual time of a run: which core runs which block when.
//!
//! A task waits for the earlier tasks whose memory it shares, where one of the two writes it. Its blocks go, in order, to
//! the core of its kind that is free first. There are no threads and no clock: the same program gives the same times.

use std::collections::BTreeSet;

use super::{Cores, VirtualTime};
use crate::codegen::ascend::AscendKernel;
use crate::codegen::ascend::dialect::Core;
use crate::ir::interpreter::{Passed, Tensor};
use crate::ir::{Direction, Function};
use crate::ops::reference::Memory;
use crate::target::Target;

/// One block of a task on a core; times in virtual nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Number of the task in order of dispatch.
    pub task: usize,
    pub kernel: String,
    pub block: usize,
    pub core: Core,
    /// Number of the core among those of its kind.
    pub core_number: usize,
    pub begin: f64,
    pub end: f64,
}

/// A task of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSpan {
    pub kernel: String,
    /// When all tasks that it waits for have ended, in virtual nanoseconds.
    pub ready: f64,
}

/// Every block of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    pub spans: Vec<Span>,
    /// Tasks in order of dispatch.
    pub tasks: Vec<TaskSpan>,
    /// `(from, to)`: task `to` waits for task `from`, with which it shares memory.
    pub edges: Vec<(usize, usize)>,
}

impl Timeline {
    /// The share of the time that the given number of cores of a kind work, over the whole run.
    pub fn utilization(&self, core: Core, cores: usize, total: f64) -> f64 {
        let busy: f64 = self.spans.iter().filter(|s| s.core == core).map(|s| s.end - s.begin).sum();
        if total > 0.0 && cores > 0 { busy / (total * cores as f64) } else { 0.0 }
    }
}

/// A call of a kernel.
pub(super) struct Task {
    kernel: String,
    core: Core,
    /// Tensors, and whether they are written.
    tensors: Vec<(Tensor, bool)>,
    /// Cycles of each block.
    pub blocks: Vec<f64>,
}

impl Task {
    pub fn new(kernel: &AscendKernel, source: &Function, arguments: &[Passed]) -> Task {
        let tensors = source.params.iter().zip(arguments).filter_map(|(param, argument)| match argument {
            Passed::Tensor(tensor) => Some((tensor.clone(), param.direction != Direction::In)),
            Passed::Scalar(_) => None,
        });
        Task { kernel: kernel.name.clone(), core: kernel.core, tensors: tensors.collect(), blocks: Vec::new() }
    }
}

/// A tensor of a task that was dispatched.
struct Earlier {
    task: usize,
    tensor: Tensor,
    writes: bool,
    /// When the task ends.
    end: f64,
}

/// What was dispatched so far.
pub(super) struct Schedule {
    target: &'static Target,
    /// When each core is free.
    cube: Vec<f64>,
    vector: Vec<f64>,
    /// Tensors of earlier tasks. Keeping the tensors keeps addresses from being used again.
    earlier: Vec<Earlier>,
    timeline: Timeline,
}

impl Schedule {
    pub fn new(target: &'static Target, cores: Cores) -> Schedule {
        let (cube, vector) = (vec![0.0; cores.cube], vec![0.0; cores.vector]);
        Schedule { target, cube, vector, earlier: Vec::new(), timeline: Timeline::default() }
    }

    /// Dispatches a task.
    pub fn add(&mut self, task: Task) {
        let number = self.timeline.tasks.len();
        let mut ready = 0.0f64;
        let mut waits_for = BTreeSet::new();
        for (tensor, writes) in &task.tensors {
            let shares = |e: &&Earlier| (*writes || e.writes) && overlap(tensor.memory(), e.tensor.memory());
            for earlier in self.earlier.iter().filter(shares) {
                ready = ready.max(earlier.end);
                waits_for.insert(earlier.task);
            }
        }
        self.timeline.edges.extend(waits_for.into_iter().map(|from| (from, number)));
        self.timeline.tasks.push(TaskSpan { kernel: task.kernel.clone(), ready });
        let cores = match task.core {
            Core::Cube => &mut self.cube,
            Core::Vector => &mut self.vector,
        };
        let costs = &self.target.costs;
        let mut end = ready;
        for (block, cycles) in task.blocks.iter().enumerate() {
            let first_free = (0..cores.len()).min_by(|a, b| cores[*a].total_cmp(&cores[*b])).unwrap_or(0);
            let begin = cores[first_free].max(ready);
            let done = begin + (costs.dispatch + cycles) / costs.clock;
            cores[first_free] = done;
            end = end.max(done);
            self.timeline.spans.push(Span {
                task: number,
                kernel: task.kernel.clone(),
                block,
                core: task.core,
                core_number: first_free,
                begin,
                end: done,
            });
        }
        let tensors = task.tensors.into_iter();
        self.earlier.extend(tensors.map(|(tensor, writes)| Earlier { task: number, tensor, writes, end }));
    }

    /// The time of everything.
    pub fn finish(self) -> VirtualTime {
        let total = self.timeline.spans.iter().map(|span| span.end).fold(0.0, f64::max);
        VirtualTime { total, timeline: self.timeline }
    }
}

/// Whether two tensors may share elements: exact for two windows of one row-major tensor.
fn overlap(a: &Memory, b: &Memory) -> bool {
    let bytes = |m: &Memory| {
        let first = m.address() as i64;
        (first, first + m.span() * m.dtype().size() as i64)
    };
    let ((a0, a1), (b0, b1)) = (bytes(a), bytes(b));
    if a0 >= b1 || b0 >= a1 {
        return false;
    }
    let size = a.dtype().size() as i64;
    let same_grid = a.strides() == b.strides() && a.dtype() == b.dtype() && (b0 - a0) % size == 0;
    let row = a.strides().first().copied().unwrap_or(0);
    if !same_grid || a.dims().len() != 2 || a.strides()[1] != 1 || row <= 0 {
        return true;
    }
    let distance = (b0 - a0) / size;
    // The other window begins so many columns to the right; to the left, where that reaches around the line's end.
    let right = distance.rem_euclid(row);
    let (width, other) = (a.dims()[1], b.dims()[1]);
    right < width || right + other > row
}
