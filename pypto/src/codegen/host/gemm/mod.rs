//! Matrix multiplication `C[M,N] = init + A[M,K] * B[K,N]` as LIR.
//!
//! The loops are those of BLIS: columns in blocks that fit the outer caches, the inner dimension in blocks of [`KC`], rows in blocks that
//! fit L2; B is copied ("packed") into the order in which the micro-kernel reads it, converted to the accumulator's type on the way, and so
//! is A unless its rows can be read where they lie ([`lines`]). The micro-kernel computes MR x NR results in registers. One driver function
//! per operand layout is shared by all products of a module; sizes and strides are its run-time arguments, so nothing is unrolled over the
//! problem.
//!
//! Products that would not win back what packing costs have ways of their own ([`known::Way`]), which read B where it lies: small ones
//! ([`in_place`]), those with few rows ([`few_tiles`], [`few_columns`], [`few_rows`]), and those by the transpose of a matrix
//! ([`few_dots`]).
//!
//! Factors of 16 bits or fewer are packed as words of two or four steps where the CPU multiplies and adds those at once (`words`).
//!
//! Order of additions (part of the numeric contract): within a block of [`KC`] steps `acc = fma(a, b, acc)` from 0 with k ascending; then
//! `c = c + acc`, where the first block stores `acc` or adds it to the initial value.

mod blocked;
mod edges;
mod few_columns;
mod few_dots;
mod few_rows;
mod few_tiles;
mod in_place;
mod kernel;
mod known;
mod lines;
mod pack;
pub mod panels;
mod tile;
mod words;

#[cfg(test)]
mod tests;

use super::cpu::Target;
use super::lir::{Builder, Cmp, Elem, Tail, Type, Value};
use known::{Known, Way};
use pack::Layout;
pub use panels::Panels;
use words::Packing;

/// Length of a block of the inner dimension.
pub const KC: i64 = 256;
/// Columns of a block of B.
const NC: i64 = 512;
/// Columns of a block of B that only one block of A meets: it stays in L2 from its packing to its use.
const NC_ONCE: i64 = 256;
/// Bytes of a block of A: with a block of B it fits L2.
const BLOCK: i64 = 384 << 10;

/// One factor. Element (i, j) is at `ptr + i * row_stride + j * col_stride` elements.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// First element.
    pub ptr: Value,
    /// f32, f16, bf16 (accumulated in f32) or an integer type (accumulated in i32).
    pub elem: Elem,
    /// Sign of integers.
    pub signed: bool,
    /// Distance of rows in elements.
    pub row_stride: Value,
    /// Distance of columns in elements; the constant 1 selects the fast path.
    pub col_stride: Value,
    /// Whether it is a part of a tensor that no cache holds.
    pub far: bool,
}

/// What the product is added to.
#[derive(Clone, Copy, Debug)]
pub enum Init {
    /// Nothing: C is only written.
    Zero,
    /// The old value of C.
    Accumulate,
    /// The old value of C, of f32, times the factor of its column: N elements at this pointer.
    Scaled(Value),
    /// One row of N elements of the accumulator's type at this pointer.
    Bias(Value),
}

/// A product.
#[derive(Clone, Copy, Debug)]
pub struct Gemm {
    /// Rows of A and C.
    pub m: Value,
    /// Columns of B and C.
    pub n: Value,
    /// Columns of A, rows of B.
    pub k: Value,
    /// The largest that m, n and k can be, where that is known.
    pub most: [Option<i64>; 3],
    /// Whether B, C, and the row of factors or of a bias have memory for the most rows and columns. What lies beyond the extents may be
    /// read and written then; it means nothing.
    pub padded: bool,
    /// Left factor.
    pub a: Operand,
    /// Right factor.
    pub b: Operand,
    /// The right factor in panels, where the caller may have them and [`panels::fits`].
    pub panels: Option<Panels>,
    /// Result, f32 or i32; rows are contiguous.
    pub c: Value,
    /// Distance of the rows of C in elements.
    pub c_stride: Value,
    /// Initial value.
    pub init: Init,
    /// [`scratch_bytes`] bytes, 64-byte aligned.
    pub scratch: Value,
}

impl Gemm {
    /// The product of the transposed factors in the other order: the transposed result. Sums keep their order.
    pub fn turned(self) -> Gemm {
        let turn = |x: Operand| Operand { row_stride: x.col_stride, col_stride: x.row_stride, ..x };
        let [m, n, k] = self.most;
        Gemm { m: self.n, n: self.m, most: [n, m, k], a: turn(self.b), b: turn(self.a), panels: None, ..self }
    }

    /// The product of the largest extents, where some of them vary.
    fn whole(self, b: &mut Builder<'_>) -> Option<Gemm> {
        let [m, n, k] = self.most;
        let [m, n, k] = [m?, n?, k?].map(|most| b.index(most));
        let varies = [self.m, self.n, self.k].into_iter().any(|extent| b.as_const(extent).is_none());
        varies.then_some(Gemm { m, n, k, panels: None, ..self })
    }

    /// Whether the extents are those of another.
    fn is_like(self, b: &mut Builder<'_>, other: &Gemm) -> Value {
        let pairs = [(self.m, other.m), (self.n, other.n), (self.k, other.k)];
        let same = pairs.map(|(x, y)| b.cmp(Cmp::Eq, x, y));
        let both = b.and(same[0], same[1]);
        b.and(both, same[2])
    }
}

/// Scratch memory for products of at most these extents (`None`: unknown).
pub fn scratch_bytes(target: Target, n: Option<usize>, k: Option<usize>) -> usize {
    let (nr, lanes) = (target.nr(), target.lanes);
    let depth = k.map_or(KC as usize, |k| k.min(KC as usize)).next_multiple_of(lanes);
    let columns = n.map_or(NC as usize, |n| n.min(NC as usize)).next_multiple_of(nr);
    // Packing transposed B writes whole vectors of rows, up to `lanes` beyond the last panel.
    // A panel may have a row of its own beside the steps.
    let packed = ((depth + 1) * columns + lanes * nr) * 4;
    b_offset(target) as usize * 4 + packed.max(few_rows::scratch_bytes(n))
}

/// Rows of a block of A in panels of MR rows.
fn mc(mr: usize) -> i64 {
    let mr = mr as i64;
    BLOCK / (4 * KC) / mr * mr
}

/// Scratch layout in 4-byte elements: a tile for edges, packed A, packed B.
fn a_offset(target: Target) -> i64 {
    (target.mr.max(target.few_rows_mr) * target.nr()).next_multiple_of(16) as i64
}

fn b_offset(target: Target) -> i64 {
    a_offset(target) + BLOCK / 4
}

/// What tells the functions of different products apart.
#[derive(Clone, Copy, Debug)]
struct Kind {
    a: Layout,
    b: Layout,
    acc: Elem,
    packing: Packing,
    known: Known,
    /// Rows of the panels of A, MR.
    mr: usize,
    /// Whether the right factor may come in panels.
    panels: bool,
}

impl Kind {
    /// The part of a function's name that tells panels that are not the target's usual ones.
    fn of_panels(self, target: Target) -> String {
        of_panels(self.mr, target)
    }
}

/// The same for panels of that many rows.
fn of_panels(rows: usize, target: Target) -> String {
    if rows == target.mr { String::new() } else { format!("_of_{rows}") }
}

/// Writes the product. Where its extents vary and the largest would be done in place, as in a loop over blocks of which the last may be
/// shorter, all are done so if memory has room, and it is written both ways otherwise.
pub fn emit(b: &mut Builder<'_>, gemm: &Gemm) {
    let Some(whole) = in_place_if_whole(b, gemm) else { return emit_one_way(b, gemm) };
    let is_whole = gemm.is_like(b, &whole);
    let in_place = |b: &mut Builder<'_>| {
        emit_one_way(b, &whole);
        Vec::new()
    };
    b.if_else(is_whole, in_place, |b| {
        // The last block of many: what a faster way for few rows would save is less than its code costs.
        let kind = kind(b, gemm);
        call_driver(b, Kind { known: Known::nothing(), ..kind }, gemm);
        Vec::new()
    });
}

/// The product of the largest extents, where some vary and that one would be done in place.
fn in_place_if_whole(b: &mut Builder<'_>, gemm: &Gemm) -> Option<Gemm> {
    if in_place::small(b, gemm, kind(b, gemm)).is_some() {
        return None;
    }
    gemm.whole(b).filter(|whole| in_place::small(b, whole, kind(b, whole)).is_some())
}

fn kind(b: &Builder<'_>, gemm: &Gemm) -> Kind {
    let acc = if gemm.a.elem.is_float() { Elem::F32 } else { Elem::I32 };
    let (left, right) = (Layout::of(b, &gemm.a), Layout::of(b, &gemm.b));
    let packing = Packing::of(b.target(), left, right);
    let (mr, panels) = (known::panel_rows(b.target(), b.as_const(gemm.m)), gemm.panels.is_some());
    Kind { a: left, b: right, acc, packing, known: Known::of(b, gemm, [left, right], packing, mr), mr, panels }
}

fn emit_one_way(b: &mut Builder<'_>, gemm: &Gemm) {
    let kind = kind(b, gemm);
    match in_place::small(b, gemm, kind) {
        Some(small) => {
            let args = arguments(b, gemm);
            in_place::emit(b, kind, &Problem::from_params(&args), small, gemm.init);
        }
        None => call_driver(b, kind, gemm),
    }
}

fn call_driver(b: &mut Builder<'_>, kind: Kind, gemm: &Gemm) {
    let gemm = &scaled_before(b, gemm);
    let args = arguments(b, gemm);
    let params: Vec<Type> = args.iter().map(|&v| b.ty(v)).collect();
    let panels = if kind.panels { "_panels" } else { "" };
    let (a, right, known, of) = (kind.a.name(), kind.b.name(), kind.known.name(), kind.of_panels(b.target()));
    let name = format!("gemm_{a}_{right}_{known}{of}{panels}");
    b.call(&name, &params, &[], &args, |b, p| {
        let mut problem = Problem::from_params(p);
        if let Some(stride) = kind.known.column_stride {
            problem.b_strides[1] = b.index(stride);
        }
        driver(b, kind, &problem);
        Vec::new()
    });
}

/// The product that is left when C has been multiplied by the factors of its columns.
fn scaled_before(b: &mut Builder<'_>, gemm: &Gemm) -> Gemm {
    let Init::Scaled(factors) = gemm.init else { return *gemm };
    scale_columns(b, [gemm.m, gemm.n, gemm.c, gemm.c_stride, factors]);
    Gemm { init: Init::Accumulate, ..*gemm }
}

/// Multiplies columns by factors; arguments are rows, columns, matrix, distance of its rows, and factors.
fn scale_columns(b: &mut Builder<'_>, args: [Value; 5]) {
    b.call("gemm_scale_columns", &[I, I, P, I, P], &[], &args, |b, p| {
        let zero = b.index(0);
        b.for_each(zero, p[0], 1, |b, i| {
            let row = b.mul(i, p[3]);
            let row = b.addr(p[2], Elem::F32, row);
            b.lanes_loop(zero, p[1], 1, &[vec![]], |b, j, tail, _| {
                let [old, factor] = [row, p[4]].map(|base| b.load_vec(Elem::F32, base, j, None, tail.mask()));
                let scaled = b.mul(old, factor);
                b.store_vec(scaled, row, j, None, tail.mask());
                vec![]
            });
        });
        Vec::new()
    });
}

/// A product without steps: the initial value, or zeros.
fn fill(b: &mut Builder<'_>, kind: Kind, p: &Problem, init: Init) {
    match init {
        Init::Scaled(factors) => scale_columns(b, [p.m, p.n, p.c, p.c_stride, factors]),
        _ => edges::fill(b, kind.acc, p),
    }
}

/// The arguments of a driver, in the order of [`Problem`].
fn arguments(b: &mut Builder<'_>, gemm: &Gemm) -> Vec<Value> {
    let zero = b.index(0);
    let (init, init_stride, has_init) = match gemm.init {
        Init::Zero => (gemm.c, zero, 0),
        Init::Accumulate | Init::Scaled(_) => (gemm.c, gemm.c_stride, 1),
        Init::Bias(row) => (row, zero, 1),
    };
    let has_init = b.index(has_init);
    let mut arguments = vec![
        gemm.m,
        gemm.n,
        gemm.k,
        gemm.a.ptr,
        gemm.a.row_stride,
        gemm.a.col_stride,
        gemm.b.ptr,
        gemm.b.row_stride,
        gemm.b.col_stride,
        gemm.c,
        gemm.c_stride,
        init,
        init_stride,
        has_init,
        gemm.scratch,
    ];
    if let Some(panels) = gemm.panels {
        arguments.extend(panels.arguments(b));
    }
    arguments
}

/// The arguments of a driver.
#[derive(Clone, Copy)]
struct Problem {
    m: Value,
    n: Value,
    k: Value,
    a: Value,
    a_strides: [Value; 2],
    b: Value,
    b_strides: [Value; 2],
    c: Value,
    c_stride: Value,
    init: Value,
    init_stride: Value,
    has_init: Value,
    scratch: Value,
    panels: Option<panels::Source>,
}

impl Problem {
    fn from_params(p: &[Value]) -> Problem {
        Problem {
            m: p[0],
            n: p[1],
            k: p[2],
            a: p[3],
            a_strides: [p[4], p[5]],
            b: p[6],
            b_strides: [p[7], p[8]],
            c: p[9],
            c_stride: p[10],
            init: p[11],
            init_stride: p[12],
            has_init: p[13],
            scratch: p[14],
            panels: (p.len() > 15).then(|| panels::Source::from_params(&p[15..])),
        }
    }
}

fn driver(b: &mut Builder<'_>, kind: Kind, p: &Problem) {
    if kind.known.whole_depth {
        return product(b, kind, p);
    }
    if_steps(b, p.k, |b| product(b, kind, p), |b| edges::fill(b, kind.acc, p));
}

/// A product where it has steps, and what there is without any.
fn if_steps(
    b: &mut Builder<'_>,
    steps: Value,
    product: impl FnOnce(&mut Builder<'_>),
    fill: impl FnOnce(&mut Builder<'_>),
) {
    let zero = b.index(0);
    let empty = b.cmp(Cmp::Eq, steps, zero);
    let fill = |b: &mut Builder<'_>| {
        fill(b);
        Vec::new()
    };
    b.if_else(empty, fill, |b| {
        product(b);
        Vec::new()
    });
}

/// A product with at least one step. Where the number of rows is only known at run time, it decides there.
fn product(b: &mut Builder<'_>, kind: Kind, p: &Problem) {
    let unpacked = Kind { packing: Packing::One, ..kind };
    let (most, few): (i64, fn(&mut Builder<'_>, Kind, &Problem)) = match kind.known.way {
        Way::Blocked => return blocked::emit(b, kind, p),
        Way::FewRows(Some(_)) => return few_rows::emit(b, unpacked, p),
        Way::FewColumns { rows, vectors } => return few_columns::emit(b, unpacked, p, rows, vectors),
        Way::FewTiles(rows) => return few_tiles::emit(b, unpacked, p, rows),
        Way::FewDots(Some(_)) => return few_dots::emit(b, unpacked, p),
        Way::FewRows(None) => (few_rows::most(kind.packing), few_rows::emit),
        Way::FewDots(None) => (few_dots::MOST, few_dots::emit),
    };
    let most = b.index(most);
    let is_small = b.cmp(Cmp::Le, p.m, most);
    let small = |b: &mut Builder<'_>| {
        few(b, unpacked, p);
        Vec::new()
    };
    b.if_else(is_small, small, |b| {
        blocked::emit(b, kind, p);
        Vec::new()
    });
}

/// One block of the inner dimension, with the source of the initial value for it.
struct Block {
    k0: Value,
    depth: Value,
    /// Steps of what is packed.
    steps: Value,
    init: Value,
    init_stride: Value,
    adds: Value,
}

fn block(b: &mut Builder<'_>, kind: Kind, p: &Problem, k0: Value) -> Block {
    let (zero, one, kc) = (b.index(0), b.index(1), b.index(kind.packing.depth(kind.acc)));
    let left = b.sub(p.k, k0);
    let depth = b.min(left, kc);
    let first = b.cmp(Cmp::Eq, k0, zero);
    Block {
        k0,
        depth,
        steps: kind.packing.words(b, depth),
        init: b.select(first, p.init, p.c),
        init_stride: b.select(first, p.init_stride, p.c_stride),
        adds: b.select(first, p.has_init, one),
    }
}

/// The first columns of so many vectors.
fn offsets_of_vectors(b: &mut Builder<'_>, vectors: i64) -> Vec<Value> {
    let lanes = b.lanes() as i64;
    (0..vectors).map(|v| b.index(v * lanes)).collect()
}

/// A loop over vectors of columns, from `lo` on; without a tail where the columns are known to be whole vectors.
fn columns(b: &mut Builder<'_>, kind: Kind, lo: Value, hi: Value, mut body: impl FnMut(&mut Builder<'_>, Value, Tail)) {
    if kind.known.whole_columns {
        return b.for_each(lo, hi, b.lanes() as i64, |b, j| body(b, j, Tail::Full));
    }
    b.lanes_loop(lo, hi, 1, &[vec![]], |b, j, tail, _| {
        body(b, j, tail);
        vec![]
    });
}

/// `count` indices from `first` on.
fn offsets(b: &mut Builder<'_>, first: Value, count: i64) -> Vec<Value> {
    let offset = |i| {
        let i = b.index(i);
        b.add(first, i)
    };
    (0..count).map(offset).collect()
}

fn one(b: &mut Builder<'_>) -> Value {
    b.index(1)
}

/// Address of element (i, j).
fn element(b: &mut Builder<'_>, elem: Elem, base: Value, strides: [Value; 2], i: Value, j: Value) -> Value {
    let (row, column) = (b.mul(i, strides[0]), b.mul(j, strides[1]));
    let offset = b.add(row, column);
    b.addr(base, elem, offset)
}

/// Parameter types of index and pointer lists in helpers.
const I: Type = Type::INDEX;
const P: Type = Type::Ptr;
