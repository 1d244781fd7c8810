//! A program loaded into the process, and calls of it.
//!
//! A call turns its arguments into words, finds the schedule that was made for such extents and scalars, or makes it,
//! and runs it. Once a schedule is there, a call allocates nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use super::direct::Direct;
use super::execute::{Failure, Frame, resolve};
use super::interpreted::interpreted;
use super::kernel::{Code, Kernel};
use super::panels::{self, PanelWords};
use super::perf_map;
use super::record::{Callable, Memory, Stop, depends_on_data, record};
use super::recording::{Execution, PhaseKind};
use super::region::Base;
use super::reports::ReportLog;
use super::schedule::Schedule;
use super::scratch::{ALIGNMENT, Buffer};
use super::simulated;
use crate::artifact::{Accelerator, HostExecutable, HostKernel, KernelCode};
use crate::codegen::host::loader::Image;
use crate::ir::report::observer::publish;
use crate::ir::report::{ReportSite, sites as report_sites};
use crate::ir::{DType, Function, ParamRole, Program};
use crate::language::argument::Argument;
use crate::ops::OpKind;

/// Schedules kept for one program; calls with more combinations of `dyn` extents make them anew.
const SCHEDULES: usize = 16;
/// Argument words that fit on the stack.
const WORDS: usize = 48;

/// A program that can be called.
pub struct HostProgram {
    program: Arc<Program>,
    kernels: Vec<Kernel>,
    kernel_index: HashMap<String, usize>,
    /// Where each word of the argument list comes from.
    sources: Vec<Source>,
    /// Which of them are panels, and whose.
    panels: PanelWords,
    /// Whether every call makes its schedule, because it reads tensors.
    reads: bool,
    /// Whether a kernel shows values.
    shows: bool,
    /// The schedule that fits every call.
    fixed: OnceLock<Arc<Schedule>>,
    /// The short way of calls that nobody observes, where the first call found that there is one.
    direct: OnceLock<Direct>,
    schedules: RwLock<Vec<Arc<Schedule>>>,
    frames: Mutex<Vec<Frame>>,
    /// What runs in the kernels' place.
    accelerator: Option<Accelerator>,
}

/// Where a word of the argument list comes from: which argument, and what of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Pointer(usize),
    Scalar(usize),
    Extent(usize, usize),
    Stride(usize, usize),
    /// Panels of that width, transposed or not.
    Panels(usize, usize, bool),
}

/// Why a program could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: {reason}")]
pub struct LoadFailed {
    pub kernel: String,
    pub reason: String,
}

impl HostProgram {
    /// Maps the code of every kernel.
    ///
    /// # Errors
    /// A damaged object, or one for another machine.
    pub fn load(executable: HostExecutable) -> Result<HostProgram, LoadFailed> {
        let program = Arc::new(executable.program);
        let accelerator = executable.accelerator;
        let kernels: Vec<Kernel> =
            executable.kernels.into_iter().map(|kernel| load_kernel(&program, kernel)).collect::<Result<_, _>>()?;
        Ok(HostProgram { accelerator, ..HostProgram::of_kernels(program, kernels) })
    }

    /// A program with the kernels that it calls.
    pub fn of_kernels(program: Arc<Program>, kernels: Vec<Kernel>) -> HostProgram {
        let kernel_index = kernels.iter().enumerate().map(|(i, k)| (k.name.clone(), i)).collect();
        let entry = program.entry_function();
        let panels = PanelWords::of(entry, &kernels);
        let mut sources = sources(entry);
        sources.extend(panels.sources(&sources));
        HostProgram {
            sources,
            panels,
            reads: depends_on_data(&entry.body),
            shows: kernels.iter().any(|kernel| !kernel.reports.is_empty()),
            kernels,
            kernel_index,
            program,
            fixed: OnceLock::new(),
            direct: OnceLock::new(),
            schedules: RwLock::default(),
            frames: Mutex::default(),
            accelerator: None,
        }
    }

    /// Whether a kernel shows values of checkpoints.
    pub fn has_checkpoints(&self) -> bool {
        let named = |site: &ReportSite| site.op.kind == OpKind::Checkpoint;
        self.shows && self.kernels.iter().any(|kernel| kernel.reports.iter().any(named))
    }

    /// The program that runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Names of the kernels that the interpreter runs.
    pub fn interpreted_kernels(&self) -> Vec<&str> {
        let interpreted = self.kernels.iter().filter(|k| matches!(k.code, Code::Interpreted(_)));
        interpreted.map(|k| k.name.as_str()).collect()
    }

    /// Runs the program. `arguments` are those of the signature, then the returned tensors.
    ///
    /// # Safety
    /// The arguments have the element types, ranks and extents that the program was compiled for, are contiguous, and
    /// nothing that is written shares memory with another argument.
    pub unsafe fn call(&self, arguments: &[Argument<'_>], execution: Execution<'_>) -> Result<(), Stop> {
        // SAFETY: the caller's promise.
        let direct = execution.is_unobserved().then(|| unsafe { self.call_directly(arguments) }).flatten();
        // SAFETY: the same.
        direct.unwrap_or_else(|| unsafe { self.call_scheduled(arguments, execution) })
    }

    /// As [`HostProgram::call`] of an unobserved call, where the program is one call of one kernel, and so short that it
    /// runs on this thread, whatever the number of threads; `None` where it is something else, and nothing ran.
    ///
    /// # Safety
    /// As for [`HostProgram::call`].
    #[inline]
    pub unsafe fn call_directly(&self, arguments: &[Argument<'_>]) -> Option<Result<(), Stop>> {
        // SAFETY: the caller's promise; these are the kernels that it was made for.
        self.direct.get().map(|direct| unsafe { direct.run(&self.kernels, arguments) }.map_err(Stop::Task))
    }

    /// # Safety
    /// As for [`HostProgram::call`].
    unsafe fn call_scheduled(&self, arguments: &[Argument<'_>], execution: Execution<'_>) -> Result<(), Stop> {
        let mut stack = [0u64; WORDS];
        let mut heap = Vec::new();
        let words = space(&mut stack, &mut heap, self.sources.len());
        execution.phase(PhaseKind::Bind, || {
            for (word, source) in words.iter_mut().zip(&self.sources) {
                *word = source.word(arguments);
            }
        });
        match execution.arguments {
            // SAFETY: the caller's promise.
            Some(dump) => unsafe {
                dump.around(false, self.program.entry_function(), words, || self.reporting(words, arguments, execution))
            },
            // SAFETY: the caller's promise.
            None => unsafe { self.reporting(words, arguments, execution) },
        }
    }

    /// Publishes what the kernels show, once they have all ended.
    ///
    /// # Safety
    /// As for [`HostProgram::call`].
    unsafe fn reporting(
        &self,
        words: &[u64],
        arguments: &[Argument<'_>],
        execution: Execution<'_>,
    ) -> Result<(), Stop> {
        if !self.shows {
            // SAFETY: the caller's promise.
            return unsafe { self.dispatch(words, arguments, execution) };
        }
        let log = ReportLog::default();
        // SAFETY: the caller's promise.
        let outcome = unsafe { self.dispatch(words, arguments, Execution { reports: Some(&log), ..execution }) };
        publish(log.into_reports());
        outcome
    }

    /// # Safety
    /// As for [`HostProgram::call`].
    unsafe fn dispatch(&self, words: &[u64], arguments: &[Argument<'_>], execution: Execution<'_>) -> Result<(), Stop> {
        if let Some(accelerator) = &self.accelerator {
            // SAFETY: the caller's promise.
            return unsafe { simulated::call(accelerator, arguments, execution) }.map(drop);
        }
        if self.reads {
            // SAFETY: the caller's promise.
            return unsafe { self.call_reading(words, execution) };
        }
        if let Some(schedule) = self.fixed.get() {
            // SAFETY: the caller's promise.
            return unsafe { self.run(schedule, words, execution) };
        }
        let schedule = execution.phase(PhaseKind::Schedule, || self.schedule(words))?;
        // SAFETY: the caller's promise.
        unsafe { self.run(&schedule, words, execution) }
    }

    /// The schedule for these words.
    fn schedule(&self, words: &[u64]) -> Result<Arc<Schedule>, Stop> {
        let fits = |s: &&Arc<Schedule>| s.made_for.iter().all(|(index, value)| words[*index] == *value);
        let known = self.schedules.read().unwrap_or_else(PoisonError::into_inner).iter().find(fits).cloned();
        if let Some(schedule) = known {
            return Ok(schedule);
        }
        let schedule = record(&self.program, self.callable(), words, None)?;
        if schedule.made_for.is_empty() {
            if let Some(direct) = Direct::of(&schedule, &self.kernels, &self.sources) {
                // Whoever made it first made the same.
                let _ = self.direct.set(direct);
            }
            return Ok(self.fixed.get_or_init(|| Arc::new(schedule)).clone());
        }
        let schedule = Arc::new(schedule);
        let mut schedules = self.schedules.write().unwrap_or_else(PoisonError::into_inner);
        if schedules.len() == SCHEDULES {
            schedules.pop();
        }
        schedules.insert(0, schedule.clone());
        Ok(schedule)
    }

    /// # Safety
    /// As for [`HostProgram::call`].
    unsafe fn run(&self, schedule: &Schedule, words: &[u64], execution: Execution<'_>) -> Result<(), Stop> {
        if let ([task], 0, None) = (&schedule.tasks[..], schedule.workspace, execution.arguments) {
            let mut stack = [0u64; WORDS];
            let mut heap = Vec::new();
            let arguments = schedule.words_of(task);
            let resolved = space(&mut stack, &mut heap, arguments.len());
            // Temporaries without elements need an address, but no memory.
            let nothing = std::ptr::without_provenance_mut(ALIGNMENT);
            for (to, word) in resolved.iter_mut().zip(arguments) {
                *to = resolve(*word, words, &[nothing]);
            }
            let tasks = execution.begin(schedule, &self.kernels);
            // SAFETY: the caller's promise; the words point into the caller's arguments.
            return unsafe { self.kernels[task.kernel].run(resolved, execution.threads, tasks, 0) }.map_err(Stop::Task);
        }
        let mut frame = self.take_frame();
        let workspace = execution.phase(PhaseKind::Workspace, || frame.workspace.reserve(schedule.workspace));
        let outcome = match workspace {
            // SAFETY: the caller's promise; the workspace has the size that the schedule asks for.
            Ok(temp) => unsafe { self.run_tasks(&mut frame, schedule, words, &[temp], execution) },
            Err(refused) => Err(refused.into()),
        };
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
        outcome.map_err(Stop::Task)
    }

    /// Runs the tasks of a schedule; one by one where their arguments are dumped.
    ///
    /// # Safety
    /// As for [`Frame::run`].
    unsafe fn run_tasks(
        &self,
        frame: &mut Frame,
        schedule: &Schedule,
        words: &[u64],
        temps: &[*mut u8],
        execution: Execution<'_>,
    ) -> Result<(), Failure> {
        let Some(dump) = execution.arguments.filter(|dump| dump.of_tasks()) else {
            // SAFETY: the caller's promise.
            return unsafe { frame.run(schedule, &self.kernels, words, temps, execution) };
        };
        let tasks = execution.begin(schedule, &self.kernels);
        for (number, task) in schedule.tasks.iter().enumerate() {
            let kernel = &self.kernels[task.kernel];
            let resolved: Vec<u64> = schedule.words_of(task).iter().map(|word| resolve(*word, words, temps)).collect();
            // SAFETY: the caller's promise; program order respects every edge.
            let run = || unsafe { kernel.run(&resolved, execution.threads, tasks, number) };
            match self.program.function(&kernel.name) {
                // SAFETY: the caller's promise: these are the kernel's arguments.
                Some(function) => unsafe { dump.around(true, function, &resolved, run) }?,
                None => run()?,
            }
        }
        Ok(())
    }

    /// What a schedule can call.
    fn callable(&self) -> Callable<'_> {
        Callable { index: &self.kernel_index, kernels: &self.kernels, panels: &self.panels }
    }

    fn take_frame(&self) -> Frame {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Runs a program whose control flow depends on data: tasks run whenever an element is read, and at the end.
    ///
    /// # Safety
    /// As for [`HostProgram::call`].
    unsafe fn call_reading(&self, words: &[u64], execution: Execution<'_>) -> Result<(), Stop> {
        let frame = self.take_frame();
        let mut memory = Running { host: self, frame, words, execution, buffers: Vec::new(), pointers: Vec::new() };
        let rest = record(&self.program, self.callable(), words, Some(&mut memory))?;
        memory.run(rest)?;
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).push(memory.frame);
        Ok(())
    }
}

/// Words on the stack, or on the heap where they are many.
fn space<'a>(stack: &'a mut [u64; WORDS], heap: &'a mut Vec<u64>, count: usize) -> &'a mut [u64] {
    if count <= WORDS {
        return &mut stack[..count];
    }
    heap.resize(count, 0);
    heap
}

impl Source {
    #[inline]
    pub(super) fn word(self, arguments: &[Argument<'_>]) -> u64 {
        match (self, arguments.get(self.argument())) {
            (Source::Pointer(_), Some(Argument::Tensor(t))) => t.data as u64,
            (Source::Scalar(_), Some(Argument::Scalar(s))) => s.bits,
            (Source::Extent(_, axis), Some(Argument::Tensor(t))) => t.dims[axis] as u64,
            (Source::Stride(_, axis), Some(Argument::Tensor(t))) => t.strides[axis] as u64,
            (Source::Panels(_, width, transposed), Some(Argument::Tensor(t))) => panels::address(t, width, transposed),
            _ => 0,
        }
    }

    fn argument(self) -> usize {
        match self {
            Source::Pointer(i) | Source::Scalar(i) => i,
            Source::Extent(i, _) | Source::Stride(i, _) | Source::Panels(i, ..) => i,
        }
    }
}

/// Arguments are those of the signature in order, then the returned tensors in order.
fn sources(entry: &Function) -> Vec<Source> {
    let is_argument = |role| matches!(role, ParamRole::Tensor | ParamRole::Scalar);
    let given = entry.params.iter().filter(|p| is_argument(p.role) && !p.returned).count();
    let (mut next_given, mut next_returned) = (0, given);
    let mut positions = vec![0; entry.params.len()];
    for (position, param) in positions.iter_mut().zip(&entry.params).filter(|(_, p)| is_argument(p.role)) {
        let next = if param.returned { &mut next_returned } else { &mut next_given };
        *position = *next;
        *next += 1;
    }
    let source = |(index, role): (usize, ParamRole)| match role {
        ParamRole::Tensor => Source::Pointer(positions[index]),
        ParamRole::Scalar => Source::Scalar(positions[index]),
        ParamRole::Extent { param, axis } => Source::Extent(positions[param], axis),
        ParamRole::Stride { param, axis } => Source::Stride(positions[param], axis),
    };
    entry.params.iter().map(|p| p.role).enumerate().map(source).collect()
}

fn load_kernel(program: &Arc<Program>, kernel: HostKernel) -> Result<Kernel, LoadFailed> {
    let HostKernel { name, code, iterations, scratch_bytes, sites, panels, cost } = kernel;
    let failed = |reason: String| LoadFailed { kernel: name.clone(), reason };
    let code = match code {
        KernelCode::Object { symbol, bytes } => {
            let image = Image::load(&bytes).map_err(|e| failed(e.to_string()))?;
            perf_map::register(&name, image.symbols());
            let entry =
                image.kernel(&symbol).ok_or_else(|| failed(format!("the object does not define `{symbol}`")))?;
            Code::Native { entry, image: Arc::new(image) }
        }
        KernelCode::Interpreted => {
            let code = interpreted(program, &name).ok_or_else(|| failed("no such function".into()))?;
            Code::Interpreted(code)
        }
    };
    let reports = program.function(&name).map(report_sites).unwrap_or_default();
    Ok(Kernel { name, code, iterations, scratch: scratch_bytes, sites, reports, panels, cost })
}

/// A call whose schedule is run piece by piece.
struct Running<'a> {
    host: &'a HostProgram,
    frame: Frame,
    words: &'a [u64],
    execution: Execution<'a>,
    buffers: Vec<Buffer>,
    pointers: Vec<*mut u8>,
}

impl Memory for Running<'_> {
    fn run(&mut self, schedule: Schedule) -> Result<(), Stop> {
        if schedule.tasks.is_empty() {
            return Ok(());
        }
        let Running { host, frame, words, execution, pointers, .. } = self;
        // SAFETY: `call_reading` has its caller's promise, and temporaries were allocated as the schedule asked.
        unsafe { host.run_tasks(frame, &schedule, words, pointers, *execution) }.map_err(Stop::Task)
    }

    fn read(&mut self, base: Base, offset: usize, dtype: DType) -> u64 {
        let start = match base {
            Base::Param(index) => self.words[index] as *const u8,
            Base::Temp(index) => self.pointers[index].cast_const(),
        };
        let mut bytes = [0u8; 8];
        // SAFETY: the element lies inside the tensor, which the recorder checked against its extents.
        unsafe { start.add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), dtype.size()) };
        u64::from_le_bytes(bytes)
    }

    fn allocate(&mut self, _: usize, bytes: usize) -> Result<(), Stop> {
        let mut buffer = Buffer::new();
        let memory = buffer.reserve(bytes).map_err(|refused| Stop::Task(refused.into()))?;
        self.pointers.push(memory);
        self.buffers.push(buffer);
        Ok(())
    }
}
