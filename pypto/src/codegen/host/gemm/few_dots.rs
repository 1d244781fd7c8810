//! Products with very few rows by the transpose of a matrix: each column of B is contiguous, and read once, where it lies.
//!
//! W columns are taken together. Squares of W x W elements are transposed in registers, so that a vector holds one step of all W columns and
//! the sums keep their order; packing B would write and read every element once more.

use super::pack::{Layout, Order};
use super::{Block, KC, Kind, Problem, block, edges, element, kernel};
use crate::codegen::host::lir::{Builder, Cmp, Type, Value};

/// Most rows that are done this way: their sums stay in registers.
pub(super) const MOST: i64 = 4;

/// Short columns that are fetched ahead.
const COLUMNS: i64 = 32;
/// Strips that one row takes side by side: the sums of one are a chain of operations that wait for each other.
const TOGETHER: i64 = 2;
/// Elements of a long column that are fetched ahead.
const FURTHER: i64 = 128;

/// Whether the layout of B is the one for this.
pub(super) fn fits(right: Layout) -> bool {
    right.order() == Order::Columns
}

/// Writes the product of at most [`MOST`] rows.
pub(super) fn emit(b: &mut Builder<'_>, kind: Kind, p: &Problem) {
    if kind.known.rows() == Some(0) {
        return;
    }
    let (zero, lanes) = (b.index(0), b.lanes() as i64);
    let together = if kind.known.rows() == Some(1) { TOGETHER } else { 1 };
    let width = b.index(together * lanes);
    let rest = b.urem(p.n, width);
    let whole = b.sub(p.n, rest);
    b.for_each(zero, whole, together * lanes, |b, j| {
        let firsts: Vec<Value> = (0..together)
            .map(|strip| {
                let offset = b.index(strip * lanes);
                b.add(j, offset)
            })
            .collect();
        strips(b, kind, p, &firsts, None);
    });
    b.for_each(whole, p.n, lanes, |b, j| {
        let left = b.sub(p.n, j);
        let mask = b.tail_mask(left);
        strips(b, kind, p, &[j], Some(mask));
    });
}

/// All blocks of the inner dimension for the strips of columns that begin there.
fn strips(b: &mut Builder<'_>, kind: Kind, p: &Problem, firsts: &[Value], mask: Option<Value>) {
    let strips: Vec<Strip> = firsts
        .iter()
        .map(|&first| Strip {
            columns: if mask.is_some() { clamped_columns(b, kind, p, first) } else { columns(b, kind, p, first) },
            first,
            mask,
        })
        .collect();
    let zero = b.index(0);
    b.for_each(zero, p.k, KC, |b, k0| {
        let block = block(b, kind, p, k0);
        rows(b, kind, p, &block, &strips);
    });
}

/// Some columns of B: their addresses, those beyond the last being the last one's. With a known distance they are one register and constants.
struct Strip {
    columns: Vec<Value>,
    /// Number of the first column.
    first: Value,
    /// The lanes that exist, `None` for all.
    mask: Option<Value>,
}

fn columns(b: &mut Builder<'_>, kind: Kind, p: &Problem, first: Value) -> Vec<Value> {
    let start = b.mul(first, p.b_strides[1]);
    let start = b.addr(p.b, kind.b.elem, start);
    (0..b.lanes() as i64)
        .map(|i| {
            let column = b.index(i);
            let offset = b.mul(column, p.b_strides[1]);
            b.addr(start, kind.b.elem, offset)
        })
        .collect()
}

fn clamped_columns(b: &mut Builder<'_>, kind: Kind, p: &Problem, first: Value) -> Vec<Value> {
    let one = b.index(1);
    let last = b.sub(p.n, one);
    (0..b.lanes() as i64)
        .map(|i| {
            let offset = b.index(i);
            let column = b.add(first, offset);
            let column = b.min(column, last);
            let start = b.mul(column, p.b_strides[1]);
            b.addr(p.b, kind.b.elem, start)
        })
        .collect()
}

/// One block of the inner dimension for all rows together, or row by row where their number is not known: the code for each that there
/// may be would take longer to compile than it saves.
fn rows(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, strips: &[Strip]) {
    let zero = b.index(0);
    if let Some(count) = kind.known.rows() {
        return sums(b, kind, p, block, strips, zero, count);
    }
    b.for_each(zero, p.m, 1, |b, row| sums(b, kind, p, block, strips, row, 1));
}

/// How many bytes ahead to fetch: the same part of columns further on, where columns are short; otherwise what comes
/// in the same columns. So many streams are more than the processor follows by itself.
fn ahead(b: &mut Builder<'_>, kind: Kind, p: &Problem) -> Value {
    let (short, columns, further) = (b.index(KC), b.index(COLUMNS), b.index(FURTHER));
    let is_short = b.cmp(Cmp::Le, p.k, short);
    let across = b.mul(columns, p.b_strides[1]);
    let (along, bytes) = (b.select(is_short, across, further), b.index(kind.b.elem.bytes() as i64));
    b.mul(along, bytes)
}

/// `count` rows from `first` on.
fn sums(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, strips: &[Strip], first: Value, count: i64) {
    let (zero, lanes) = (b.index(0), b.index(b.lanes() as i64));
    let rows = super::offsets(b, first, count);
    let lines: Vec<Value> = rows.iter().map(|&row| element(b, kind.a.elem, p.a, p.a_strides, row, block.k0)).collect();
    let none = vec![b.constant(Type::Vector(kind.acc), 0); strips.len() * rows.len()];
    let rest = b.urem(block.depth, lanes);
    let whole = b.sub(block.depth, rest);
    let ahead = ahead(b, kind, p);
    let totals = b.for_loop(zero, whole, lanes, &none, |b, k, sums| {
        let at = b.add(block.k0, k);
        let bytes = b.index(kind.b.elem.bytes() as i64);
        let offset = b.mul(at, bytes);
        let offset = b.add(offset, ahead);
        let mut sums = sums.to_vec();
        for (strip, sums) in strips.iter().zip(sums.chunks_mut(rows.len())) {
            strip.columns.iter().for_each(|&column| b.prefetch(column, offset));
            let square: Vec<Value> =
                strip.columns.iter().map(|&column| kind.b.load(b, kind.acc, column, at, None, None)).collect();
            for (s, step) in b.transpose(&square).into_iter().enumerate() {
                let offset = b.index(s as i64);
                let k = b.add(k, offset);
                add(b, kind, p, &lines, k, step, sums);
            }
        }
        sums
    });
    let totals =
        if kind.known.whole_squares { totals } else { last_steps(b, kind, p, block, strips, &lines, whole, &totals) };
    for (strip, totals) in strips.iter().zip(totals.chunks(rows.len())) {
        rows.iter().zip(totals).for_each(|(&row, &total)| finish(b, kind, p, block, strip, row, total));
    }
}

/// The last steps, one at a time: an element of each column.
fn last_steps(
    b: &mut Builder<'_>,
    kind: Kind,
    p: &Problem,
    block: &Block,
    strips: &[Strip],
    lines: &[Value],
    whole: Value,
    totals: &[Value],
) -> Vec<Value> {
    let one = b.index(1);
    b.for_loop(whole, block.depth, one, totals, |b, k, sums| {
        let at = b.add(block.k0, k);
        let mut sums = sums.to_vec();
        for (strip, sums) in strips.iter().zip(sums.chunks_mut(lines.len())) {
            let step = kind.b.load(b, kind.acc, strip.columns[0], at, Some(p.b_strides[1]), strip.mask);
            add(b, kind, p, lines, k, step, sums);
        }
        sums
    })
}

/// Step k of some columns times the element of each row of A.
fn add(b: &mut Builder<'_>, kind: Kind, p: &Problem, lines: &[Value], k: Value, step: Value, sums: &mut [Value]) {
    let along = b.mul(k, p.a_strides[1]);
    for (sum, &line) in sums.iter_mut().zip(lines) {
        let x = b.load(Type::Scalar(kind.a.elem), line, along);
        let x = kind.a.widen(b, kind.acc, x);
        let x = b.splat(x);
        *sum = kernel::mul_add(b, kind.acc, x, step, *sum);
    }
}

/// Adds the initial values, where there are some, and stores.
fn finish(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, strip: &Strip, row: Value, total: Value) {
    let (zero, one) = (b.index(0), b.index(1));
    let c = element(b, kind.acc, p.c, [p.c_stride, one], row, strip.first);
    let init = element(b, kind.acc, block.init, [block.init_stride, one], row, strip.first);
    edges::merge(b, kind.acc, [c, init], zero, total, block.adds, strip.mask);
}
