//! Powers with any exponent.
//!
//! x^y is 2^(y log2 |x|). An error of the exponent is an error of the result relative to it, and the exponent reaches 128, so the
//! logarithm and its product with y are pairs of f32, a rounded value and what the rounding lost.

use super::MathBuilder;
use super::exponential::{clamp, exp2_of_sum, fraction_and_exponent};

/// 2 / ln 2, in two parts.
const TWO_LOG2_E: (f32, f32) = (2.885_39, 3.851_926e-8);

/// A third, in two parts.
const THIRD: (f32, f32) = (0.333_333_34, -9.934_108e-9);

/// atanh(s) = s + s^3 / 3 + s^5 (1/5 + s^2 / 7 + ..): the last factor, for s^2 <= 1/25, to 2^-36 of s.
const ATANH: [f32; 5] = [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0];

/// Beyond it every power is 0, 1 or infinite; products with it are far from the ends of the range.
const LARGEST_EXPONENT: f32 = 1.0e12;

/// A number as the sum of two, the second below a unit in the last place of the first.
struct Pair<F> {
    high: F,
    low: F,
}

/// x^y, at most 1.5 ULP, with the special values of C and of Rust's `powf`: 1 where y is 0 or x is 1, whatever the other is; NaN
/// for finite negative x where y is not integral; the sign of x where y is odd.
#[inline(always)]
pub fn pow<B: MathBuilder>(m: &mut B, x: B::F, y: B::F) -> B::F {
    let (size, one) = (m.abs(x), m.f(1.0));
    let logarithm = log2(m, size);
    let bounded = clamp(m, y, -LARGEST_EXPONENT, LARGEST_EXPONENT);
    let exponent = product(m, bounded, logarithm.high);
    let low = m.fma(bounded, logarithm.low, exponent.low);
    // Outside these bounds the result is 0 or infinite anyway, and what the product lost is not a number.
    let high = clamp(m, exponent.high, -200.0, 200.0);
    let (within, zero) = (m.eq(high, exponent.high), m.f(0.0));
    let low = m.select(within, low, zero);
    let value = exp2_of_sum(m, high, low);
    let is_unit = m.eq(size, one);
    let value = m.select(is_unit, one, value);
    let value = signed(m, x, y, value);
    let is_number = m.eq(y, y);
    let value = m.select(is_number, value, y);
    let (without_y, without_x) = (m.eq(y, zero), m.eq(x, one));
    let value = m.select(without_y, one, value);
    m.select(without_x, one, value)
}

/// |x|^y with the sign of x^y; NaN where there is no such power.
#[inline(always)]
fn signed<B: MathBuilder>(m: &mut B, x: B::F, y: B::F, value: B::F) -> B::F {
    let (half, zero, nan) = (m.f(0.5), m.f(0.0), m.f(f32::NAN));
    let halved = m.mul(y, half);
    let (nearest, nearest_half) = (m.rint(y), m.rint(halved));
    let (is_integral, is_even) = (m.eq(nearest, y), m.eq(nearest_half, halved));
    let with_sign = m.with_sign(value, x);
    let odd = m.select(is_even, value, with_sign);
    let of_integral = m.select(is_integral, odd, value);
    let otherwise = m.select(is_integral, odd, nan);
    let minus_infinity = m.f(f32::NEG_INFINITY);
    let (is_negative, is_finite) = (m.lt(x, zero), m.lt(minus_infinity, x));
    let of_negative = m.select(is_finite, otherwise, of_integral);
    m.select(is_negative, of_negative, of_integral)
}

/// log2 x of x >= 0, to 2^-35 of it; -inf for 0, x for infinity and NaN.
#[inline(always)]
fn log2<B: MathBuilder>(m: &mut B, x: B::F) -> Pair<B::F> {
    // x = 2^exponent (1 + f); ln (1 + f) = 2 atanh s with s = f / (2 + f).
    let (f, exponent) = fraction_and_exponent(m, x);
    let two = m.f(2.0);
    let sum = m.add(two, f);
    let kept = m.sub(sum, two);
    let sum = Pair { high: sum, low: m.sub(f, kept) };
    let s = quotient(m, f, &sum);
    let atanh = atanh(m, &s);
    let (high, low) = (m.f(TWO_LOG2_E.0), m.f(TWO_LOG2_E.1));
    let scaled = product(m, atanh.high, high);
    let rest = m.fma(atanh.high, low, scaled.low);
    let rest = m.fma(atanh.low, high, rest);
    let whole = fast_sum(m, exponent, scaled.high);
    let rest = m.add(whole.low, rest);
    let whole = fast_sum(m, whole.high, rest);
    let (infinity, zero, minus_infinity) = (m.f(f32::INFINITY), m.f(0.0), m.f(f32::NEG_INFINITY));
    let (is_finite, is_zero) = (m.lt(x, infinity), m.eq(x, zero));
    let high = m.select(is_finite, whole.high, x);
    let low = m.select(is_finite, whole.low, zero);
    Pair { high: m.select(is_zero, minus_infinity, high), low: m.select(is_zero, zero, low) }
}

/// s + s (s^2 / 3 + s^4 (..)).
#[inline(always)]
fn atanh<B: MathBuilder>(m: &mut B, s: &Pair<B::F>) -> Pair<B::F> {
    let square = product(m, s.high, s.high);
    let twice = m.add(s.high, s.high);
    let square = Pair { high: square.high, low: m.fma(twice, s.low, square.low) };
    let (third, third_low) = (m.f(THIRD.0), m.f(THIRD.1));
    let cubic = product(m, square.high, third);
    let cubic_low = m.fma(square.high, third_low, cubic.low);
    let cubic_low = m.fma(square.low, third, cubic_low);
    let (higher, fourth) = (m.polynomial(square.high, &ATANH), m.mul(square.high, square.high));
    let higher = m.mul(higher, fourth);
    let factor = fast_sum(m, cubic.high, higher);
    let factor_low = m.add(factor.low, cubic_low);
    let change = product(m, s.high, factor.high);
    let change_low = m.fma(s.high, factor_low, change.low);
    let change_low = m.fma(s.low, factor.high, change_low);
    let whole = fast_sum(m, s.high, change.high);
    let low = m.add(s.low, change_low);
    Pair { high: whole.high, low: m.add(whole.low, low) }
}

/// a / b.
#[inline(always)]
fn quotient<B: MathBuilder>(m: &mut B, a: B::F, b: &Pair<B::F>) -> Pair<B::F> {
    let high = m.div(a, b.high);
    let back = product(m, high, b.high);
    let rest = m.sub(a, back.high);
    let rest = m.sub(rest, back.low);
    let share = m.mul(high, b.low);
    let rest = m.sub(rest, share);
    Pair { high, low: m.div(rest, b.high) }
}

/// a + b of |a| >= |b|, or a = 0.
#[inline(always)]
fn fast_sum<B: MathBuilder>(m: &mut B, a: B::F, b: B::F) -> Pair<B::F> {
    let high = m.add(a, b);
    let of_b = m.sub(high, a);
    Pair { high, low: m.sub(b, of_b) }
}

/// a b, exactly.
#[inline(always)]
fn product<B: MathBuilder>(m: &mut B, a: B::F, b: B::F) -> Pair<B::F> {
    let high = m.mul(a, b);
    if B::FUSED {
        let minus = m.neg(high);
        return Pair { high, low: m.fma(a, b, minus) };
    }
    let (a, b) = (halves(m, a), halves(m, b));
    let (first, cross, other, last) =
        (m.mul(a.high, b.high), m.mul(a.high, b.low), m.mul(a.low, b.high), m.mul(a.low, b.low));
    let lost = m.sub(first, high);
    let lost = m.add(lost, cross);
    let lost = m.add(lost, other);
    Pair { high, low: m.add(lost, last) }
}

/// The upper and the lower 12 bits.
#[inline(always)]
fn halves<B: MathBuilder>(m: &mut B, a: B::F) -> Pair<B::F> {
    let splitter = m.f(4097.0);
    let scaled = m.mul(a, splitter);
    let above = m.sub(scaled, a);
    let high = m.sub(scaled, above);
    Pair { high, low: m.sub(a, high) }
}
