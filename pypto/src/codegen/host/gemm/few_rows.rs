//! Products with few rows that have no faster way: those whose number of rows is not known, is 1 to 3, or whose columns or types do not suit
//! a micro-kernel. B is read where it lies and once, some of its rows at a time for all rows of C, whose sums stay in scratch rows that fit
//! L1. Packing B would cost about as much as the multiplications.

use super::words::Packing;
use super::{Block, Kind, Problem, b_offset, block, edges, kernel};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::{Builder, CacheLevel, Cmp, Elem, Tail, Type, Value};

/// Most rows that are ever done this way.
pub(super) const MOST: i64 = 16;
/// Most rows that are done this way instead of in blocks that are packed so: those of several steps in a word are done in less time.
pub(super) fn most(packing: Packing) -> i64 {
    match packing {
        Packing::One => MOST,
        Packing::Pairs => MOST / 2,
        Packing::Quads { .. } => MOST / 4,
    }
}

/// Most rows of B in flight.
pub(super) const STEPS: i64 = 8;
/// Columns of a block for the most rows: pieces of the rows of B are as long as the sums of all rows of C beside them in L1 allow.
const COLUMNS: i64 = 512;
/// Most rows of C for which a block has twice as many.
const LOW: i64 = 4;
/// Most rows of C for which pieces of the rows of B are stretches so long that the processor sees by itself what comes, and fetching more
/// into the nearest cache is in its way.
const LONG_ROWS: i64 = 3;
/// Columns of such a block for one row; of more rows it has fewer, so that the sums take 16 KiB.
const LONG: i64 = 4096;
/// Bytes along such stretches from what is multiplied to what is fetched into the second-level cache, where they come from memory. From
/// outer caches they come in time, and the instructions would only take some.
const AHEAD: i64 = 1024;

/// What is done together: the factors of so many steps and rows stay in registers while the columns pass.
#[derive(Clone, Copy)]
struct Shape {
    steps: i64,
    rows: i64,
    columns: i64,
}

/// Whether rows of B are passed in long stretches for so many rows of C.
pub(super) fn is_long(rows: i64) -> bool {
    (1..=LONG_ROWS).contains(&rows)
}

impl Shape {
    fn of(target: Target, rows: Option<i64>) -> Shape {
        let has_many = target.registers >= 32;
        if let Some(rows) = rows.filter(|&rows| is_long(rows)) {
            let steps = if rows == 1 || has_many { STEPS } else { STEPS / 2 };
            let columns = LONG / (rows as u64).next_power_of_two() as i64;
            return Shape { steps, rows, columns };
        }
        let columns = if rows.is_some_and(|rows| rows <= LOW) { 2 * COLUMNS } else { COLUMNS };
        Shape { steps: STEPS / 2, rows: if has_many { 4 } else { 2 }, columns }
    }
}

/// Scratch memory for the sums of rows with at most that many columns.
pub(super) fn scratch_bytes(n: Option<usize>) -> usize {
    let most = 2 * COLUMNS as usize;
    MOST as usize * n.map_or(most, |n| n.min(most)).next_multiple_of(16) * 4
}

/// Writes the product, for any number of rows; rows of B must be contiguous.
pub(super) fn emit(b: &mut Builder<'_>, kind: Kind, p: &Problem) {
    let shape = Shape::of(b.target(), kind.known.rows());
    let zero = b.index(0);
    let offset = b.index(b_offset(b.target()));
    let sums = b.addr(p.scratch, Elem::F32, offset);
    b.for_each(zero, p.n, shape.columns, |b, j0| {
        let (limit, left) = (b.index(shape.columns), b.sub(p.n, j0));
        let columns = b.min(left, limit);
        let distance = super::pack::padded(b, columns);
        b.for_each(zero, p.k, super::KC, |b, k0| {
            let block = block(b, kind, p, k0);
            let strip = Strip { shape, j0, columns, distance, sums, depth: block.depth };
            clear(b, kind, p, &strip);
            accumulate(b, kind, p, &block, &strip);
            b.for_each(zero, p.m, 1, |b, i| merge(b, kind, p, &block, &strip, i));
        });
    });
}

/// One block of the columns and of the inner dimension.
struct Strip {
    shape: Shape,
    j0: Value,
    columns: Value,
    /// From one row of sums to the next.
    distance: Value,
    sums: Value,
    depth: Value,
}

impl Strip {
    fn sums_of(&self, b: &mut Builder<'_>, kind: Kind, row: Value) -> Value {
        let offset = b.mul(row, self.distance);
        b.addr(self.sums, kind.acc, offset)
    }
}

/// Rows of sums follow each other without a gap, so that they are cleared as one.
fn clear(b: &mut Builder<'_>, kind: Kind, p: &Problem, strip: &Strip) {
    let (zero, none) = (b.index(0), b.constant(Type::Vector(kind.acc), 0));
    let (all, lanes) = (b.mul(p.m, strip.distance), b.lanes() as i64);
    b.for_each(zero, all, lanes, |b, j| b.store(none, strip.sums, j));
}

fn merge(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, strip: &Strip, row: Value) {
    let one = b.index(1);
    let c = super::element(b, kind.acc, p.c, [p.c_stride, one], row, strip.j0);
    let init = super::element(b, kind.acc, block.init, [block.init_stride, one], row, strip.j0);
    let sums = strip.sums_of(b, kind, row);
    edges::merge_row(b, kind, c, init, sums, block.adds, strip.columns);
}

/// All steps of the block, for all rows before the next ones, so that what was loaded of B is still in L1.
fn accumulate(b: &mut Builder<'_>, kind: Kind, p: &Problem, block: &Block, strip: &Strip) {
    let (zero, one, steps) = (b.index(0), b.index(1), b.index(strip.shape.steps));
    let rest = if kind.known.whole_depth { zero } else { b.urem(strip.depth, steps) };
    let whole = b.sub(strip.depth, rest);
    b.for_each(zero, whole, strip.shape.steps, |b, k| {
        let steps = Steps { block, k, count: strip.shape.steps };
        rows(b, kind, p, strip, &steps);
    });
    if !kind.known.whole_depth {
        b.for_loop(whole, strip.depth, one, &[], |b, k, _| {
            rows(b, kind, p, strip, &Steps { block, k, count: 1 });
            Vec::new()
        });
    }
}

/// Some steps of the inner dimension.
struct Steps<'a> {
    block: &'a Block,
    k: Value,
    count: i64,
}

/// These steps for all rows; the first rows fetch what comes next.
fn rows(b: &mut Builder<'_>, kind: Kind, p: &Problem, strip: &Strip, steps: &Steps<'_>) {
    let together = strip.shape.rows;
    if let Some(count) = kind.known.rows() {
        return (0..count).step_by(together as usize).for_each(|first| {
            let row = b.index(first);
            group(b, kind, p, strip, steps, row, together.min(count - first), first == 0);
        });
    }
    let (zero, several) = (b.index(0), b.index(together));
    let rest = b.urem(p.m, several);
    let whole = b.sub(p.m, rest);
    b.for_each(zero, whole, together, |b, row| group(b, kind, p, strip, steps, row, together, true));
    b.for_each(whole, p.m, 1, |b, row| group(b, kind, p, strip, steps, row, 1, true));
}

/// Adds the steps to the sums of `count` rows from `first` on.
fn group(
    b: &mut Builder<'_>,
    kind: Kind,
    p: &Problem,
    strip: &Strip,
    steps: &Steps<'_>,
    first: Value,
    count: i64,
    fetches: bool,
) {
    let at: Vec<Value> = super::offsets(b, steps.k, steps.count);
    let rows: Vec<Value> = super::offsets(b, first, count);
    let sums: Vec<Value> = rows.iter().map(|&row| strip.sums_of(b, kind, row)).collect();
    let (mut lines, mut factors) = (Vec::new(), Vec::new());
    for &step in &at {
        let k = b.add(steps.block.k0, step);
        lines.push(super::element(b, kind.b.elem, p.b, p.b_strides, k, strip.j0));
        for &row in &rows {
            let x = super::element(b, kind.a.elem, p.a, p.a_strides, row, k);
            let zero = b.index(0);
            let x = b.load(Type::Scalar(kind.a.elem), x, zero);
            let x = kind.a.widen(b, kind.acc, x);
            factors.push(b.splat(x));
        }
    }
    let (cache, next) = if kind.known.far {
        (CacheLevel::Second, along(b, kind, &lines))
    } else if fetches && !kind.known.rows().is_some_and(is_long) {
        (CacheLevel::First, following(b, kind, p, strip, &lines))
    } else {
        (CacheLevel::First, Vec::new())
    };
    let zero = b.index(0);
    let body = |b: &mut Builder<'_>, j: Value, tail: Tail| {
        let line: Vec<Value> = lines.iter().map(|&line| kind.b.load(b, kind.acc, line, j, None, tail.mask())).collect();
        let bytes = b.index(kind.b.elem.bytes() as i64);
        let offset = b.mul(j, bytes);
        next.iter().for_each(|&line| b.prefetch_to(cache, line, offset));
        for (r, &sums) in sums.iter().enumerate() {
            let mut sum = b.load(Type::Vector(kind.acc), sums, j);
            for (&y, factors) in line.iter().zip(factors.chunks(rows.len())) {
                sum = kernel::mul_add(b, kind.acc, factors[r], y, sum);
            }
            b.store(sum, sums, j);
        }
    };
    super::columns(b, kind, zero, strip.columns, body);
}

/// The same rows further on.
fn along(b: &mut Builder<'_>, kind: Kind, lines: &[Value]) -> Vec<Value> {
    let distance = b.index(AHEAD / kind.b.elem.bytes() as i64);
    lines.iter().map(|&line| b.addr(line, kind.b.elem, distance)).collect()
}

/// The same part of the rows that come after these, or further on where rows are so short that the next ones come at once: pieces of rows
/// are too short for the processor to see them coming.
fn following(b: &mut Builder<'_>, kind: Kind, p: &Problem, strip: &Strip, lines: &[Value]) -> Vec<Value> {
    let count = lines.len() as i64;
    let (short, near, far) = (b.index(COLUMNS / 2), b.index(count), b.index(4 * count));
    let is_short = b.cmp(Cmp::Le, strip.columns, short);
    let ahead = b.select(is_short, far, near);
    let after = b.mul(ahead, p.b_strides[0]);
    lines.iter().map(|&line| b.addr(line, kind.b.elem, after)).collect()
}
