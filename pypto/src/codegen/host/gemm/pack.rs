//! Copies blocks of A and B into the order of the micro-kernel, converting to the accumulator's type.
//!
//! Rows and columns beyond the matrix repeat the last one or are zero: the results that they give are dropped. Steps of k beyond the block
//! are never read by the micro-kernel.

use super::words::{self, Packing};
use super::{I, Kind, Operand, P};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Value};

/// Panels of B that are packed at a time.
pub(super) const GROUP: i64 = 4;

/// Type and contiguity of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub elem: Elem,
    pub signed: bool,
    pub order: Order,
}

/// Which neighbours are adjacent in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Elements of a row.
    Rows,
    /// Elements of a column.
    Columns,
    /// Neither, as far as is known.
    Strided,
}

impl Layout {
    pub(super) fn of(b: &Builder<'_>, operand: &Operand) -> Layout {
        let order = match (b.as_const(operand.row_stride), b.as_const(operand.col_stride)) {
            (_, Some(1)) => Order::Rows,
            (Some(1), _) => Order::Columns,
            _ => Order::Strided,
        };
        Layout { elem: operand.elem, signed: operand.signed, order }
    }

    pub(super) fn name(self) -> String {
        let order = match self.order {
            Order::Rows => "rows",
            Order::Columns => "columns",
            Order::Strided => "strided",
        };
        format!("{}{}_{order}", if self.signed || self.elem.is_float() { "" } else { "u" }, self.elem)
    }

    pub(super) fn order(self) -> Order {
        self.order
    }

    pub(super) fn is_row_contiguous(self) -> bool {
        self.order == Order::Rows
    }

    /// A vector of elements in the accumulator's type.
    pub(super) fn load(
        self,
        b: &mut Builder<'_>,
        acc: Elem,
        base: Value,
        at: Value,
        stride: Option<Value>,
        mask: Option<Value>,
    ) -> Value {
        let value = b.load_vec(self.elem, base, at, stride, mask);
        self.widen(b, acc, value)
    }

    /// The value in the accumulator's type.
    pub(super) fn widen(self, b: &mut Builder<'_>, acc: Elem, value: Value) -> Value {
        b.convert(value, self.signed, acc, true)
    }
}

/// The depth up to whole chunks of W: what a row of packed A takes.
pub(super) fn padded(b: &mut Builder<'_>, depth: Value) -> Value {
    let lanes = b.lanes() as i64;
    let (up, mask) = (b.index(lanes - 1), b.index(-lanes));
    let sum = b.add(depth, up);
    b.and(sum, mask)
}

/// Packs `rows` x `depth` of A at `source` into panels of MR rows; gives the range of pairs of bf16, as [`pack_b`] does.
pub(super) fn pack_a(
    b: &mut Builder<'_>,
    kind: Kind,
    source: Value,
    strides: [Value; 2],
    rows: Value,
    depth: Value,
    out: Value,
) -> Option<Value> {
    let args = [source, strides[0], strides[1], rows, depth, out];
    if kind.packing != Packing::One {
        return words::pack_a(b, kind, &args);
    }
    let name = format!("gemm_pack_a_{}{}", kind.a.name(), kind.of_panels(b.target()));
    b.call(&name, &[P, I, I, I, I, P], &[], &args, |b, p| {
        let mr = kind.mr as i64;
        let (zero, padded) = (b.index(0), padded(b, p[4]));
        b.for_each(zero, p[3], mr, |b, i| {
            let offset = b.mul(i, padded);
            let out = b.addr(p[5], kind.acc, offset);
            let panel = Panel { source: p[0], strides: [p[1], p[2]], first: i, count: p[3], depth: p[4], out };
            match kind.a.order {
                Order::Columns => a_columns(b, kind, &panel),
                _ => a_rows(b, kind, &panel),
            }
        });
        Vec::new()
    });
    None
}

/// One panel: rows of A or columns of B from `first` on, of which `count` exist in the block.
pub(super) struct Panel {
    pub source: Value,
    pub strides: [Value; 2],
    pub first: Value,
    pub count: Value,
    pub depth: Value,
    pub out: Value,
}

/// Index `first + i`, at most the last one.
pub(super) fn clamped(b: &mut Builder<'_>, panel: &Panel, i: i64) -> Value {
    let (offset, one) = (b.index(i), b.index(1));
    let (at, last) = (b.add(panel.first, offset), b.sub(panel.count, one));
    b.min(at, last)
}

/// Rows of A are contiguous (or strided): each chunk of W steps of a row is one vector.
fn a_rows(b: &mut Builder<'_>, kind: Kind, panel: &Panel) {
    let (mr, lanes) = (kind.mr as i64, b.lanes() as i64);
    let stride = (kind.a.order == Order::Strided).then_some(panel.strides[1]);
    let rows = (0..mr)
        .map(|r| {
            let at = clamped(b, panel, r);
            let offset = b.mul(at, panel.strides[0]);
            b.addr(panel.source, kind.a.elem, offset)
        })
        .collect::<Vec<_>>();
    let zero = b.index(0);
    b.lanes_loop(zero, panel.depth, 1, &[vec![]], |b, k, tail, _| {
        let step = b.mul(k, panel.strides[1]);
        let mr_value = b.index(mr);
        let chunk = b.mul(k, mr_value);
        let out = b.addr(panel.out, kind.acc, chunk);
        for (r, &row) in rows.iter().enumerate() {
            let value = kind.a.load(b, kind.acc, row, step, stride, tail.mask());
            let at = b.index(r as i64 * lanes);
            b.store(value, out, at);
        }
        vec![]
    });
}

/// Columns of A are contiguous: W x W blocks are transposed. Loads take W rows, of which the last panels have fewer.
fn a_columns(b: &mut Builder<'_>, kind: Kind, panel: &Panel) {
    let (mr, lanes) = (kind.mr, b.lanes());
    let reach = b.index(mr.next_multiple_of(lanes) as i64);
    let available = b.sub(panel.count, panel.first);
    let inside = b.cmp(Cmp::Ge, available, reach);
    let copy = |b: &mut Builder<'_>, masked: bool| {
        let masks = (0..mr.div_ceil(lanes))
            .map(|g| {
                let skipped = b.index((g * lanes) as i64);
                let left = b.sub(available, skipped);
                masked.then(|| b.tail_mask(left))
            })
            .collect::<Vec<_>>();
        let zero = b.index(0);
        b.for_each(zero, panel.depth, lanes as i64, |b, k| {
            let mr_value = b.index(mr as i64);
            let chunk = b.mul(k, mr_value);
            let out = b.addr(panel.out, kind.acc, chunk);
            for (g, &mask) in masks.iter().enumerate() {
                let skipped = b.index((g * lanes) as i64);
                let row = b.add(panel.first, skipped);
                let columns = vectors_along_k(b, kind.a, kind.acc, panel, panel.strides[1], k, row, mask);
                for (r, value) in b.transpose(&columns).into_iter().enumerate().take(mr - g * lanes) {
                    let at = b.index(((g * lanes + r) * lanes) as i64);
                    b.store(value, out, at);
                }
            }
        });
        Vec::new()
    };
    b.if_else(inside, |b| copy(b, false), |b| copy(b, true));
}

/// W vectors, one for each step from k on (the last step repeats beyond the block), starting at index `first` across.
fn vectors_along_k(
    b: &mut Builder<'_>,
    layout: Layout,
    acc: Elem,
    panel: &Panel,
    stride: Value,
    k: Value,
    first: Value,
    mask: Option<Value>,
) -> Vec<Value> {
    let one = b.index(1);
    let last = b.sub(panel.depth, one);
    (0..b.lanes() as i64)
        .map(|i| {
            let step = b.index(i);
            let at = b.add(k, step);
            let at = b.min(at, last);
            let offset = b.mul(at, stride);
            let offset = b.add(offset, first);
            layout.load(b, acc, panel.source, offset, None, mask)
        })
        .collect()
}

/// Packs `depth` x `columns` of B at `source` into panels of NR columns; gives the range of pairs of bf16, see
/// [`super::words::may_be_subnormal`].
pub(super) fn pack_b(
    b: &mut Builder<'_>,
    kind: Kind,
    source: Value,
    strides: [Value; 2],
    depth: Value,
    columns: Value,
    out: Value,
) -> Option<Value> {
    let args = [source, strides[0], strides[1], columns, depth, out];
    if kind.packing != Packing::One {
        return words::pack_b(b, kind, &args);
    }
    let whole = if kind.known.whole_columns && kind.b.order != Order::Columns { "_n" } else { "" };
    b.call(&format!("gemm_pack_b_{}{whole}", kind.b.name()), &[P, I, I, I, I, P], &[], &args, |b, p| {
        let nr = b.target().nr() as i64;
        let (zero, nr_value) = (b.index(0), b.index(nr));
        let rest = b.urem(p[3], nr_value);
        let whole = b.sub(p[3], rest);
        let panel = |first: Value, out: Value| Panel {
            source: p[0],
            strides: [p[1], p[2]],
            first,
            count: p[3],
            depth: p[4],
            out,
        };
        if kind.b.order == Order::Columns {
            b.for_each(zero, p[3], nr, |b, j| {
                let offset = b.mul(j, p[4]);
                let out = b.addr(p[5], kind.acc, offset);
                b_columns(b, kind, &panel(j, out));
            });
            return Vec::new();
        }
        // Several panels at a time, so that stretches of a row are read that the prefetchers notice; all panels at once would write to
        // addresses that fall into the same cache sets.
        let group = b.index(nr * GROUP);
        let beyond = b.urem(whole, group);
        let groups = b.sub(whole, beyond);
        for (from, to, count) in [(zero, groups, GROUP), (groups, whole, 1)] {
            b.for_each(from, to, nr * count, |b, j| {
                let panels = (0..count)
                    .map(|i| {
                        let offset = b.index(i * nr);
                        let first = b.add(j, offset);
                        let offset = b.mul(first, p[4]);
                        panel(first, b.addr(p[5], kind.acc, offset))
                    })
                    .collect::<Vec<_>>();
                b.for_each(zero, p[4], 1, |b, k| panels.iter().for_each(|panel| b_row(b, kind, panel, k, None)));
            });
        }
        if kind.known.whole_columns {
            return Vec::new();
        }
        let has_rest = b.cmp(Cmp::Gt, rest, zero);
        b.if_then(has_rest, |b| {
            let offset = b.mul(whole, p[4]);
            let out = b.addr(p[5], kind.acc, offset);
            let masks = masks(b, rest);
            b.for_each(zero, p[4], 1, |b, k| b_row(b, kind, &panel(whole, out), k, Some(&masks)));
        });
        Vec::new()
    });
    None
}

/// The masks of the vectors of a panel of which `count` columns exist.
pub(super) fn masks(b: &mut Builder<'_>, count: Value) -> Vec<Value> {
    let lanes = b.lanes() as i64;
    (0..b.target().nr_vectors as i64)
        .map(|v| {
            let skipped = b.index(v * lanes);
            let left = b.sub(count, skipped);
            b.tail_mask(left)
        })
        .collect()
}

/// Step k of a panel when rows of B are contiguous or strided.
fn b_row(b: &mut Builder<'_>, kind: Kind, panel: &Panel, k: Value, masks: Option<&[Value]>) {
    let target = b.target();
    let stride = (kind.b.order == Order::Strided).then_some(panel.strides[1]);
    let (row, nr) = (b.mul(k, panel.strides[0]), b.index(target.nr() as i64));
    let out_row = b.mul(k, nr);
    for v in 0..target.nr_vectors {
        let offset = b.index((v * target.lanes) as i64);
        let column = b.add(panel.first, offset);
        let along = match stride {
            Some(s) => b.mul(column, s),
            None => column,
        };
        let at = b.add(row, along);
        let value = kind.b.load(b, kind.acc, panel.source, at, stride, masks.map(|m| m[v]));
        let at = b.add(out_row, offset);
        b.store(value, panel.out, at);
    }
}

/// A panel when columns of B are contiguous: W x W blocks are transposed; columns beyond the matrix repeat the last.
fn b_columns(b: &mut Builder<'_>, kind: Kind, panel: &Panel) {
    let target = b.target();
    let lanes = target.lanes;
    for v in 0..target.nr_vectors {
        let columns = (0..lanes)
            .map(|i| {
                let at = clamped(b, panel, (v * lanes + i) as i64);
                let offset = b.mul(at, panel.strides[1]);
                b.addr(panel.source, kind.b.elem, offset)
            })
            .collect::<Vec<_>>();
        let zero = b.index(0);
        b.lanes_loop(zero, panel.depth, 1, &[vec![]], |b, k, tail, _| {
            let values = columns.iter().map(|&c| kind.b.load(b, kind.acc, c, k, None, tail.mask())).collect::<Vec<_>>();
            let nr = b.index(target.nr() as i64);
            let row = b.mul(k, nr);
            for (i, value) in b.transpose(&values).into_iter().enumerate() {
                let offset = b.index((i * target.nr() + v * lanes) as i64);
                let at = b.add(row, offset);
                b.store(value, panel.out, at);
            }
            vec![]
        });
    }
}
