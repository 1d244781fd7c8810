//! Products with very few rows and columns: all sums stay in registers, and B is read where it lies, one row after the other, as the
//! processor fetches it best.

use super::{Block, KC, Kind, Problem, block, edges, element, kernel};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::{Builder, Type, Value};

/// Steps that are written out.
const STEPS: i64 = 4;

/// The vectors of columns of a product that is done this way: whole ones, so many that sums wait little for each other, and so few that all
/// fit registers beside a row of B.
pub(super) fn vectors(target: Target, rows: i64, columns: i64) -> Option<i64> {
    let lanes = target.lanes as i64;
    let (vectors, registers) = (columns / lanes, target.registers as i64);
    let fits = columns % lanes == 0 && vectors >= 2 && (rows + 1) * vectors + rows <= registers;
    (fits && (1..super::few_tiles::FEWEST).contains(&rows)).then_some(vectors)
}

/// Writes the product.
pub(super) fn emit(b: &mut Builder<'_>, kind: Kind, p: &Problem, rows: i64, vectors: i64) {
    let zero = b.index(0);
    b.for_each(zero, p.k, KC, |b, k0| {
        let block = block(b, kind, p, k0);
        let sums = sums(b, kind, p, &block, rows, vectors);
        finish(b, kind, p, &block, vectors, &sums);
    });
}

/// The sums of a block, row by row.
fn sums(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, rows: i64, vectors: i64) -> Vec<Value> {
    let (zero, one, steps) = (b.index(0), b.index(1), b.index(STEPS));
    let none = vec![b.constant(Type::Vector(kind.acc), 0); (rows * vectors) as usize];
    let rest = if kind.known.whole_depth { zero } else { b.urem(block.depth, steps) };
    let whole = b.sub(block.depth, rest);
    let sums = b.for_loop(zero, whole, steps, &none, |b, k, sums| {
        let mut sums = sums.to_vec();
        for k in super::offsets(b, k, STEPS) {
            step(b, kind, p, block, k, vectors, &mut sums);
        }
        sums
    });
    if kind.known.whole_depth {
        return sums;
    }
    b.for_loop(whole, block.depth, one, &sums, |b, k, sums| {
        let mut sums = sums.to_vec();
        step(b, kind, p, block, k, vectors, &mut sums);
        sums
    })
}

/// Step k of the block.
fn step(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, k: Value, vectors: i64, sums: &mut [Value]) {
    let (zero, k) = (b.index(0), b.add(block.k0, k));
    let line = element(b, kind.b.elem, p.b, p.b_strides, k, zero);
    let columns = super::offsets_of_vectors(b, vectors);
    let line: Vec<Value> = columns.iter().map(|&j| kind.b.load(b, kind.acc, line, j, None, None)).collect();
    for (row, sums) in sums.chunks_mut(vectors as usize).enumerate() {
        let row = b.index(row as i64);
        let x = element(b, kind.a.elem, p.a, p.a_strides, row, k);
        let x = b.load(Type::Scalar(kind.a.elem), x, zero);
        let x = kind.a.widen(b, kind.acc, x);
        let x = b.splat(x);
        for (sum, &y) in sums.iter_mut().zip(&line) {
            *sum = kernel::mul_add(b, kind.acc, x, y, *sum);
        }
    }
}

/// Adds the initial values, where there are some, and stores.
fn finish(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, vectors: i64, sums: &[Value]) {
    let (zero, one) = (b.index(0), b.index(1));
    for (row, sums) in sums.chunks(vectors as usize).enumerate() {
        let row = b.index(row as i64);
        let c = element(b, kind.acc, p.c, [p.c_stride, one], row, zero);
        let init = element(b, kind.acc, block.init, [block.init_stride, one], row, zero);
        for (j, &sum) in super::offsets_of_vectors(b, vectors).into_iter().zip(sums) {
            edges::merge(b, kind.acc, [c, init], j, sum, block.adds, None);
        }
    }
}
