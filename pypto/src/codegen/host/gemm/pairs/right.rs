//! Packs blocks of B as words of two steps, in the order in which `pack` does single ones.

use super::super::element;
use super::super::pack::{GROUP, Order, Panel, clamped, masks};
use super::words::{join, words_along};
use super::{Kind, Range, count, last, whole_pairs, with};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Value};

/// Packs the block that `p` = source, strides, columns, depth and destination describe.
pub(super) fn pack(b: &mut Builder<'_>, kind: Kind, p: &[Value], range: Range) -> Range {
    let steps = count(b, p[4]);
    let panel = |b: &mut Builder<'_>, first: Value| {
        let offset = b.mul(first, steps);
        let out = b.addr(p[5], Elem::I32, offset);
        Panel { source: p[0], strides: [p[1], p[2]], first, count: p[3], depth: p[4], out }
    };
    let (nr, zero) = (b.target().nr() as i64, b.index(0));
    let nr_value = b.index(nr);
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

/// Panels of B whose rows are contiguous or strided, and a last step that has no other to go with.
fn rows_of(b: &mut Builder<'_>, kind: Kind, panels: &[Panel], masks: Option<&[Value]>, range: &[Value]) -> Range {
    let (zero, one) = (b.index(0), b.index(1));
    let depth = panels[0].depth;
    let pairs = whole_pairs(b, depth);
    let range = b.for_loop(zero, pairs, one, range, |b, k, range| {
        panels.iter().fold(range.to_vec(), |range, panel| row_of(b, kind, panel, k, true, masks, &range))
    });
    last(b, depth, range, |b, range| {
        panels.iter().fold(range.to_vec(), |range, panel| row_of(b, kind, panel, pairs, false, masks, &range))
    })
}

/// Pair k of a panel of B across its columns, with or without a second step.
fn row_of(
    b: &mut Builder<'_>,
    kind: Kind,
    panel: &Panel,
    k: Value,
    has_second: bool,
    masks: Option<&[Value]>,
    range: &[Value],
) -> Range {
    let target = b.target();
    let (one, nr) = (b.index(1), b.index(target.nr() as i64));
    let (step, out) = (b.shl(k, one), b.mul(k, nr));
    let stride = (kind.b.order != Order::Rows).then_some(panel.strides[1]);
    let mut range = range.to_vec();
    for v in 0..target.nr_vectors {
        let offset = b.index((v * target.lanes) as i64);
        let column = b.add(panel.first, offset);
        let load = |b: &mut Builder<'_>, step: Value| {
            let source = element(b, kind.b.elem, panel.source, panel.strides, step, column);
            let zero = b.index(0);
            b.load_vec(kind.b.elem, source, zero, stride, masks.map(|m| m[v]))
        };
        let first = load(b, step);
        let second = has_second.then(|| {
            let next = b.add(step, one);
            load(b, next)
        });
        let words = join(b, kind.b, first, second, 0);
        range = with(b, &range, words);
        let at = b.add(out, offset);
        b.store(words, panel.out, at);
    }
    range
}

/// A panel when columns of B are contiguous: squares of W x W words are transposed; columns beyond the matrix repeat the last.
fn columns_of(b: &mut Builder<'_>, kind: Kind, panel: &Panel, range: &[Value]) -> Range {
    let target = b.target();
    let (zero, one, nr) = (b.index(0), b.index(1), b.index(target.nr() as i64));
    let pairs = whole_pairs(b, panel.depth);
    let mut range = range.to_vec();
    for v in 0..target.nr_vectors {
        let columns = (0..target.lanes)
            .map(|i| {
                let at = clamped(b, panel, (v * target.lanes + i) as i64);
                let offset = b.mul(at, panel.strides[1]);
                b.addr(panel.source, kind.b.elem, offset)
            })
            .collect::<Vec<_>>();
        let ranges = b.lanes_loop(zero, pairs, 1, &[range], |b, k, tail, range| {
            let (step, row) = (b.shl(k, one), b.mul(k, nr));
            let words: Vec<Value> =
                columns.iter().map(|&column| words_along(b, kind.b, column, step, tail.mask())).collect();
            let range = words.iter().fold(range.to_vec(), |range, &words| with(b, &range, words));
            for (i, words) in b.transpose(&words).into_iter().enumerate() {
                let offset = b.index((i * target.nr() + v * target.lanes) as i64);
                let at = b.add(row, offset);
                b.store(words, panel.out, at);
            }
            range
        });
        range = ranges.concat();
    }
    last(b, panel.depth, range, |b, range| {
        let left = b.sub(panel.count, panel.first);
        let masks = masks(b, left);
        row_of(b, kind, panel, pairs, false, Some(&masks), range)
    })
}
