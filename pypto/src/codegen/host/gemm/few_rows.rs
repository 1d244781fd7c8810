//! Products with few rows: B is read where it lies, several of its rows at a time for several rows of C, whose sums stay in scratch rows
//! that fit L1. Packing B would cost about as much as the multiplications.

use super::{Block, Kind, Problem, b_offset, block, kernel};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};

/// Columns of a block: the sums of [`TOGETHER`] rows, 16 KiB.
const COLUMNS: i64 = 1024;
/// Rows of C that share the reading of B.
const TOGETHER: i64 = 4;
/// Most rows that are done this way.
pub(super) const MOST: i64 = 16;
/// Rows of B in flight.
const STEPS: i64 = 8;

/// Writes the product, for any number of rows; rows of B must be contiguous.
pub(super) fn emit(b: &mut Builder<'_>, kind: Kind, p: &Problem) {
    let zero = b.index(0);
    let offset = b.index(b_offset(b.target()));
    let sums = b.addr(p.scratch, Elem::F32, offset);
    b.for_each(zero, p.n, COLUMNS, |b, j0| {
        let (limit, left) = (b.index(COLUMNS), b.sub(p.n, j0));
        let columns = b.min(left, limit);
        b.for_each(zero, p.k, super::KC, |b, k0| {
            let block = block(b, p, k0);
            let together = b.index(TOGETHER);
            let rest = b.urem(p.m, together);
            let whole = b.sub(p.m, rest);
            b.for_each(zero, whole, TOGETHER, |b, i| rows(b, kind, p, &block, [i, j0, columns, sums], TOGETHER));
            let one = b.index(1);
            b.for_loop(whole, p.m, one, &[], |b, i, _| {
                rows(b, kind, p, &block, [i, j0, columns, sums], 1);
                Vec::new()
            });
        });
    });
}

/// `count` rows of C from row i on over one block; `at` = i, first column, number of columns, scratch rows.
fn rows(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, at: [Value; 4], count: i64) {
    let [i, j0, columns, sums] = at;
    let one = b.index(1);
    let (mut lines, mut sources, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let distance = super::pack::padded(b, columns);
    for r in 0..count {
        let row = b.index(r);
        let offset = b.mul(row, distance);
        let sums = b.addr(sums, kind.acc, offset);
        clear(b, kind.acc, sums, columns);
        let row = b.add(i, row);
        lines.push(sums);
        sources.push(super::element(b, kind.a.elem, p.a, p.a_strides, row, block.k0));
        rows.push(row);
    }
    let source = super::element(b, kind.b.elem, p.b, p.b_strides, block.k0, j0);
    let strip =
        Strip { a: sources, a_stride: p.a_strides[1], b: source, b_stride: p.b_strides[0], sums: lines, columns };
    accumulate(b, kind, &strip, block.depth);
    for (&row, &sums) in rows.iter().zip(&strip.sums) {
        let c = super::element(b, kind.acc, p.c, [p.c_stride, one], row, j0);
        let init = super::element(b, kind.acc, block.init, [block.init_stride, one], row, j0);
        kernel::merge_row(b, kind.acc, c, init, sums, block.adds, columns);
    }
}

/// Some rows of C over one block.
struct Strip {
    /// First elements of the rows of A.
    a: Vec<Value>,
    a_stride: Value,
    b: Value,
    b_stride: Value,
    sums: Vec<Value>,
    columns: Value,
}

fn clear(b: &mut Builder<'_>, acc: Elem, sums: Value, columns: Value) {
    let (zero, none) = (b.index(0), b.constant(Type::Vector(acc), 0));
    let lanes = b.lanes() as i64;
    // The scratch row is longer than the columns by up to a vector.
    b.for_each(zero, columns, lanes, |b, j| b.store(none, sums, j));
}

fn accumulate(b: &mut Builder<'_>, kind: Kind, strip: &Strip, depth: Value) {
    let (zero, one, steps) = (b.index(0), b.index(1), b.index(STEPS));
    let rest = b.urem(depth, steps);
    let whole = b.sub(depth, rest);
    b.for_each(zero, whole, STEPS, |b, k| steps_at(b, kind, strip, k, STEPS));
    b.for_loop(whole, depth, one, &[], |b, k, _| {
        steps_at(b, kind, strip, k, 1);
        Vec::new()
    });
}

/// How many rows ahead to fetch: the next ones, and further where rows are so short that these come at once.
fn rows_ahead(b: &mut Builder<'_>, columns: Value, count: i64) -> Value {
    let (short, near, far) = (b.index(COLUMNS / 4), b.index(count), b.index(4 * count));
    let is_short = b.cmp(Cmp::Le, columns, short);
    b.select(is_short, far, near)
}

/// Adds `count` steps from k on to all sums of the rows.
fn steps_at(b: &mut Builder<'_>, kind: Kind, strip: &Strip, k: Value, count: i64) {
    let (mut factors, mut lines, mut next) = (Vec::new(), Vec::new(), Vec::new());
    let ahead = rows_ahead(b, strip.columns, count);
    for step in 0..count {
        let offset = b.index(step);
        let at = b.add(k, offset);
        let along = b.mul(at, strip.a_stride);
        for &row in &strip.a {
            let x = b.load(Type::Scalar(kind.a.elem), row, along);
            let x = kind.a.widen(b, kind.acc, x);
            factors.push(b.splat(x));
        }
        let start = b.mul(at, strip.b_stride);
        lines.push(b.addr(strip.b, kind.b.elem, start));
        // The same part of a row that comes after these: pieces of rows are too short for the processor to see them coming.
        let after = b.mul(ahead, strip.b_stride);
        next.push(b.addr(lines[lines.len() - 1], kind.b.elem, after));
    }
    let (zero, rows) = (b.index(0), strip.a.len());
    b.lanes_loop(zero, strip.columns, 1, &[vec![]], |b, j, tail, _| {
        let line: Vec<Value> = lines.iter().map(|&line| kind.b.load(b, kind.acc, line, j, None, tail.mask())).collect();
        let bytes = b.index(kind.b.elem.bytes() as i64);
        let offset = b.mul(j, bytes);
        next.iter().for_each(|&line| b.prefetch(line, offset));
        for (r, &sums) in strip.sums.iter().enumerate() {
            let mut sum = b.load(Type::Vector(kind.acc), sums, j);
            for (&y, factors) in line.iter().zip(factors.chunks(rows)) {
                sum = kernel::mul_add(b, kind.acc, factors[r], y, sum);
            }
            b.store(sum, sums, j);
        }
        vec![]
    });
}
