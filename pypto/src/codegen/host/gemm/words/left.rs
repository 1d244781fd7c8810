//! Packs blocks of A as words of several steps, in the order in which `pack` does single ones.

use super::super::element;
use super::super::pack::{Order, Panel, clamped, padded};
use super::join::{join, raised, words_along};
use super::{Kind, Range, last, narrow};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};

/// Packs the block that `p` = source, strides, rows, depth and destination describe.
pub(super) fn pack(b: &mut Builder<'_>, kind: Kind, p: &[Value], range: &[Value]) -> Range {
    let mr = kind.mr as i64;
    let (zero, mr_value) = (b.index(0), b.index(mr));
    let words = kind.packing.words(b, p[4]);
    let padded = padded(b, words);
    b.for_loop(zero, p[3], mr_value, range, |b, i, range| {
        let offset = b.mul(i, padded);
        let out = b.addr(p[5], Elem::I32, offset);
        let panel = Panel { source: p[0], strides: [p[1], p[2]], first: i, count: p[3], depth: p[4], out };
        let range = match kind.a.order {
            Order::Columns => columns_of(b, kind, &panel, range),
            _ => rows_of(b, kind, &panel, range),
        };
        last(b, kind.packing, panel.depth, range, |b, rest, range| last_word(b, kind, &panel, rest, range))
    })
}

fn with(b: &mut Builder<'_>, range: &[Value], words: Value) -> Range {
    range.iter().map(|&range| narrow(b, range, words)).collect()
}

/// Rows of A are contiguous (or strided): each chunk of W words of a row is one vector.
fn rows_of(b: &mut Builder<'_>, kind: Kind, panel: &Panel, range: &[Value]) -> Range {
    let (mr, lanes) = (kind.mr as i64, b.lanes() as i64);
    let (zero, mr_value, elements) = (b.index(0), b.index(mr), b.index(kind.packing.elements()));
    let rows = (0..mr)
        .map(|r| {
            let at = clamped(b, panel, r);
            let offset = b.mul(at, panel.strides[0]);
            b.addr(panel.source, kind.a.elem, offset)
        })
        .collect::<Vec<_>>();
    let whole = kind.packing.whole_words(b, panel.depth);
    let ranges = b.lanes_loop(zero, whole, 1, &[range.to_vec()], |b, k, tail, range| {
        let (chunk, step) = (b.mul(k, mr_value), b.mul(k, elements));
        let out = b.addr(panel.out, Elem::I32, chunk);
        let mut range = range.to_vec();
        for (r, &row) in rows.iter().enumerate() {
            let words = if kind.a.order == Order::Rows {
                words_along(b, kind.packing, kind.a, row, step, tail.mask())
            } else {
                strided(b, kind, panel, row, step, tail.mask())
            };
            range = with(b, &range, words);
            let (words, at) = (raised(b, kind.packing, words), b.index(r as i64 * lanes));
            b.store(words, out, at);
        }
        range
    });
    ranges.concat()
}

/// W words of a row whose elements do not follow each other, from step `step` on.
fn strided(b: &mut Builder<'_>, kind: Kind, panel: &Panel, row: Value, step: Value, mask: Option<Value>) -> Value {
    let (stride, elements) = (panel.strides[1], b.index(kind.packing.elements()));
    let (mut at, distance) = (b.mul(step, stride), b.mul(stride, elements));
    let mut parts = Vec::new();
    for _ in 0..kind.packing.elements() {
        parts.push(b.load_vec(kind.a.elem, row, at, Some(distance), mask));
        at = b.add(at, stride);
    }
    join(b, kind.packing, kind.a, &parts, 0)
}

/// Columns of A are contiguous: squares of W x W words are transposed.
fn columns_of(b: &mut Builder<'_>, kind: Kind, panel: &Panel, range: &[Value]) -> Range {
    let (mr, lanes) = (kind.mr, b.lanes());
    let reach = b.index(mr.next_multiple_of(lanes) as i64);
    let available = b.sub(panel.count, panel.first);
    let inside = b.cmp(Cmp::Ge, available, reach);
    let copy = |b: &mut Builder<'_>, is_masked: bool| {
        let firsts = (0..mr).step_by(lanes).map(|skipped| b.index(skipped as i64)).collect::<Vec<_>>();
        let masks = firsts
            .iter()
            .map(|&skipped| {
                let left = b.sub(available, skipped);
                is_masked.then(|| b.tail_mask(left))
            })
            .collect::<Vec<_>>();
        let (zero, chunk, mr_value) = (b.index(0), b.index(lanes as i64), b.index(mr as i64));
        let whole = kind.packing.whole_words(b, panel.depth);
        b.for_loop(zero, whole, chunk, range, |b, k, range| {
            let offset = b.mul(k, mr_value);
            let out = b.addr(panel.out, Elem::I32, offset);
            let mut range = range.to_vec();
            for (g, (&skipped, &mask)) in firsts.iter().zip(&masks).enumerate() {
                let row = b.add(panel.first, skipped);
                let columns = words_across(b, kind, panel, k, row, mask);
                for &words in &columns {
                    range = with(b, &range, words);
                }
                for (r, words) in b.transpose(&columns).into_iter().enumerate().take(mr - g * lanes) {
                    let (words, at) = (raised(b, kind.packing, words), b.index(((g * lanes + r) * lanes) as i64));
                    b.store(words, out, at);
                }
            }
            range
        })
    };
    b.if_else(inside, |b| copy(b, false), |b| copy(b, true))
}

/// W vectors of words of A, one for each from word k on, for rows from `first` on. Beyond the last step that one repeats.
fn words_across(
    b: &mut Builder<'_>,
    kind: Kind,
    panel: &Panel,
    k: Value,
    first: Value,
    mask: Option<Value>,
) -> Vec<Value> {
    let (one, count) = (b.index(1), kind.packing.elements());
    let (last, elements) = (b.sub(panel.depth, one), b.index(count));
    let start = b.mul(k, elements);
    let load = |b: &mut Builder<'_>, step: i64| {
        let step = b.index(step);
        let at = b.add(start, step);
        let at = b.min(at, last);
        let offset = b.mul(at, panel.strides[1]);
        let offset = b.add(offset, first);
        b.load_vec(kind.a.elem, panel.source, offset, None, mask)
    };
    (0..b.lanes() as i64)
        .map(|i| {
            let parts: Vec<Value> = (0..count).map(|step| load(b, count * i + step)).collect();
            join(b, kind.packing, kind.a, &parts, 0)
        })
        .collect()
}

/// The last word of each row of a panel, for which `rest` steps are left. Beyond these the last one repeats, where B has zeros for it.
fn last_word(b: &mut Builder<'_>, kind: Kind, panel: &Panel, rest: Value, range: &[Value]) -> Range {
    let (zero, one, lanes) = (b.index(0), b.index(1), b.index(b.lanes() as i64));
    let (step, word) = (b.sub(panel.depth, rest), kind.packing.whole_words(b, panel.depth));
    let (final_step, lane) = (b.sub(panel.depth, one), b.urem(word, lanes));
    let (chunk, mr) = (b.sub(word, lane), b.index(kind.mr as i64));
    let start = b.mul(chunk, mr);
    let start = b.add(start, lane);
    let missing = if kind.a.elem.is_float() { 0x8000 } else { 0 };
    let mut range = range.to_vec();
    for r in 0..kind.mr as i64 {
        let row = clamped(b, panel, r);
        let parts: Vec<Value> = (0..kind.packing.elements() - 1)
            .map(|i| {
                let offset = b.index(i);
                let at = b.add(step, offset);
                let at = b.min(at, final_step);
                let source = element(b, kind.a.elem, panel.source, panel.strides, row, at);
                b.load(Type::Scalar(kind.a.elem), source, zero)
            })
            .collect();
        let word = join(b, kind.packing, kind.a, &parts, missing);
        if !range.is_empty() {
            let words = b.splat(word);
            range = with(b, &range, words);
        }
        let (word, skipped) = (raised(b, kind.packing, word), b.index(r));
        let offset = b.mul(skipped, lanes);
        let at = b.add(start, offset);
        b.store(word, panel.out, at);
    }
    range
}
