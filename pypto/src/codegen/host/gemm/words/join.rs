//! Words of several elements.

use super::super::pack::Layout;
use super::{Packing, RAISED};
use crate::codegen::host::lir::{Builder, Elem, Value};

/// Elements of consecutive steps as words, scalars or vectors: earlier steps are lower, but of bf16 upper. `missing` are the bits of steps
/// beyond these.
pub(super) fn join(b: &mut Builder<'_>, packing: Packing, layout: Layout, elements: &[Value], missing: i64) -> Value {
    let (is_float, bits) = (layout.elem.is_float(), 32 / packing.elements());
    let shape = b.ty(elements[0]).with_elem(Elem::I32);
    let part = b.constant(shape, (1 << bits) - 1);
    let mut word = b.constant(shape, 0);
    for step in 0..packing.elements() {
        let element = match elements.get(step as usize) {
            Some(&element) if is_float => b.bitcast(element, Elem::I16),
            Some(&element) => element,
            None => b.constant(shape, missing as u64),
        };
        let place = if is_float { packing.elements() - 1 - step } else { step };
        // The sign of an element that does not end at the top of the word would run into the others.
        let is_signed = layout.signed && !is_float && packing == Packing::Pairs;
        let wide = b.resize(element, Elem::I32, is_signed);
        let wide = if is_signed && place == 0 { b.and(wide, part) } else { wide };
        let amount = b.constant(shape, (place * bits) as u64);
        let wide = b.shl(wide, amount);
        word = b.or(wide, word);
    }
    word
}

/// W words of steps that follow each other in memory, from element `at` on.
pub(super) fn words_along(
    b: &mut Builder<'_>,
    packing: Packing,
    layout: Layout,
    base: Value,
    at: Value,
    mask: Option<Value>,
) -> Value {
    let zero = b.index(0);
    let base = b.addr(base, layout.elem, at);
    if packing == Packing::Pairs && layout.elem == Elem::I8 {
        return widened_pairs(b, layout, base, mask);
    }
    let words = b.load_words(Elem::I32, base, zero, mask);
    if !layout.elem.is_float() {
        return words;
    }
    let sixteen = b.vint(Elem::I32, 16);
    let (low, high) = (b.lshr(words, sixteen), b.shl(words, sixteen));
    b.or(low, high)
}

/// Pairs of bytes as pairs of 16 bits.
fn widened_pairs(b: &mut Builder<'_>, layout: Layout, base: Value, mask: Option<Value>) -> Value {
    let zero = b.index(0);
    let both = b.load_words(Elem::I16, base, zero, mask);
    let both = b.resize(both, Elem::I32, layout.signed);
    let (eight, shift) = (b.vint(Elem::I32, 8), b.vint(Elem::I32, 24));
    let (upper, lower) = (b.vint(Elem::I32, -0x100), b.vint(Elem::I32, 0xffff));
    let high = b.and(both, upper);
    let high = b.shl(high, eight);
    let low = b.shl(both, shift);
    let low = if layout.signed { b.ashr(low, shift) } else { b.lshr(low, shift) };
    let low = b.and(low, lower);
    b.or(low, high)
}

/// Words of the left factor as the instruction takes them.
pub(super) fn raised(b: &mut Builder<'_>, packing: Packing, words: Value) -> Value {
    if packing != (Packing::Quads { raised: true }) {
        return words;
    }
    let shape = b.ty(words);
    let all = b.constant(shape, RAISED as u64);
    b.xor(words, all)
}
