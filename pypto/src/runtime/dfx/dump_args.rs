//! The values that go into and come out of a call and its tasks.
//!
//! With a dump of tasks, they run one by one in program order, each with its values before and after; the results are
//! those of any other run. The bytes of all tensors stand one after another in one file, described by the entries.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::ir::{Direction, Extent, Function, Param, ParamRole, Type, ValueId};

/// Changes with the meaning of [`Entry`] and of the file around it.
pub const SCHEMA: u32 = 2;

/// Whose arguments are dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of the call.
    Call,
    /// Those of the call and of every task.
    Tasks,
}

/// When a value was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    Before,
    After,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The task, by its place in program order; `None` for the call.
    pub task: Option<u32>,
    /// The kernel, or the function that was called.
    pub function: String,
    pub parameter: String,
    pub direction: String,
    pub stage: Stage,
    pub dtype: String,
    /// `None` for scalars.
    pub extents: Option<Vec<i64>>,
    /// Where its bytes are: row-major, little endian. `None` where the limit was reached.
    pub offset: Option<usize>,
    pub bytes: usize,
}

/// Filled by the call that it is passed to.
pub struct ArgumentsDump {
    whose: Whose,
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    content: Content,
    /// Tasks that ran.
    tasks: u32,
}

/// What was dumped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    pub entries: Vec<Entry>,
    pub payload: Vec<u8>,
    /// How long copying took.
    pub spent: Duration,
}

impl ArgumentsDump {
    /// An empty dump of at most `limit` bytes of values; what exceeds it is described but not kept.
    pub fn new(whose: Whose, limit: usize) -> ArgumentsDump {
        ArgumentsDump { whose, limit, state: Mutex::default() }
    }

    /// Whether tasks are dumped too.
    pub(in crate::runtime) fn of_tasks(&self) -> bool {
        self.whose == Whose::Tasks
    }

    /// What was dumped.
    pub fn into_content(self) -> Content {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).content
    }

    /// Runs `f`, which runs `function` with `words`, and keeps what it takes and what it gives.
    ///
    /// # Safety
    /// `words` are arguments of `function`, as for [`Kernel::run_range`](crate::runtime::kernel::Kernel::run_range).
    pub(in crate::runtime) unsafe fn around<R>(
        &self,
        is_task: bool,
        function: &Function,
        words: &[u64],
        f: impl FnOnce() -> R,
    ) -> R {
        // SAFETY: the caller's promise.
        unsafe { self.note(Stage::Before, is_task, function, words) };
        let result = f();
        // SAFETY: the caller's promise.
        unsafe { self.note(Stage::After, is_task, function, words) };
        if is_task {
            self.next_task();
        }
        result
    }

    /// Counts a task whose values are all noted.
    pub(in crate::runtime) fn next_task(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).tasks += 1;
    }

    /// Keeps what `function` takes, or what it gives.
    ///
    /// # Safety
    /// As for [`ArgumentsDump::around`].
    pub(in crate::runtime) unsafe fn note(&self, stage: Stage, is_task: bool, function: &Function, words: &[u64]) {
        let start = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let task = is_task.then_some(state.tasks);
        for (param, word) in function.params.iter().zip(words).filter(|(param, _)| concerns(param, stage)) {
            let mut entry = entry(stage, task, function, param);
            let payload = &mut state.content.payload;
            let first = payload.len();
            let kept = match function.ty(param.value) {
                Type::Tensor(ty) => {
                    let extent = |extent: &Extent| value_of(function, words, extent);
                    let dims: Vec<i64> = ty.dims.iter().map(extent).collect();
                    let strides: Vec<i64> = ty.strides.iter().map(extent).collect();
                    entry.bytes = dims.iter().product::<i64>().max(0) as usize * ty.dtype.size();
                    let fits = first + entry.bytes <= self.limit;
                    if fits {
                        let tensor = Strided { at: *word as *const u8, dims: &dims, strides: &strides };
                        // SAFETY: the caller's promise: the word points to a tensor of these extents and strides.
                        unsafe { tensor.copy_to(ty.dtype.size(), payload) };
                    }
                    entry.extents = Some(dims);
                    fits
                }
                _ => {
                    payload.extend_from_slice(&word.to_le_bytes()[..entry.bytes]);
                    true
                }
            };
            entry.offset = kept.then_some(first);
            state.content.entries.push(entry);
        }
        state.content.spent += start.elapsed();
    }
}

/// Extents and strides are visible in the tensors.
fn concerns(param: &Param, stage: Stage) -> bool {
    match (param.role, stage) {
        (ParamRole::Tensor, Stage::Before) => param.direction != Direction::Out,
        (ParamRole::Tensor, Stage::After) => param.direction != Direction::In,
        (ParamRole::Scalar, Stage::Before) => true,
        _ => false,
    }
}

fn entry(stage: Stage, task: Option<u32>, function: &Function, param: &Param) -> Entry {
    let dtype = function.ty(param.value).dtype();
    Entry {
        task,
        function: function.name.clone(),
        parameter: param.name.clone(),
        direction: param.direction.name().to_owned(),
        stage,
        dtype: dtype.map_or("", |d| d.name()).to_owned(),
        extents: None,
        offset: None,
        bytes: dtype.map_or(0, |d| d.size()),
    }
}

/// An extent of a parameter's type: a constant, or the word of another parameter.
fn value_of(function: &Function, words: &[u64], extent: &Extent) -> i64 {
    let word = |value: ValueId| function.params.iter().position(|param| param.value == value).map(|i| words[i] as i64);
    match extent {
        Extent::Const(n) => *n,
        Extent::Value(value) => word(*value).unwrap_or(0),
    }
}

/// A tensor in memory.
struct Strided<'a> {
    at: *const u8,
    dims: &'a [i64],
    strides: &'a [i64],
}

impl Strided<'_> {
    /// Appends the elements in row-major order.
    ///
    /// # Safety
    /// The extents and strides (in elements of `size` bytes) lie within memory that nothing writes meanwhile.
    unsafe fn copy_to(&self, size: usize, out: &mut Vec<u8>) {
        let (Some((extent, dims)), Some((stride, strides))) = (self.dims.split_first(), self.strides.split_first())
        else {
            // SAFETY: the caller's promise about this element.
            out.extend_from_slice(unsafe { std::slice::from_raw_parts(self.at, size) });
            return;
        };
        if dims.is_empty() && *stride == 1 {
            // SAFETY: the caller's promise about this row.
            out.extend_from_slice(unsafe { std::slice::from_raw_parts(self.at, *extent as usize * size) });
            return;
        }
        for index in 0..*extent {
            let at = self.at.wrapping_offset((index * stride) as isize * size as isize);
            // SAFETY: the caller's promise; a part of the tensor.
            unsafe { Strided { at, dims, strides }.copy_to(size, out) };
        }
    }
}
