//! What the JIT tells of itself: counters, and an event for every compilation that says which part of the key changed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::key::{Change, Key};
use crate::compile::Fallback;
use crate::config::environment::Environment;
use crate::diagnostics::Diagnostic;

/// Counters since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Specializations that were compiled.
    pub compiled: u64,
    /// Specializations found in the disk cache.
    pub loaded: u64,
    /// Calls that waited for another thread's compilation of the same specialization.
    pub waited: u64,
    /// Calls that missed the call site's entry and found their specialization in memory.
    pub found: u64,
}

pub(super) static COMPILED: AtomicU64 = AtomicU64::new(0);
pub(super) static LOADED: AtomicU64 = AtomicU64::new(0);
pub(super) static WAITED: AtomicU64 = AtomicU64::new(0);
pub(super) static FOUND: AtomicU64 = AtomicU64::new(0);

/// Adds one to a counter.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The counters. Calls that hit their call site's entry are not counted: that path touches no shared memory.
pub fn stats() -> Stats {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Stats { compiled: read(&COMPILED), loaded: read(&LOADED), waited: read(&WAITED), found: read(&FOUND) }
}

/// A specialization became available.
#[derive(Clone, Debug)]
pub struct Event {
    pub key: Key,
    /// Where it came from.
    pub origin: Origin,
    /// How long that took.
    pub duration: Duration,
    /// How many variants of the kernel this process has, this one included.
    pub variants: usize,
    /// What differs from the variant before; empty for the first.
    pub changes: Vec<Change>,
    /// Set when the number of variants is suspicious.
    pub warning: Option<Diagnostic>,
}

/// Where a specialization came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Compiled,
    DiskCache,
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = match self.origin {
            Origin::Compiled => "compiled",
            Origin::DiskCache => "loaded",
        };
        write!(f, "{verb} {} in {:.2} ms", self.key, self.duration.as_secs_f64() * 1e3)?;
        if !self.changes.is_empty() {
            write!(f, ", variant {} because of {}", self.variants, list(&self.changes))?;
        }
        match &self.warning {
            Some(warning) => write!(f, "\n{}", crate::diagnostics::render(warning, false)),
            None => Ok(()),
        }
    }
}

fn list(changes: &[Change]) -> String {
    changes.iter().map(Change::to_string).collect::<Vec<_>>().join(", ")
}

type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

fn listeners() -> &'static Mutex<Vec<Listener>> {
    static LISTENERS: OnceLock<Mutex<Vec<Listener>>> = OnceLock::new();
    LISTENERS.get_or_init(Mutex::default)
}

/// Calls `listener` at every compilation from now on, on the thread that compiled.
pub fn on_event(listener: impl Fn(&Event) + Send + Sync + 'static) {
    listeners().lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(listener));
}

/// Tells all listeners, and standard error where `PYPTO_LOG=compile` asks for it.
pub(super) fn publish(event: &Event) {
    if log_enabled() {
        log(&event.to_string());
    } else if let Some(warning) = &event.warning {
        log(&crate::diagnostics::render(warning, false));
    }
    let all = listeners().lock().unwrap_or_else(PoisonError::into_inner).clone();
    all.iter().for_each(|listener| listener(event));
}

/// Tells that kernels run by the interpreter although machine code was asked for.
pub(super) fn fallbacks(key: &Key, list: &[Fallback]) {
    for Fallback { kernel, reason } in list.iter().filter(|_| log_enabled()) {
        log(&format!("`{kernel}` of {key} runs by the interpreter: {reason}"));
    }
}

fn log_enabled() -> bool {
    Environment::process_or_default().log_compile
}

fn log(text: &str) {
    use std::io::Write;
    // A closed standard error must not end the program.
    let _ = writeln!(std::io::stderr().lock(), "pypto: {text}");
}
