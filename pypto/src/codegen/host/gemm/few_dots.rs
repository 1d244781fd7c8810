//! Products with very few rows by the transpose of a matrix: each column of B is contiguous, and read once, where it lies.
//!
//! W columns are taken together. Squares of W x W elements are transposed in registers, so that a vector holds one step of all W columns and
//! the sums keep their order; packing B would write and read every element once more.

use super::pack::{Layout, Order};
use super::{Block, KC, Kind, Problem, Way, block, element, kernel};
use crate::codegen::host::lir::{Builder, Cmp, Type, Value};

/// Most rows that are done this way: their sums stay in registers.
pub(super) const MOST: i64 = 4;

/// Strips of short columns that are fetched ahead.
const STRIPS: i64 = 4;
/// Elements of a long column that are fetched ahead.
const FURTHER: i64 = 128;

/// Whether the layout of B is the one for this.
pub(super) fn fits(right: Layout) -> bool {
    right.order() == Order::Columns
}

/// Writes the product of `1..=MOST` rows.
pub(super) fn emit(b: &mut Builder<'_>, kind: Kind, p: &Problem) {
    let (zero, lanes) = (b.index(0), b.lanes() as i64);
    b.for_each(zero, p.n, lanes, |b, j| {
        let left = b.sub(p.n, j);
        let width = b.index(lanes);
        let whole = b.cmp(Cmp::Ge, left, width);
        let strip = |b: &mut Builder<'_>, masked: bool| {
            let mask = masked.then(|| b.tail_mask(left));
            let columns = columns(b, kind, p, j);
            b.for_each(zero, p.k, KC, |b, k0| {
                let block = block(b, p, k0);
                rows(b, kind, p, &block, &Strip { columns: columns.clone(), first: j, mask });
            });
            Vec::new()
        };
        b.if_else(whole, |b| strip(b, false), |b| strip(b, true));
    });
}

/// Some columns of B: their addresses, those beyond the last being the last one's.
struct Strip {
    columns: Vec<Value>,
    /// Number of the first column.
    first: Value,
    /// The lanes that exist, `None` for all.
    mask: Option<Value>,
}

fn columns(b: &mut Builder<'_>, kind: Kind, p: &Problem, first: Value) -> Vec<Value> {
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
fn rows(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, strip: &Strip) {
    let zero = b.index(0);
    if let Way::FewDots(Some(count)) = kind.known.way {
        return sums(b, kind, p, block, strip, zero, count);
    }
    b.for_each(zero, p.m, 1, |b, row| sums(b, kind, p, block, strip, row, 1));
}

/// How many bytes ahead to fetch: the same part of columns some strips further, where columns are short; otherwise what comes
/// in the same columns. So many streams are more than the processor follows by itself.
fn ahead(b: &mut Builder<'_>, kind: Kind, p: &Problem) -> Value {
    let (short, columns, further) = (b.index(KC), b.index(STRIPS * b.lanes() as i64), b.index(FURTHER));
    let is_short = b.cmp(Cmp::Le, p.k, short);
    let across = b.mul(columns, p.b_strides[1]);
    let (along, bytes) = (b.select(is_short, across, further), b.index(kind.b.elem.bytes() as i64));
    b.mul(along, bytes)
}

/// `count` rows from `first` on.
fn sums(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, strip: &Strip, first: Value, count: i64) {
    let (zero, one, lanes) = (b.index(0), b.index(1), b.index(b.lanes() as i64));
    let rows = super::offsets(b, first, count);
    let lines: Vec<Value> = rows.iter().map(|&row| element(b, kind.a.elem, p.a, p.a_strides, row, block.k0)).collect();
    let none = vec![b.constant(Type::Vector(kind.acc), 0); count as usize];
    let rest = b.urem(block.depth, lanes);
    let whole = b.sub(block.depth, rest);
    let add = |b: &mut Builder<'_>, k: Value, step: Value, sums: &mut [Value]| {
        let along = b.mul(k, p.a_strides[1]);
        for (sum, &line) in sums.iter_mut().zip(&lines) {
            let x = b.load(Type::Scalar(kind.a.elem), line, along);
            let x = kind.a.widen(b, kind.acc, x);
            let x = b.splat(x);
            *sum = kernel::mul_add(b, kind.acc, x, step, *sum);
        }
    };
    let ahead = ahead(b, kind, p);
    let totals = b.for_loop(zero, whole, lanes, &none, |b, k, sums| {
        let at = b.add(block.k0, k);
        let bytes = b.index(kind.b.elem.bytes() as i64);
        let offset = b.mul(at, bytes);
        let offset = b.add(offset, ahead);
        strip.columns.iter().for_each(|&column| b.prefetch(column, offset));
        let square: Vec<Value> =
            strip.columns.iter().map(|&column| kind.b.load(b, kind.acc, column, at, None, None)).collect();
        let mut sums = sums.to_vec();
        for (s, step) in b.transpose(&square).into_iter().enumerate() {
            let offset = b.index(s as i64);
            let k = b.add(k, offset);
            add(b, k, step, &mut sums);
        }
        sums
    });
    // The last steps, one at a time: an element of each column.
    let totals = b.for_loop(whole, block.depth, one, &totals, |b, k, sums| {
        let at = b.add(block.k0, k);
        let base = strip.columns[0];
        let step = kind.b.load(b, kind.acc, base, at, Some(p.b_strides[1]), strip.mask);
        let mut sums = sums.to_vec();
        add(b, k, step, &mut sums);
        sums
    });
    for (&row, &total) in rows.iter().zip(&totals) {
        let c = element(b, kind.acc, p.c, [p.c_stride, one], row, strip.first);
        let init = element(b, kind.acc, block.init, [block.init_stride, one], row, strip.first);
        let adds = b.cmp(Cmp::Ne, block.adds, zero);
        let value = b.if_else(
            adds,
            |b| {
                let old = b.load_vec(kind.acc, init, zero, None, strip.mask);
                vec![b.add(old, total)]
            },
            |_| vec![total],
        );
        b.store_vec(value[0], c, zero, None, strip.mask);
    }
}
