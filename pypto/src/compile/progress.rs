//! How far a compilation is, for whoever watches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::ir::Program;
use crate::passes::list::Pass;
use crate::passes::manager::Instrument;

/// Something of a compilation that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    pub kind: StepKind,
    /// Of the pass, or of the kernel whose code was made.
    pub name: &'a str,
    /// How many of this kind are done, this one included, and how many there are.
    pub done: usize,
    pub total: usize,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    Pass,
    Kernel,
}

/// Is told of every step, by the threads that do them.
pub trait Progress: Send + Sync {
    /// The step is done.
    fn step(&self, step: Step<'_>);
}

/// Counts steps of one kind for a watcher, if there is one.
pub(super) struct Steps {
    watcher: Option<Arc<dyn Progress>>,
    kind: StepKind,
    done: AtomicUsize,
    total: usize,
}

impl Steps {
    pub(super) fn new(watcher: Option<&Arc<dyn Progress>>, kind: StepKind, total: usize) -> Steps {
        Steps { watcher: watcher.cloned(), kind, done: AtomicUsize::new(0), total }
    }

    pub(super) fn done(&self, name: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(watcher) = &self.watcher {
            watcher.step(Step { kind: self.kind, name, done, total: self.total });
        }
    }
}

impl Instrument for Steps {
    fn after(&self, pass: &'static Pass, _: &Program, _: Duration) {
        self.done(pass.name);
    }
}
