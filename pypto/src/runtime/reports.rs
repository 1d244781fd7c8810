//! What kernels show while they run ([`crate::ir::report`]), put into program order.
//!
//! A compiled kernel that shows values calls back through its status word, behind which lies the address of [`take`]; the
//! words that it hands over say where the values are. Each piece of a task collects for itself; the call sorts the pieces.

use std::sync::{Mutex, PoisonError};

use crate::ir::report::{Layout, MAX_SHOWN, Report, ReportSite, Shown};
use crate::ops::reference::{Array, Memory, Scalar, Shape};

/// The status that a compiled kernel gets: a word, 8 bytes from the start what takes its reports, and from 16 bytes on the scalars
/// that the message of a failed assertion shows, each in the low bytes of 8.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct StatusHead {
    pub code: u32,
    report: unsafe extern "C" fn(*mut u32, u32, *const u64),
    pub values: [u64; MAX_SHOWN],
}

impl StatusHead {
    /// Of a kernel that has not run. One that shows values while it runs needs a [`Status`].
    #[inline]
    pub fn new() -> StatusHead {
        StatusHead { code: 0, report: take, values: [0; MAX_SHOWN] }
    }
}

/// A status, and behind it what a kernel that shows values while it runs has shown.
#[repr(C)]
pub struct Status<'s> {
    pub head: StatusHead,
    sites: &'s [ReportSite],
    reports: Vec<Report>,
}

impl<'s> Status<'s> {
    /// For a kernel with these places.
    pub fn new(sites: &'s [ReportSite]) -> Status<'s> {
        Status { head: StatusHead::new(), sites, reports: Vec::new() }
    }

    /// What the kernel gets.
    pub fn word(&mut self) -> *mut u32 {
        (&raw mut *self).cast()
    }

    /// What was shown.
    pub fn into_reports(self) -> Vec<Report> {
        self.reports
    }
}

/// Called by compiled code at place number `site`. For each value, `words` has its address, and for each dimension of a
/// tile or tensor the extent that counts and the stride.
///
/// # Safety
/// `status` is the first field of a [`Status`] that nobody else uses; `words` and the values are as described.
unsafe extern "C" fn take(status: *mut u32, site: u32, words: *const u64) {
    // SAFETY: the caller's promise.
    let status = unsafe { &mut *status.cast::<Status<'_>>() };
    let Some(site) = status.sites.get(site as usize) else { return };
    let (mut words, mut values) = (words, Vec::with_capacity(site.values.len()));
    // SAFETY: there are as many words as the layouts below take.
    let mut next = || unsafe {
        let word = *words;
        words = words.add(1);
        word
    };
    for layout in &site.values {
        let address = next() as *mut u8;
        let (dtype, rank) = match layout {
            Layout::Scalar(dtype) => (*dtype, 0),
            Layout::Tile(dtype, dims) => (*dtype, dims.len()),
            Layout::Tensor(dtype, rank) => (*dtype, *rank),
        };
        values.push(match layout {
            Layout::Scalar(_) => {
                let mut bytes = [0u8; 8];
                // SAFETY: a scalar of that type is there.
                unsafe { address.copy_to_nonoverlapping(bytes.as_mut_ptr(), dtype.size()) };
                Shown::Scalar(Scalar { dtype, bits: u64::from_le_bytes(bytes) })
            }
            Layout::Tile(..) | Layout::Tensor(..) => {
                let (mut dims, mut strides) = (Shape::splat(0, rank), Shape::splat(0, rank));
                for axis in 0..rank {
                    (dims[axis], strides[axis]) = (next() as i64, next() as i64);
                }
                // SAFETY: elements of that type are there at every position that the layout reaches.
                let array = unsafe { Memory::new(dtype, dims, strides, address) };
                let array = array.and_then(|memory| memory.load(Shape::splat(0, rank), dims, dims));
                // Without memory for a copy nothing of it is shown.
                let array = array.or_else(|_| Array::zeros(dtype, Shape::splat(0, rank)));
                let Ok(array) = array else { return };
                if matches!(layout, Layout::Tile(..)) { Shown::Tile(array) } else { Shown::Tensor(array) }
            }
        });
    }
    status.reports.push(site.report(values));
}

/// Reports of one call.
#[derive(Default)]
pub struct ReportLog(Mutex<Collected>);

#[derive(Default)]
struct Collected {
    /// Tasks so far.
    tasks: usize,
    pieces: Vec<Piece>,
}

/// What iterations of a task from `begin` on have shown.
struct Piece {
    task: usize,
    begin: i64,
    reports: Vec<Report>,
}

impl ReportLog {
    /// Makes room for the tasks of a schedule; gives the number of the first.
    pub(super) fn add_tasks(&self, count: usize) -> usize {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.tasks += count;
        all.tasks - count
    }

    /// Keeps what a piece of a task has shown.
    pub(super) fn add(&self, task: usize, begin: i64, reports: Vec<Report>) {
        if !reports.is_empty() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).pieces.push(Piece { task, begin, reports });
        }
    }

    /// Everything, as if all had run one after the other.
    pub(super) fn into_reports(self) -> Vec<Report> {
        let mut pieces = self.0.into_inner().unwrap_or_else(PoisonError::into_inner).pieces;
        pieces.sort_by_key(|piece| (piece.task, piece.begin));
        pieces.into_iter().flat_map(|piece| piece.reports).collect()
    }
}
