//! Where reports go. Lines go to standard output, or to the innermost [`printed`] of the calling thread; checkpoints to
//! the innermost [`recorded`], else to a file for each call in the directory that `PYPTO_CHECKPOINTS` names, else nowhere.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file::write_next;
use super::{Report, ReportKind};
use crate::config::environment::Environment;

thread_local! {
    /// What was printed, for each `printed` that runs.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// What was recorded, for each `recorded` that runs.
    static RECORDS: RefCell<Vec<Vec<Report>>> = const { RefCell::new(Vec::new()) };
}

/// How many `recorded` run on all threads, so that others need not look.
static RECORDING: AtomicUsize = AtomicUsize::new(0);

/// Where the process keeps the checkpoints of all calls.
fn directory() -> Option<&'static Path> {
    static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIRECTORY.get_or_init(|| Environment::process_or_default().checkpoints.clone()).as_deref()
}

/// Whether checkpoints of this thread's calls are kept, so that kernels have to be compiled with them.
#[inline]
pub fn is_recording() -> bool {
    directory().is_some() || (RECORDING.load(Ordering::Relaxed) > 0 && RECORDS.with_borrow(|r| !r.is_empty()))
}

/// Runs `f`; gives what kernels printed meanwhile in calls of this thread, instead of printing it. What eager runs print is
/// printed by Rust's own macros and not among it.
///
/// ```
/// use pypto::ir::report::observer::printed;
/// use pypto::prelude::*;
///
/// #[pypto::jit]
/// fn scaled(#[shape(N)] x: &Tensor<f32, 1>, factor: f32, #[out] #[shape(N)] y: &mut Tensor<f32, 1>) {
///     let t = x.load_all() * factor;
///     println!("factor {factor:.2}: {t:?}");
///     y.set(t);
/// }
///
/// let (x, mut y) = (Tensor::full([2], 3.0), Tensor::zeros([2]));
/// let (result, text) = printed(|| scaled(&x, 0.5, &mut y));
/// result?;
/// assert_eq!(text, "factor 0.50: Tile<f32>[2] [1.5, 1.5]\n");
/// # Ok::<(), pypto::Error>(())
/// ```
pub fn printed<R>(f: impl FnOnce() -> R) -> (R, String) {
    LINES.with_borrow_mut(|lines| lines.push(String::new()));
    let guard = Pop(|| LINES.with_borrow_mut(|lines| lines.pop()).unwrap_or_default());
    let result = f();
    (result, guard.pop())
}

/// Runs `f` with checkpoints switched on for the calls and eager runs of this thread; gives them in order.
///
/// ```
/// use pypto::ir::report::observer::recorded;
/// use pypto::prelude::*;
///
/// #[pypto::jit]
/// fn softmax(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
///     for at in tiles([M, N], [4, N]) {
///         let t = x.load(at);
///         let e = (t - t.row_max()).exp();
///         checkpoint!(e, "exponentials");
///         y.store(at, e / e.row_sum());
///     }
/// }
///
/// let (x, mut y) = (Tensor::from_fn([6, 8], |[i, j]| (i * j) as f32), Tensor::zeros([6, 8]));
/// let (result, compiled) = recorded(|| softmax(&x, &mut y));
/// result?;
/// let ((), eager) = recorded(|| softmax.eager((&x, &mut y)));
/// assert_eq!(compiled.len(), 2);
/// assert_eq!((compiled[1].text.as_str(), compiled[1].values[0].extents()), ("exponentials", vec![2, 8]));
/// assert!(compiled.iter().zip(&eager).all(|(a, b)| a.values[0].elements() == b.values[0].elements()));
/// # Ok::<(), pypto::Error>(())
/// ```
pub fn recorded<R>(f: impl FnOnce() -> R) -> (R, Vec<Report>) {
    RECORDING.fetch_add(1, Ordering::Relaxed);
    RECORDS.with_borrow_mut(|records| records.push(Vec::new()));
    let guard = Pop(|| {
        RECORDING.fetch_sub(1, Ordering::Relaxed);
        RECORDS.with_borrow_mut(|records| records.pop()).unwrap_or_default()
    });
    let result = f();
    (result, guard.pop())
}

/// Undoes something once, also when there is a panic.
struct Pop<T, F: FnMut() -> T>(F);

impl<T, F: FnMut() -> T> Pop<T, F> {
    fn pop(self) -> T {
        let mut this = std::mem::ManuallyDrop::new(self);
        (this.0)()
    }
}

impl<T, F: FnMut() -> T> Drop for Pop<T, F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Hands over the reports of a call that ended, on the thread that called.
pub fn publish(reports: Vec<Report>) {
    if reports.is_empty() {
        return;
    }
    let (lines, checkpoints): (Vec<Report>, Vec<Report>) =
        reports.into_iter().partition(|report| report.kind == ReportKind::Print);
    print(&lines);
    if checkpoints.is_empty() {
        return;
    }
    let left = RECORDS.with_borrow_mut(|records| match records.last_mut() {
        Some(record) => {
            record.extend(checkpoints);
            None
        }
        None => Some(checkpoints),
    });
    if let (Some(checkpoints), Some(directory)) = (left, directory())
        && let Err(error) = write_next(directory, &checkpoints)
    {
        // The call itself succeeded; a closed standard error must not end the program.
        let _ = writeln!(std::io::stderr().lock(), "checkpoints are lost: {error}");
    }
}

/// Runs `f`, an eager run, whose checkpoints are those of one call.
pub fn as_one_call<R>(f: impl FnOnce() -> R) -> R {
    if directory().is_none() || RECORDS.with_borrow(|records| !records.is_empty()) {
        return f();
    }
    let (result, checkpoints) = recorded(f);
    publish(checkpoints);
    result
}

fn print(lines: &[Report]) {
    if lines.is_empty() {
        return;
    }
    let text: String = lines.iter().map(Report::to_text).collect();
    let captured = LINES.with_borrow_mut(|all| all.last_mut().map(|kept| kept.push_str(&text)).is_some());
    if !captured {
        // A closed standard output must not end the program.
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }
}
