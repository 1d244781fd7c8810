//! The remainder of f32, exactly as Rust's `%`: on integers, because the quotient may be too large for any float.
//!
//! With |x| = p * 2^e and |y| = q * 2^f for integers p, q below 2^24 and e >= f, the remainder is ((p mod q) * 2^(e - f) mod q) * 2^f: one
//! doubling and one conditional subtraction for each step from f to e.

use crate::codegen::host::lir::{Builder, Cmp, Elem, Value};

/// `x % y` per lane: the sign of x; NaN for infinite x, for y = 0 and for NaN; x itself for infinite y.
pub(super) fn remainder(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let (ax, ay) = (b.abs(x), b.abs(y));
    let ((p, e), (q, f)) = (parts(b, ax), parts(b, ay));
    let ints = b.ty(p);
    let (zero, one) = (b.constant(ints, 0), b.constant(ints, 1));
    let by_zero = b.cmp(Cmp::Eq, q, zero);
    let q = b.select(by_zero, one, q);
    let steps = b.sub(e, f);
    let start = b.urem(p, q);
    let end = b.while_loop(
        &[start, steps],
        |b, state| {
            let more = b.cmp(Cmp::Gt, state[1], zero);
            b.any(more)
        },
        |b, state| {
            let more = b.cmp(Cmp::Gt, state[1], zero);
            let double = b.add(state[0], state[0]);
            let less = b.sub(double, q);
            let fits = b.cmp(Cmp::Ge, double, q);
            let next = b.select(fits, less, double);
            let left = b.sub(state[1], one);
            vec![b.select(more, next, state[0]), left]
        },
    );
    let magnitude = assemble(b, end[0], f);
    let signed = copy_sign(b, magnitude, x);
    special(b, x, y, signed)
}

/// The magnitude as an integer times a power of two: `significand * 2^(exponent - 150)`.
fn parts(b: &mut Builder<'_>, magnitude: Value) -> (Value, Value) {
    let bits = b.bitcast(magnitude, Elem::I32);
    let ty = b.ty(bits);
    let (shift, low, hidden) = (b.constant(ty, 23), b.constant(ty, (1 << 23) - 1), b.constant(ty, 1 << 23));
    let (zero, one) = (b.constant(ty, 0), b.constant(ty, 1));
    let exponent = b.lshr(bits, shift);
    let fraction = b.and(bits, low);
    let full = b.or(fraction, hidden);
    let subnormal = b.cmp(Cmp::Eq, exponent, zero);
    (b.select(subnormal, fraction, full), b.select(subnormal, one, exponent))
}

/// `r * 2^(exponent - 150)`, in two exact steps: the factor itself may be below the normal range.
fn assemble(b: &mut Builder<'_>, r: Value, exponent: Value) -> Value {
    let value = b.cvt(crate::codegen::host::lir::Cvt::FromSigned, r, Elem::F32);
    let (ty, floats) = (b.ty(r), b.ty(value));
    let (bias, shift) = (b.constant(ty, 127 + 64 - 150), b.constant(ty, 23));
    let biased = b.add(exponent, bias);
    let factor = b.shl(biased, shift);
    let factor = b.bitcast(factor, Elem::F32);
    // The largest exponents would overflow with the 2^64 in them; the value is scaled down first, exactly, as it is an integer.
    let small = b.constant(floats, u64::from(5.421_011e-20_f32.to_bits()));
    let (limit, high) = (b.constant(ty, 127), b.constant(ty, 64));
    let large = b.cmp(Cmp::Gt, exponent, limit);
    let reduced = b.sub(biased, high);
    let reduced = b.shl(reduced, shift);
    let reduced = b.bitcast(reduced, Elem::F32);
    let direct = b.mul(value, reduced);
    let scaled = b.mul(value, factor);
    let scaled = b.mul(scaled, small);
    b.select(large, direct, scaled)
}

fn copy_sign(b: &mut Builder<'_>, magnitude: Value, sign: Value) -> Value {
    let (m, s) = (b.bitcast(magnitude, Elem::I32), b.bitcast(sign, Elem::I32));
    let mask = b.constant(b.ty(s), 1 << 31);
    let sign = b.and(s, mask);
    let bits = b.or(m, sign);
    b.bitcast(bits, Elem::F32)
}

/// Replaces the result where an operand is special, or where x is the smaller one.
fn special(b: &mut Builder<'_>, x: Value, y: Value, value: Value) -> Value {
    let ty = b.ty(x);
    let (zero, infinity) = (b.constant(ty, 0), b.constant(ty, u64::from(f32::INFINITY.to_bits())));
    let nan = b.constant(ty, u64::from(f32::NAN.to_bits()));
    let (ax, ay) = (b.abs(x), b.abs(y));
    let smaller = b.cmp(Cmp::Lt, ax, ay);
    let value = b.select(smaller, x, value);
    // Not below infinity: infinite or NaN.
    let (finite, by_zero, unknown) = (b.cmp(Cmp::Lt, ax, infinity), b.cmp(Cmp::Eq, y, zero), b.is_nan(y));
    let value = b.select(finite, value, nan);
    let bad = b.or(by_zero, unknown);
    b.select(bad, nan, value)
}
