//! Products with fewer rows than the micro-kernel: B is read once per row of C where it lies, several of its rows at a time, and the sums
//! of a row stay in a scratch row that fits L1. Packing B would cost more than the multiplications.

use super::{Kind, Problem, b_offset, block, kernel};
use crate::codegen::host::lir::{Builder, Elem, Type, Value};

/// Columns of a block: the sums of one row, 16 KiB.
const COLUMNS: i64 = 2048;
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
            b.for_each(zero, p.m, 1, |b, i| {
                clear(b, kind.acc, sums, columns);
                let one = b.index(1);
                let a = super::element(b, kind.a.elem, p.a, p.a_strides, i, block.k0);
                let source = super::element(b, kind.b.elem, p.b, p.b_strides, block.k0, j0);
                let row = Row { a, a_stride: p.a_strides[1], b: source, b_stride: p.b_strides[0], sums, columns };
                accumulate(b, kind, &row, block.depth);
                let c = super::element(b, kind.acc, p.c, [p.c_stride, one], i, j0);
                let init = super::element(b, kind.acc, block.init, [block.init_stride, one], i, j0);
                kernel::merge_row(b, kind.acc, c, init, sums, block.adds, columns);
            });
        });
    });
}

/// One row of C over one block.
struct Row {
    a: Value,
    a_stride: Value,
    b: Value,
    b_stride: Value,
    sums: Value,
    columns: Value,
}

fn clear(b: &mut Builder<'_>, acc: Elem, sums: Value, columns: Value) {
    let (zero, none) = (b.index(0), b.constant(Type::Vector(acc), 0));
    let lanes = b.lanes() as i64;
    // The scratch row is longer than the columns by up to a vector.
    b.for_each(zero, columns, lanes, |b, j| b.store(none, sums, j));
}

fn accumulate(b: &mut Builder<'_>, kind: Kind, row: &Row, depth: Value) {
    let (zero, one, steps) = (b.index(0), b.index(1), b.index(STEPS));
    let rest = b.urem(depth, steps);
    let whole = b.sub(depth, rest);
    b.for_each(zero, whole, STEPS, |b, k| steps_at(b, kind, row, k, STEPS));
    b.for_loop(whole, depth, one, &[], |b, k, _| {
        steps_at(b, kind, row, k, 1);
        Vec::new()
    });
}

/// Adds `count` steps from k on to all sums of the row.
fn steps_at(b: &mut Builder<'_>, kind: Kind, row: &Row, k: Value, count: i64) {
    let mut factors = Vec::new();
    let mut rows = Vec::new();
    for step in 0..count {
        let offset = b.index(step);
        let at = b.add(k, offset);
        let along = b.mul(at, row.a_stride);
        let x = b.load(Type::Scalar(kind.a.elem), row.a, along);
        let x = kind.a.widen(b, kind.acc, x);
        factors.push(b.splat(x));
        let start = b.mul(at, row.b_stride);
        rows.push(b.addr(row.b, kind.b.elem, start));
    }
    let zero = b.index(0);
    b.lanes_loop(zero, row.columns, 1, &[vec![]], |b, j, tail, _| {
        let mut sum = b.load(Type::Vector(kind.acc), row.sums, j);
        for (&x, &source) in factors.iter().zip(&rows) {
            let y = kind.b.load(b, kind.acc, source, j, None, tail.mask());
            sum = kernel::mul_add(b, kind.acc, x, y, sum);
        }
        b.store(sum, row.sums, j);
        vec![]
    });
}
