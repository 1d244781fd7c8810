//! Small products, whose factors are read where they lie.
//!
//! Packing costs about a sixth of a product of 64 x 64 x 64. It is left out where the left factor lies so that the micro-kernel finds its
//! elements in the first-level cache: a tile or two of a few KiB, whose rows do not all fall on the same cache sets. The right factor is
//! read in place too where its rows are contiguous, and packed otherwise. Rows are split so evenly that no panel reaches over the edge;
//! where extents vary, panels do, and memory must have room for that.

use super::kernel::{self, Left, Tile};
use super::lines::{self, Lines};
use super::pack::{self, Order};
use super::{Gemm, Init, KC, Kind, Problem};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::{Builder, Elem, Type, Value};

/// Elements of a factor that stay in the nearest caches while it is read again and again.
const RESIDENT: i64 = 16 << 10;
/// Rows at a distance that is a multiple of this many bytes fall on too few sets of a cache.
const SAME_SETS: i64 = 2048;

/// A product that is done in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Small {
    rows: Rows,
    /// `None` where they vary.
    columns: Option<i64>,
    /// Whether the right factor is packed.
    packs_b: bool,
}

/// The rows of a product that is done in place.
#[derive(Clone, Copy, Debug)]
enum Rows {
    Known(i64),
    /// Panels of one height: the lines of A that the last one lacks are copies of the last line, what comes of them means nothing.
    Varying {
        height: i64,
    },
}

impl Rows {
    /// The panels of a product with at most `most` rows, of which `known` is said if they do not vary.
    fn of(known: Option<i64>, most: i64, panel: i64, copies: bool) -> Option<Rows> {
        match known {
            Some(rows) if !copies || rows % panel != 0 => Some(Rows::Known(rows)),
            None if !copies => None,
            // Panels less than half as high would be slower than packing.
            _ => (panel / 2..=panel).rev().find(|height| most % height == 0).map(|height| Rows::Varying { height }),
        }
    }

    fn name(self) -> String {
        match self {
            Rows::Known(rows) => rows.to_string(),
            Rows::Varying { height } => format!("any_by_{height}_"),
        }
    }
}

/// Whether a product is done in place, and how.
pub(super) fn small(b: &Builder<'_>, gemm: &Gemm, kind: Kind) -> Option<Small> {
    let target = b.target();
    let known = [gemm.m, gemm.n, gemm.k].map(|extent| b.as_const(extent));
    let varies = known.contains(&None);
    let [m, n, k] = std::array::from_fn(|i| known[i].or(gemm.most[i]));
    let (m, n, k) = (m?, n?, k?);
    let a_stride = match kind.a.order() {
        Order::Rows => gemm.a.row_stride,
        Order::Columns => gemm.a.col_stride,
        Order::Strided => return None,
    };
    let plain = kind.acc == Elem::F32 && kind.a.elem == Elem::F32;
    let fits = (1..=KC).contains(&k) && m.saturating_mul(k) <= RESIDENT && n.saturating_mul(k) <= RESIDENT;
    let panel = panel_rows(target, kind.a.order());
    let whole = n > 0 && n % target.nr() as i64 == 0 && m >= panel;
    if !plain || !fits || !whole || !is_spread(b, a_stride) || (varies && !gemm.padded) {
        return None;
    }
    let packs_b = kind.b.order() != Order::Rows || kind.b.elem != Elem::F32 || !is_spread(b, gemm.b.row_stride);
    let rows = Rows::of(known[0], m, panel, varies && kind.a.order() == Order::Rows)?;
    // What is packed is packed at once, into the memory for one block.
    (!packs_b || n <= super::NC).then_some(Small { rows, columns: known[1], packs_b })
}

/// Whether lines at that distance in elements fall on different sets.
fn is_spread(b: &Builder<'_>, stride: Value) -> bool {
    b.as_const(stride).is_some_and(|stride| stride.saturating_mul(4) % SAME_SETS != 0)
}

/// Rows of a panel: MR, or as many as there are addresses for.
fn panel_rows(target: Target, order: Order) -> i64 {
    let mr = target.mr as i64;
    if order == Order::Rows { mr.min(lines::MOST as i64) } else { mr }
}

/// The heights of the row panels: as many of `mr` as possible, and the rest in panels that are at least half as high, if there are others.
pub(super) fn heights(mr: i64, m: i64) -> Vec<(i64, i64)> {
    let (whole, rest) = (m / mr, m % mr);
    if rest == 0 {
        return vec![(whole, mr)];
    }
    if 2 * rest > mr || whole == 0 {
        return vec![(whole, mr), (1, rest)];
    }
    let both = mr + rest;
    vec![(whole - 1, mr), (1, both - both / 2), (1, both / 2)]
}

/// Writes the product.
pub(super) fn emit(b: &mut Builder<'_>, kind: Kind, p: &Problem, small: Small, init: Init) {
    if b.is_positive(p.k) {
        return call_product(b, kind, p, small, init);
    }
    super::if_steps(b, p.k, |b| call_product(b, kind, p, small, init), |b| super::fill(b, kind, p, init));
}

fn call_product(b: &mut Builder<'_>, kind: Kind, p: &Problem, small: Small, init: Init) {
    let a_stride = if kind.a.order() == Order::Rows { p.a_strides[0] } else { p.a_strides[1] };
    let mut args = vec![
        p.k,
        p.a,
        a_stride,
        p.b,
        p.b_strides[0],
        p.b_strides[1],
        p.c,
        p.c_stride,
        p.init,
        p.init_stride,
        p.has_init,
        p.scratch,
        p.m,
        p.n,
    ];
    let is_scaled = matches!(init, Init::Scaled(_));
    if let Init::Scaled(factors) = init {
        args.push(factors);
    }
    let types: Vec<Type> = args.iter().map(|&v| b.ty(v)).collect();
    let (a, bb, scaled) = (kind.a.name(), kind.b.name(), if is_scaled { "_scaled" } else { "" });
    let packed = if small.packs_b { "_packed" } else { "" };
    let columns = small.columns.map_or("any".to_string(), |columns| columns.to_string());
    let name = format!("gemm_small_{a}_{bb}_{}x{columns}{packed}{scaled}", small.rows.name());
    b.call(&name, &types, &[], &args, |b, p| {
        product(b, kind, small, p);
        Vec::new()
    });
}

/// All tiles, column panels outermost: a panel of B stays in the first-level cache.
fn product(b: &mut Builder<'_>, kind: Kind, small: Small, p: &[Value]) {
    let (depth, nr) = (p[0], b.target().nr() as i64);
    let columns = small.columns.map_or(p[13], |columns| b.index(columns));
    let (mut base_b, mut stride_b) = (p[3], Some(p[4]));
    if small.packs_b {
        let offset = b.index(super::b_offset(b.target()));
        base_b = b.addr(p[11], Elem::F32, offset);
        pack::pack_b(b, kind, p[3], [p[4], p[5]], depth, columns, base_b);
        stride_b = None;
    }
    let panels = RowPanels::of(b, kind, small.rows, p);
    let zero = b.index(0);
    b.for_each(zero, columns, nr, |b, j| {
        let offset = if small.packs_b { b.mul(j, depth) } else { j };
        let right = b.addr(base_b, Elem::F32, offset);
        panels.for_each(b, |b, height, i, a, a_stride| {
            let [c, init] = [(p[6], p[7]), (p[8], p[9])].map(|(base, stride)| {
                let row = b.mul(i, stride);
                let at = b.add(row, j);
                b.addr(base, Elem::F32, at)
            });
            let (c_stride, init_stride, adds) = (p[7], p[9], p[10]);
            let factors = p.get(14).map(|&factors| b.addr(factors, Elem::F32, j));
            let left = if panels.order == Order::Rows { Left::Rows(a_stride) } else { Left::Columns(a_stride) };
            let (subnormal, ahead, part, copies) = (None, None, None, None);
            let tile = Tile {
                depth,
                left,
                a,
                b: right,
                b_stride: stride_b,
                c,
                c_stride,
                init,
                init_stride,
                adds,
                factors,
                subnormal,
                ahead,
                part,
                copies,
            };
            kernel::call(b, kind, height as usize, &tile);
        });
    });
}

/// The row panels of a product.
struct RowPanels {
    order: Order,
    rows: Rows,
    lines: Lines,
}

impl RowPanels {
    fn of(b: &mut Builder<'_>, kind: Kind, rows: Rows, p: &[Value]) -> RowPanels {
        let (depth, a, stride, count) = (p[0], p[1], p[2], p[12]);
        let lines = match rows {
            Rows::Known(_) => Lines { a, stride, rest: None },
            Rows::Varying { height } => {
                let offset = b.index(super::a_offset(b.target()));
                let copies = b.addr(p[11], Elem::F32, offset);
                Lines::with_rest(b, [a, stride, count, depth], height, copies)
            }
        };
        RowPanels { order: kind.a.order(), rows, lines }
    }

    /// The body gets height, first row, and first element and distance of the lines of A.
    fn for_each(&self, b: &mut Builder<'_>, mut body: impl FnMut(&mut Builder<'_>, i64, Value, Value, Value)) {
        let panels = match self.rows {
            Rows::Known(rows) => heights(panel_rows(b.target(), self.order), rows),
            Rows::Varying { height } => vec![(0, height)],
        };
        let mut first = 0;
        for (count, height) in panels {
            let start = b.index(first);
            let end = self.lines.rest.as_ref().map_or_else(|| b.index(first + count * height), |rest| rest.rows);
            b.for_each(start, end, height, |b, i| {
                let (a, stride) = match self.order {
                    Order::Columns => (b.addr(self.lines.a, Elem::F32, i), self.lines.stride),
                    Order::Rows | Order::Strided => self.lines.panel(b, i),
                };
                body(b, height, i, a, stride);
            });
            first += count * height;
        }
    }
}
