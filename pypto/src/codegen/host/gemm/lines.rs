//! The lines of a left factor that is read where it lies: its rows, each of contiguous steps.
//!
//! A panel of them needs an address for each, and reads them all to its height. Where the last rows fill no whole panel, it has copies of
//! them.

use super::KC;
use super::pack::{Layout, Order};
use super::words::Packing;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Value};

/// Rows of a panel at most: so many addresses stay in registers.
pub(super) const MOST: usize = 8;

/// Whether a left factor is read where it lies, in panels of so many rows. Packing would read and write as many cache lines as the first
/// panel of the right factor reads.
pub(super) fn fits(left: Layout, packing: Packing, panel_rows: usize) -> bool {
    packing == Packing::One && left.elem == Elem::F32 && left.order() == Order::Rows && panel_rows <= MOST
}

/// Rows of the left factor.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub a: Value,
    pub stride: Value,
    pub rest: Option<Rest>,
}

/// The last panel, if it is not whole: copies of the lines of A.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    pub rows: Value,
    /// The first row.
    first: Value,
    copies: Value,
}

impl Lines {
    /// Lines in panels of that height, with the last ones copied to `copies` where they fill no whole panel, and the last of all as often
    /// as it takes to make them one. Where there are none, `first` is no row of a panel.
    pub(super) fn with_rest(
        b: &mut Builder<'_>,
        [a, stride, rows, depth]: [Value; 4],
        height: i64,
        copies: Value,
    ) -> Lines {
        let (zero, one) = (b.index(0), b.index(1));
        let (tall, distance) = (b.index(height), b.index(KC));
        let rest = b.urem(rows, tall);
        let (first, last) = (b.sub(rows, rest), b.sub(rows, one));
        let some = b.cmp(Cmp::Lt, zero, rest);
        let count = b.select(some, tall, zero);
        b.for_each(zero, count, 1, |b, line| {
            let row = b.add(first, line);
            let row = b.min(row, last);
            let (from_row, to_row) = (b.mul(row, stride), b.mul(line, distance));
            let (from, to) = (b.addr(a, Elem::F32, from_row), b.addr(copies, Elem::F32, to_row));
            b.lanes_loop(zero, depth, 1, &[vec![]], |b, k, tail, _| {
                let value = b.load_vec(Elem::F32, from, k, None, tail.mask());
                b.store_vec(value, to, k, None, tail.mask());
                vec![]
            });
        });
        Lines { a, stride, rest: Some(Rest { rows, first, copies }) }
    }

    /// First element and distance of the lines from row i on.
    pub(super) fn panel(&self, b: &mut Builder<'_>, i: Value) -> (Value, Value) {
        let along = b.mul(i, self.stride);
        let a = b.addr(self.a, Elem::F32, along);
        let Some(rest) = self.rest else { return (a, self.stride) };
        let (is_rest, distance) = (b.cmp(Cmp::Eq, i, rest.first), b.index(KC));
        (b.select(is_rest, rest.copies, a), b.select(is_rest, distance, self.stride))
    }
}
