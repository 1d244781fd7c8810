//! Elements as integers of 32 bits that order as they do, and numbers that hold such a key and an index.

use super::super::access::{Access, computing, from_stored, stored};
use crate::codegen::host::lir::{Builder, Elem, Value};
use crate::ir::DType;

/// The key of what is not there: it comes last.
pub(super) const LAST: i64 = i32::MAX as i64;
/// The pair that comes last.
pub(super) const LAST_PAIR: i64 = ONE | ((1 << 52) - 1);
/// Bits of an index in a pair.
pub(super) const INDEX_BITS: u32 = 20;
/// The bits of 1.0 as a float of 64 bits.
const ONE: i64 = 0x3ff << 52;

/// Whether elements of the type have keys.
pub(super) fn exist(dtype: DType) -> bool {
    dtype != DType::I64
}

/// Keys of the W elements of a row from column `at` on; those outside of the mask come last.
pub(super) fn load(b: &mut Builder<'_>, x: &Access, row: Value, at: Value, mask: Option<Value>) -> Value {
    let stride = x.strides[x.strides.len() - 1];
    let (first, apart) = (b.mul(at, stride), (b.as_const(stride) != Some(1)).then_some(stride));
    let element = b.load_vec(stored(x.dtype), row, first, apart, mask);
    let element = from_stored(b, element, x.dtype);
    let key = key(b, element, x.dtype);
    match mask {
        Some(mask) => {
            let last = b.vint(Elem::I32, LAST);
            b.select(mask, key, last)
        }
        None => key,
    }
}

/// An integer that rises as the elements fall: NaN first, zeros of both signs alike.
fn key(b: &mut Builder<'_>, value: Value, dtype: DType) -> Value {
    let ones = b.vint(Elem::I32, -1);
    let rising = match dtype {
        _ if dtype.is_float() => {
            let zero = b.vf32(0.0);
            let (nan, positive_zero) = (b.is_nan(value), b.add(value, zero));
            let bits = b.bitcast(positive_zero, Elem::I32);
            let (shift, magnitude) = (b.vint(Elem::I32, 31), b.vint(Elem::I32, i64::from(i32::MAX)));
            let sign = b.ashr(bits, shift);
            let flip = b.and(sign, magnitude);
            let ordered = b.xor(bits, flip);
            b.select(nan, magnitude, ordered)
        }
        DType::U32 => {
            let top = b.vint(Elem::I32, i64::from(i32::MIN));
            b.xor(value, top)
        }
        _ if computing(dtype) == Elem::I32 => value,
        _ => b.resize(value, Elem::I32, dtype.is_signed_integer()),
    };
    b.xor(rising, ones)
}

/// A key and an index, scalars or vectors, as one number: pairs order by key, then by index. As floats they lie in [1, 2), so the
/// processor's minimum and maximum of floats order them, which integers of 64 bits do not have.
pub(super) fn pair(b: &mut Builder<'_>, key: Value, index: Value) -> Value {
    let (sign, shift, one) = (b.int(Elem::I32, i64::from(i32::MIN)), b.index(i64::from(INDEX_BITS)), b.index(ONE));
    let unsigned = b.xor(key, sign);
    let wide = b.resize(unsigned, Elem::I64, false);
    let high = b.shl(wide, shift);
    let both = b.or(high, index);
    b.or(both, one)
}

/// The index of a pair, as i32.
pub(super) fn index(b: &mut Builder<'_>, pair: Value) -> Value {
    let low = b.resize(pair, Elem::I32, false);
    let mask = b.int(Elem::I32, (1 << INDEX_BITS) - 1);
    b.and(low, mask)
}

/// The key of a pair.
pub(super) fn of_pair(b: &mut Builder<'_>, pair: Value) -> Value {
    let shift = b.index(i64::from(INDEX_BITS));
    let high = b.lshr(pair, shift);
    let unsigned = b.resize(high, Elem::I32, false);
    let sign = b.int(Elem::I32, i64::from(i32::MIN));
    b.xor(unsigned, sign)
}
