//! A merge sort of indices, from runs of one element upwards; it is stable.

use super::super::access::{Access, from_stored};
use super::super::permute::load;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};
use crate::ir::DType;

/// Writes the falling order of the first `length` of at most `width` elements; `at` = the row, its order, and as many indices to
/// work with.
pub(super) fn sort(b: &mut Builder<'_>, keys: &Access, at: [Value; 3], length: Value, width: i64) {
    let ([row, order, merged], zero) = (at, b.index(0));
    b.for_each(zero, length, 1, |b, n| {
        let index = b.resize(n, Elem::I32, true);
        b.store(index, order, n);
    });
    let mut run = 1;
    while run < width {
        b.for_each(zero, length, 2 * run, |b, start| {
            let merge = Merge { keys, row, order, start, run, length };
            merge.emit(b, merged);
        });
        b.for_each(zero, length, 1, |b, n| {
            let index = b.load(Type::Scalar(Elem::I32), merged, n);
            b.store(index, order, n);
        });
        run *= 2;
    }
}

/// Two neighbouring runs of a row's order that become one.
struct Merge<'a> {
    keys: &'a Access,
    /// Address of the row of keys.
    row: Value,
    /// Address of the row of indices.
    order: Value,
    start: Value,
    /// Elements of a run.
    run: i64,
    length: Value,
}

impl Merge<'_> {
    fn emit(&self, b: &mut Builder<'_>, merged: Value) {
        let (run, one) = (b.index(self.run), b.index(1));
        let middle = b.add(self.start, run);
        let end = b.add(middle, run);
        let (middle, end) = (b.min(middle, self.length), b.min(end, self.length));
        // The left position is carried; the right one follows from it and from how many are merged.
        b.for_loop(self.start, end, one, &[self.start], |b, k, carried| {
            let left = carried[0];
            let taken = b.sub(k, left);
            let right = b.add(middle, taken);
            let (has_left, has_right) = (b.cmp(Cmp::Lt, left, middle), b.cmp(Cmp::Lt, right, end));
            let (a, c) = (self.index(b, left, has_left), self.index(b, right, has_right));
            let (key_a, key_c) = (self.key(b, a), self.key(b, c));
            let overtakes = comes_first(b, self.keys.dtype, key_c, key_a);
            let overtakes = b.and(overtakes, has_right);
            let stays = b.not(overtakes);
            let takes_left = b.and(has_left, stays);
            let chosen = b.select(takes_left, a, c);
            b.store(chosen, merged, k);
            let next = b.add(left, one);
            vec![b.select(takes_left, next, left)]
        });
    }

    /// The index at a position of the order; where there is none, any.
    fn index(&self, b: &mut Builder<'_>, position: Value, exists: Value) -> Value {
        let position = b.select(exists, position, self.start);
        b.load(Type::Scalar(Elem::I32), self.order, position)
    }

    fn key(&self, b: &mut Builder<'_>, index: Value) -> Value {
        let column = b.resize(index, Elem::I64, true);
        let value = load(b, self.keys, self.row, column);
        from_stored(b, value, self.keys.dtype)
    }
}

/// Whether `c` stands before `a` in falling order though it comes later.
fn comes_first(b: &mut Builder<'_>, dtype: DType, c: Value, a: Value) -> Value {
    match dtype {
        DType::Bool => {
            let not_a = b.not(a);
            b.and(c, not_a)
        }
        _ if dtype.is_unsigned_integer() => b.ucmp(Cmp::Gt, c, a),
        _ if dtype.is_float() => {
            let (larger, c_nan, a_nan) = (b.cmp(Cmp::Gt, c, a), b.is_nan(c), b.is_nan(a));
            let number = b.not(a_nan);
            let first = b.and(c_nan, number);
            b.or(larger, first)
        }
        _ => b.cmp(Cmp::Gt, c, a),
    }
}
