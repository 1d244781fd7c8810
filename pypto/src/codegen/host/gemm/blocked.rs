//! Products of blocks: the loops around the micro-kernel. The right factor is packed, and the left one where it is not read in place.

use super::kernel::{self, Left};
use super::lines::{self, Lines};
use super::{
    Block, Kind, NC, NC_ONCE, Problem, a_offset, b_offset, block, edges, element, mc, one, pack, panels, words,
};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Value};

/// Columns of a block of B: those that come in panels need no room.
fn block_columns(b: &mut Builder<'_>, kind: Kind, p: &Problem) -> Value {
    let (wide, narrow, block_rows) = (b.index(NC), b.index(NC_ONCE), b.index(mc(kind.mr)));
    let once = b.cmp(Cmp::Le, p.m, block_rows);
    let packed = b.select(once, narrow, wide);
    let Some(source) = p.panels else { return packed };
    let there = source.is_there(b);
    b.select(there, wide, packed)
}

/// Writes the product, which has steps.
pub(super) fn emit(b: &mut Builder<'_>, kind: Kind, p: &Problem) {
    let target = b.target();
    let (zero, offset_a, offset_b) = (b.index(0), b.index(a_offset(target)), b.index(b_offset(target)));
    let (packed_a, packed_b) = (b.addr(p.scratch, Elem::F32, offset_a), b.addr(p.scratch, Elem::F32, offset_b));
    let nc = block_columns(b, kind, p);
    b.for_loop(zero, p.n, nc, &[], |b, j0, _| {
        let left = b.sub(p.n, j0);
        let columns = b.min(left, nc);
        b.for_each(zero, p.k, kind.packing.depth(kind.acc), |b, k0| {
            let block = block(b, kind, p, k0);
            let (right, range_b) = right_block(b, kind, p, &block, j0, columns, packed_b);
            b.for_each(zero, p.m, mc(kind.mr), |b, i0| {
                let (limit, left) = (b.index(mc(kind.mr)), b.sub(p.m, i0));
                let rows = b.min(left, limit);
                let source = element(b, kind.a.elem, p.a, p.a_strides, i0, block.k0);
                let (left, range_a) = left_block(b, kind, p, source, [rows, block.depth], packed_a);
                let subnormal = words::may_be_subnormal(b, range_a, range_b);
                let unit = one(b);
                let c = element(b, kind.acc, p.c, [p.c_stride, unit], i0, j0);
                let init = element(b, kind.acc, block.init, [block.init_stride, unit], i0, j0);
                let tiles = Tiles { kind, p, block: &block, right, left, c, init, subnormal, rows, columns };
                tiles.emit(b);
            });
        });
        Vec::new()
    });
}

/// A block of A.
enum LeftBlock {
    /// In panels, packed here.
    Packed(Value),
    InPlace(Lines),
}

/// A block of A of so many rows and steps; and what is known of its exponents.
fn left_block(
    b: &mut Builder<'_>,
    kind: Kind,
    p: &Problem,
    source: Value,
    [rows, depth]: [Value; 2],
    packed: Value,
) -> (LeftBlock, Option<Value>) {
    if !lines::fits(kind.a, kind.packing, kind.mr) {
        let range = pack::pack_a(b, kind, source, p.a_strides, rows, depth, packed);
        return (LeftBlock::Packed(packed), range);
    }
    let (a, stride) = (source, p.a_strides[0]);
    let lines = match kind.known.rest_rows {
        Some(_) => Lines { a, stride, rest: None },
        None => Lines::with_rest(b, [a, stride, rows, depth], kind.mr as i64, packed),
    };
    (LeftBlock::InPlace(lines), None)
}

/// A block of B in panels, packed here unless the call has it; and what is known of its exponents.
fn right_block(
    b: &mut Builder<'_>,
    kind: Kind,
    p: &Problem,
    block: &Block,
    j0: Value,
    columns: Value,
    packed: Value,
) -> (panels::Place, Option<Value>) {
    let pack = |b: &mut Builder<'_>| {
        let source = element(b, kind.b.elem, p.b, p.b_strides, block.k0, j0);
        pack::pack_b(b, kind, source, p.b_strides, block.depth, columns, packed)
    };
    let place = panels::Place { start: packed, for_column: kind.packing.panel(b, block.steps) };
    let Some(source) = p.panels else {
        return (place, pack(b));
    };
    let there = source.is_there(b);
    b.if_else(
        there,
        |_| Vec::new(),
        |b| {
            pack(b);
            Vec::new()
        },
    );
    (source.block(b, block.k0, j0, place), None)
}

/// The tiles of one block.
struct Tiles<'a> {
    kind: Kind,
    p: &'a Problem,
    block: &'a Block,
    right: panels::Place,
    left: LeftBlock,
    c: Value,
    init: Value,
    /// As in [`kernel::Tile`].
    subnormal: Option<Value>,
    rows: Value,
    columns: Value,
}

impl Tiles<'_> {
    /// All tiles. Where the number of rows that fill no whole panel is known, these have a micro-kernel of their own.
    fn emit(&self, b: &mut Builder<'_>) {
        let (zero, nr, mr) = (b.index(0), b.target().nr() as i64, self.kind.mr as i64);
        let (rows, columns) = (self.rows, self.columns);
        let known = self.kind.known;
        let Some(rest) = known.rest_rows else {
            return b.for_each(zero, columns, nr, |b, j| b.for_each(zero, rows, mr, |b, i| self.any(b, i, j)));
        };
        let height = b.index(mr);
        let beyond = b.urem(rows, height);
        let whole = b.sub(rows, beyond);
        b.for_each(zero, columns, nr, |b, j| {
            b.for_each(zero, whole, mr, |b, i| self.of_height(b, i, j, mr as usize));
            if rest > 0 {
                let is_last = b.cmp(Cmp::Ne, beyond, zero);
                b.if_then(is_last, |b| self.of_height(b, whole, j, rest as usize));
            }
        });
    }

    /// The tile from row i and column j on.
    fn at(&self, b: &mut Builder<'_>, i: Value, j: Value) -> kernel::Tile {
        let (kind, block) = (self.kind, self.block);
        let (a, left) = match &self.left {
            LeftBlock::Packed(packed) => {
                let padded = pack::padded(b, block.steps);
                let row = b.mul(i, padded);
                (b.addr(*packed, kind.acc, row), Left::Panels(kind.mr))
            }
            LeftBlock::InPlace(lines) => {
                let (a, stride) = lines.panel(b, i);
                (a, Left::Rows(stride))
            }
        };
        let (column, unit) = (b.mul(j, self.right.for_column), one(b));
        kernel::Tile {
            depth: block.steps,
            left,
            a,
            b: b.addr(self.right.start, kind.acc, column),
            b_stride: None,
            c: element(b, kind.acc, self.c, [self.p.c_stride, unit], i, j),
            c_stride: self.p.c_stride,
            init: element(b, kind.acc, self.init, [block.init_stride, unit], i, j),
            init_stride: block.init_stride,
            adds: block.adds,
            factors: None,
            subnormal: self.subnormal,
            part: None,
            copies: None,
            ahead: kind.panels.then(|| panels::ahead(b, kind, self.right, [j, self.columns], i, block.depth)),
        }
    }

    /// A tile of which so many rows exist.
    fn of_height(&self, b: &mut Builder<'_>, i: Value, j: Value, height: usize) {
        let tile = self.at(b, i, j);
        if self.kind.known.whole_columns {
            return kernel::call(b, self.kind, height, &tile);
        }
        let (left, nr, rows) = (b.sub(self.columns, j), b.index(b.target().nr() as i64), b.index(height as i64));
        let wide = b.cmp(Cmp::Ge, left, nr);
        self.call_or_edge(b, wide, &tile, [rows, left]);
    }

    /// A tile of which rows and columns may be missing.
    fn any(&self, b: &mut Builder<'_>, i: Value, j: Value) {
        let (tile, target) = (self.at(b, i, j), b.target());
        let (rows, columns) = (b.sub(self.rows, i), b.sub(self.columns, j));
        let (mr, nr) = (b.index(self.kind.mr as i64), b.index(target.nr() as i64));
        let (tall, wide) = (b.cmp(Cmp::Ge, rows, mr), b.cmp(Cmp::Ge, columns, nr));
        let whole = b.and(tall, wide);
        self.call_or_edge(b, whole, &tile, [rows, columns]);
    }

    fn call_or_edge(&self, b: &mut Builder<'_>, whole: Value, tile: &kernel::Tile, [rows, columns]: [Value; 2]) {
        b.if_else(
            whole,
            |b| {
                kernel::call(b, self.kind, self.kind.mr, tile);
                Vec::new()
            },
            |b| {
                edges::edge(b, self.kind, tile, self.p.scratch, rows, columns);
                Vec::new()
            },
        );
    }
}
