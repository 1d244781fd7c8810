//! Products with few rows whose sums fit registers: B is read where it lies and once, some of its rows at a time, each from its start to its
//! end, as the processor fetches what comes best along a row.
//!
//! The sums of a tile stay in registers for [`STEPS`] steps. More rows of B than that, at a distance of a power of two, would not stay in the
//! second-level cache until they are used.

use super::kernel::{self, Ahead, Left, Part, Tile};
use super::lines;
use super::pack::Layout;
use super::words::Packing;
use super::{Block, Kind, Problem, a_offset, block, in_place};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Value};

/// Fewest rows: sums of fewer would wait for each other.
pub(super) const FEWEST: i64 = 4;
/// Steps of a part.
const STEPS: i64 = 64;
/// Columns from what is multiplied to what is fetched.
const AHEAD: i64 = 128;
/// Sums that lie in the second-level cache, with what is fetched.
const SUMS: i64 = 32 << 10;

/// Whether a product of so many rows is done this way, for columns that are whole panels.
pub(super) fn fits(target: Target, [a, right]: [Layout; 2], packing: Packing, rows: i64) -> bool {
    let right_fits = right.elem == Elem::F32 && right.is_row_contiguous();
    rows >= FEWEST && lines::fits(a, packing, target.mr) && right_fits
}

/// Writes the product.
pub(super) fn emit(b: &mut Builder<'_>, kind: Kind, p: &Problem, rows: i64) {
    let (zero, nr) = (b.index(0), b.target().nr() as i64);
    let most = b.index(SUMS / rows / nr * nr);
    let offset = b.index(a_offset(b.target()));
    let sums = b.addr(p.scratch, Elem::F32, offset);
    b.for_loop(zero, p.n, most, &[], |b, j0, _| {
        let left = b.sub(p.n, j0);
        let columns = b.min(left, most);
        b.for_each(zero, p.k, super::KC, |b, k0| {
            let block = block(b, kind, p, k0);
            b.for_each(zero, block.depth, STEPS, |b, first| {
                Steps::of(b, &block, first).emit(b, kind, p, rows, [j0, columns, sums]);
            });
        });
        Vec::new()
    });
}

/// Some steps of a block.
struct Steps<'a> {
    block: &'a Block,
    k: Value,
    count: Value,
    is_first: Value,
    is_last: Value,
}

impl Steps<'_> {
    fn of<'a>(b: &mut Builder<'_>, block: &'a Block, first: Value) -> Steps<'a> {
        let (zero, most) = (b.index(0), b.index(STEPS));
        let left = b.sub(block.depth, first);
        let (is_first, is_last) = (b.cmp(Cmp::Eq, first, zero), b.cmp(Cmp::Le, left, most));
        Steps { block, k: b.add(block.k0, first), count: b.min(left, most), is_first, is_last }
    }

    /// All tiles of `columns` columns from `j0` on; their sums follow each other. The first rows fetch for all. Where rows of B are at a
    /// distance of a power of two, they do not stay in the first-level cache for the other rows: where registers are few, so that a line is
    /// used for few multiplications, these get copies.
    fn emit(&self, b: &mut Builder<'_>, kind: Kind, p: &Problem, rows: i64, [j0, columns, sums]: [Value; 3]) {
        let (zero, one, nr) = (b.index(0), b.index(1), b.target().nr() as i64);
        let (block, unit, beyond_sums) = (self.block, one, b.index(SUMS));
        let copy = b.addr(sums, Elem::F32, beyond_sums);
        let heights = heights(b.target().mr as i64, rows);
        let copies = heights.len() > 1 && b.target().registers < 32;
        b.for_each(zero, columns, nr, |b, j| {
            let column = b.add(j0, j);
            let right = super::element(b, kind.b.elem, p.b, p.b_strides, self.k, column);
            let ahead = ahead(b, p.b_strides[0], [j, columns]);
            let mut first = 0;
            for &height in &heights {
                let (row, is_first) = (b.index(first), first == 0);
                let tile = Tile {
                    depth: self.count,
                    left: Left::Rows(p.a_strides[0]),
                    a: super::element(b, kind.a.elem, p.a, p.a_strides, row, self.k),
                    b: if is_first || !copies { right } else { copy },
                    b_stride: (is_first || !copies).then_some(p.b_strides[0]),
                    c: super::element(b, kind.acc, p.c, [p.c_stride, unit], row, column),
                    c_stride: p.c_stride,
                    init: super::element(b, kind.acc, block.init, [block.init_stride, unit], row, column),
                    init_stride: block.init_stride,
                    adds: block.adds,
                    factors: None,
                    subnormal: None,
                    ahead: is_first.then_some(ahead),
                    part: Some(self.part(b, sums, [j, row], rows)),
                    copies: (is_first && copies).then_some(copy),
                };
                kernel::call(b, kind, height as usize, &tile);
                first += height;
            }
        });
    }

    /// The sums of all rows of a panel of columns come before those of the next one.
    fn part(&self, b: &mut Builder<'_>, sums: Value, [j, row]: [Value; 2], rows: i64) -> Part {
        let (rows, nr) = (b.index(rows), b.index(b.target().nr() as i64));
        let (above, before) = (b.mul(row, nr), b.mul(j, rows));
        let offset = b.add(before, above);
        Part { sums: b.addr(sums, Elem::F32, offset), is_first: self.is_first, is_last: self.is_last }
    }
}

/// Heights of the panels of so many rows.
fn heights(mr: i64, rows: i64) -> Vec<i64> {
    in_place::heights(mr, rows).into_iter().flat_map(|(count, height)| (0..count).map(move |_| height)).collect()
}

/// Columns further on, and beyond the last the first ones of the rows after these.
fn ahead(b: &mut Builder<'_>, stride: Value, [j, columns]: [Value; 2]) -> Ahead {
    let (distance, steps) = (b.index(AHEAD), b.index(STEPS));
    let next = b.add(j, distance);
    let is_beyond = b.cmp(Cmp::Ge, next, columns);
    let below = b.mul(steps, stride);
    let back = b.sub(distance, columns);
    let around = b.add(below, back);
    Ahead::Columns(b.select(is_beyond, around, distance))
}
