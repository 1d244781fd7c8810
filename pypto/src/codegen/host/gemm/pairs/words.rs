//! Words of two elements.

use super::super::pack::Layout;
use crate::codegen::host::lir::{Builder, Elem, Value};

/// Elements of two steps as words, scalars or vectors: the earlier step is the lower half, of bf16 the upper one. `missing` are the bits of
/// a step that there is not.
pub(super) fn join(b: &mut Builder<'_>, layout: Layout, first: Value, second: Option<Value>, missing: i64) -> Value {
    let is_float = layout.elem.is_float();
    let shape = b.ty(first).with_elem(Elem::I32);
    let wide = |b: &mut Builder<'_>, x: Value| {
        let x = if is_float { b.bitcast(x, Elem::I16) } else { x };
        b.resize(x, Elem::I32, layout.signed && !is_float)
    };
    let first = wide(b, first);
    let second = match second {
        Some(second) => wide(b, second),
        None => b.constant(shape, missing as u64),
    };
    let (low, high) = if is_float { (second, first) } else { (first, second) };
    let (sixteen, lower) = (b.constant(shape, 16), b.constant(shape, 0xffff));
    let (low, high) = (b.and(low, lower), b.shl(high, sixteen));
    b.or(low, high)
}

/// W words of steps that follow each other in memory, from element `at` on.
pub(super) fn words_along(b: &mut Builder<'_>, layout: Layout, base: Value, at: Value, mask: Option<Value>) -> Value {
    let zero = b.index(0);
    let base = b.addr(base, layout.elem, at);
    let sixteen = b.vint(Elem::I32, 16);
    if layout.elem != Elem::I8 {
        let words = b.load_pairs(Elem::I32, base, zero, mask);
        if !layout.elem.is_float() {
            return words;
        }
        let (low, high) = (b.lshr(words, sixteen), b.shl(words, sixteen));
        return b.or(low, high);
    }
    let both = b.load_pairs(Elem::I16, base, zero, mask);
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
