//! Packs blocks of B as words of several steps, in the order in which `pack` does single ones.

use super::super::element;
use super::super::pack::{GROUP, Order, Panel, clamped, masks};
use super::join::{join, words_along};
use super::{Kind, Packing, RAISED, Range, last, narrow};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Value};

/// Packs the block that `p` = source, strides, columns, depth and destination describe.
pub(super) fn pack(b: &mut Builder<'_>, kind: Kind, p: &[Value], range: Range) -> Range {
    let words = kind.packing.words(b, p[4]);
    let (nr, zero) = (b.target().nr() as i64, b.index(0));
    let (nr_value, rows) = (b.index(nr), kind.packing.panel(b, words));
    let panel = |b: &mut Builder<'_>, first: Value| {
        let offset = b.mul(first, rows);
        let offset = if has_sums(kind) { b.add(offset, nr_value) } else { offset };
        let out = b.addr(p[5], Elem::I32, offset);
        Panel { source: p[0], strides: [p[1], p[2]], first, count: p[3], depth: p[4], out }
    };
    if kind.b.order == Order::Columns {
        return b.for_loop(zero, p[3], nr_value, &range, |b, j, range| {
            let panel = panel(b, j);
            columns_of(b, kind, &panel, range)
        });
    }
    let rest = b.urem(p[3], nr_value);
    let whole = b.sub(p[3], rest);
    // Several panels at a time, as `pack` does.
    let group = b.index(nr * GROUP);
    let beyond = b.urem(whole, group);
    let groups = b.sub(whole, beyond);
    let range = [(zero, groups, GROUP), (groups, whole, 1)].into_iter().fold(range, |range, (from, to, count)| {
        let step = b.index(nr * count);
        b.for_loop(from, to, step, &range, |b, j, range| {
            let panels = (0..count)
                .map(|i| {
                    let offset = b.index(i * nr);
                    let first = b.add(j, offset);
                    panel(b, first)
                })
                .collect::<Vec<_>>();
            rows_of(b, kind, &panels, None, range)
        })
    });
    if kind.known.whole_columns {
        return range;
    }
    let has_rest = b.cmp(Cmp::Gt, rest, zero);
    let pack_rest = |b: &mut Builder<'_>| {
        let (panel, masks) = (panel(b, whole), masks(b, rest));
        rows_of(b, kind, &[panel], Some(&masks), &range)
    };
    b.if_else(has_rest, pack_rest, |_| range.clone())
}

/// Whether the sums of columns are packed too.
fn has_sums(kind: Kind) -> bool {
    kind.packing == Packing::Quads { raised: true }
}

/// What passes through the loops: the range of all, or a sum for each vector of columns.
fn carried(b: &mut Builder<'_>, kind: Kind, range: &[Value], vectors: usize) -> Vec<Value> {
    if has_sums(kind) { vec![b.vint(Elem::I32, 0); vectors] } else { range.to_vec() }
}

/// Adds the words of vector `v` to what is carried.
fn note(b: &mut Builder<'_>, kind: Kind, carried: &mut [Value], v: usize, words: Value) {
    if has_sums(kind) {
        let raised = b.vint(Elem::I32, RAISED);
        carried[v] = b.quad_dot(raised, words, carried[v]);
    } else if let [range] = carried {
        *range = narrow(b, *range, words);
    }
}

/// Writes the sums before the words of the panels; gives the range.
fn finish(b: &mut Builder<'_>, kind: Kind, panels: &[Panel], carried: Vec<Value>) -> Range {
    if !has_sums(kind) {
        return carried;
    }
    let target = b.target();
    for (panel, sums) in panels.iter().zip(carried.chunks(target.nr_vectors)) {
        for (v, &sum) in sums.iter().enumerate() {
            let (sum, at) = (b.neg(sum), b.index((v * target.lanes) as i64 - target.nr() as i64));
            b.store(sum, panel.out, at);
        }
    }
    Vec::new()
}

/// Panels whose rows are contiguous or strided.
fn rows_of(b: &mut Builder<'_>, kind: Kind, panels: &[Panel], masks: Option<&[Value]>, range: &[Value]) -> Range {
    let (zero, one) = (b.index(0), b.index(1));
    let (depth, vectors) = (panels[0].depth, b.target().nr_vectors);
    let whole = kind.packing.whole_words(b, depth);
    let sums = carried(b, kind, range, panels.len() * vectors);
    let word = |b: &mut Builder<'_>, k: Value, rest: Option<Value>, sums: &[Value]| {
        let mut sums = sums.to_vec();
        for (panel, first) in panels.iter().zip((0..).step_by(vectors)) {
            row_of(b, kind, panel, k, masks, rest, first, &mut sums);
        }
        sums
    };
    let sums = b.for_loop(zero, whole, one, &sums, |b, k, sums| word(b, k, None, sums));
    let sums = last(b, kind.packing, depth, sums, |b, rest, sums| word(b, whole, Some(rest), sums));
    finish(b, kind, panels, sums)
}

/// Word k of a panel across its columns, of which `rest` steps exist, or all; `first` is the number of the first vector.
fn row_of(
    b: &mut Builder<'_>,
    kind: Kind,
    panel: &Panel,
    k: Value,
    masks: Option<&[Value]>,
    rest: Option<Value>,
    first: usize,
    carried: &mut [Value],
) {
    let target = b.target();
    let (elements, nr) = (b.index(kind.packing.elements()), b.index(target.nr() as i64));
    let (start, out) = (b.mul(k, elements), b.mul(k, nr));
    let stride = (kind.b.order != Order::Rows).then_some(panel.strides[1]);
    // One step at least exists, and one does not, where not all do.
    let count = kind.packing.elements() - i64::from(rest.is_some());
    for v in 0..target.nr_vectors {
        let offset = b.index((v * target.lanes) as i64);
        let column = b.add(panel.first, offset);
        let columns = masks.map(|masks| masks[v]);
        let parts: Vec<Value> = (0..count)
            .map(|i| {
                let number = b.index(i);
                let mask = match rest {
                    Some(rest) if i > 0 => {
                        let exists = b.cmp(Cmp::Lt, number, rest);
                        let exists = b.splat(exists);
                        Some(columns.map_or(exists, |mask| b.and(mask, exists)))
                    }
                    _ => columns,
                };
                let step = b.add(start, number);
                let source = element(b, kind.b.elem, panel.source, panel.strides, step, column);
                let zero = b.index(0);
                b.load_vec(kind.b.elem, source, zero, stride, mask)
            })
            .collect();
        let words = join(b, kind.packing, kind.b, &parts, 0);
        note(b, kind, carried, first + v, words);
        let at = b.add(out, offset);
        b.store(words, panel.out, at);
    }
}

/// A panel when columns of B are contiguous: squares of W x W words are transposed; columns beyond the matrix repeat the last.
fn columns_of(b: &mut Builder<'_>, kind: Kind, panel: &Panel, range: &[Value]) -> Range {
    let target = b.target();
    let (zero, elements, nr) = (b.index(0), b.index(kind.packing.elements()), b.index(target.nr() as i64));
    let whole = kind.packing.whole_words(b, panel.depth);
    let mut sums = carried(b, kind, range, target.nr_vectors);
    for v in 0..target.nr_vectors {
        let columns = (0..target.lanes)
            .map(|i| {
                let at = clamped(b, panel, (v * target.lanes + i) as i64);
                let offset = b.mul(at, panel.strides[1]);
                b.addr(panel.source, kind.b.elem, offset)
            })
            .collect::<Vec<_>>();
        let done = b.lanes_loop(zero, whole, 1, &[sums], |b, k, tail, sums| {
            let (step, row) = (b.mul(k, elements), b.mul(k, nr));
            let words: Vec<Value> =
                columns.iter().map(|&c| words_along(b, kind.packing, kind.b, c, step, tail.mask())).collect();
            let mut sums = sums.to_vec();
            if !has_sums(kind) {
                words.iter().for_each(|&words| note(b, kind, &mut sums, v, words));
            }
            for (i, words) in b.transpose(&words).into_iter().enumerate() {
                if has_sums(kind) {
                    note(b, kind, &mut sums, v, words);
                }
                let offset = b.index((i * target.nr() + v * target.lanes) as i64);
                let at = b.add(row, offset);
                b.store(words, panel.out, at);
            }
            sums
        });
        sums = done.concat();
    }
    let sums = last(b, kind.packing, panel.depth, sums, |b, rest, sums| {
        let left = b.sub(panel.count, panel.first);
        let (masks, mut sums) = (masks(b, left), sums.to_vec());
        row_of(b, kind, panel, whole, Some(&masks), Some(rest), 0, &mut sums);
        sums
    });
    finish(b, kind, std::slice::from_ref(panel), sums)
}
