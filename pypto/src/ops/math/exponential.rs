//! Exponentials and logarithms.

use super::MathBuilder;

/// Adding it to |x| < 2^22 leaves x, rounded to integral, in the low bits of the sum.
pub(super) const ROUNDER: f32 = 12582912.0;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
const LN_2: f32 = std::f32::consts::LN_2;
/// ln 2 in two parts; products of the first with integers up to 2^9 are exact.
const LN_2_HIGH: f32 = 0.693_145_75;
const LN_2_LOW: f32 = 1.428_606_8e-6;

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2; relative error of e^r 2^-28.
const EXP: [f32; 5] = [0.001_382_013_7, 0.008_368_686, 0.041_668_274, 0.166_665_21, 0.499_999_94];

/// (2^r - 1) / r for |r| <= 1/2; relative error of 2^r 2^-28.
const EXP2: [f32; 6] = [0.000_153_292_79, 0.001_339_097, 0.009_618_499, 0.055_503_596, 0.240_226_47, LN_2];

/// (ln(1 + f) - f) / f^2 for |f| <= 1/3; relative error of the logarithm 2^-27.
const LOG: [f32; 9] = [
    -0.128_742_87,
    0.139_867_08,
    -0.121_883_79,
    0.140_053_4,
    -0.166_801_8,
    0.200_104_45,
    -0.249_998_05,
    0.333_332_15,
    -0.5,
];

/// e^x, at most 1 ULP. 0 for -inf, +inf from 88.72284 on; results below the normal range are rounded once.
#[inline(always)]
pub fn exp<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    // From this bound on the result is infinite anyway; below it, the exponent fits the scaling. NaN passes.
    let x = at_most(m, x, 89.0);
    exp_at_most_one(m, x)
}

/// e^x for x at most 0, or NaN: the same bits without looking for large x.
#[inline(always)]
pub(super) fn exp_at_most_one<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    // Up to this bound the result is 0 anyway.
    let x = at_least(m, x, -104.0);
    let (mantissa, exponent) = exp_parts(m, x);
    scale(m, mantissa, exponent)
}

/// e^x - 1, at most 1.5 ULP, near 0 too; keeps the sign of 0. -1 for -inf, +inf from 88.72284 on.
#[inline(always)]
pub fn expm1<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    // Outside these bounds the result is -1 or infinite anyway. NaN passes.
    let inside = clamp(m, x, -30.0, 89.0);
    let (above_one, exponent) = exp_above_one(m, inside);
    // 2^n (1 + a) - 1 = 2 (2^(n-1) a + (2^(n-1) - 1/2)): 2^128 would be too large.
    let one = m.i(1);
    let exponent = exponent.integer(m);
    let exponent = m.isub(exponent, one);
    let power = power_of_two(m, exponent);
    let (half, two) = (m.f(0.5), m.f(2.0));
    let whole = m.sub(power, half);
    let sum = m.fma(power, above_one, whole);
    let value = m.mul(sum, two);
    itself_near_zero(m, x, value)
}

/// x where it is so small that the function is x, else the value.
#[inline(always)]
fn itself_near_zero<B: MathBuilder>(m: &mut B, x: B::F, value: B::F) -> B::F {
    let (size, tiny) = (m.abs(x), m.f(1e-10));
    let is_tiny = m.lt(size, tiny);
    m.select(is_tiny, x, value)
}

/// e^x as a number near 1 and an exponent of two.
#[inline(always)]
pub(super) fn exp_parts<B: MathBuilder>(m: &mut B, x: B::F) -> (B::F, Exponent<B::F>) {
    let (above_one, exponent) = exp_above_one(m, x);
    let one = m.f(1.0);
    (m.add(one, above_one), exponent)
}

/// e^x = 2^exponent * (1 + above one).
#[inline(always)]
fn exp_above_one<B: MathBuilder>(m: &mut B, x: B::F) -> (B::F, Exponent<B::F>) {
    let (log2_e, rounder) = (m.f(LOG2_E), m.f(ROUNDER));
    let shifted = m.fma(x, log2_e, rounder);
    let n = m.sub(shifted, rounder);
    let (high, low) = (m.f(-LN_2_HIGH), m.f(-LN_2_LOW));
    let r = m.fma(n, high, x);
    let r = m.fma(n, low, r);
    let p = m.polynomial(r, &EXP);
    let square = m.mul(r, r);
    (m.fma(p, square, r), Exponent { shifted, n })
}

/// An integral exponent of two.
#[derive(Clone, Copy)]
pub(super) struct Exponent<F> {
    /// The exponent, with [`ROUNDER`] added to it.
    shifted: F,
    n: F,
}

impl<F: Copy> Exponent<F> {
    /// The integer that [`ROUNDER`] left in the low bits.
    #[inline(always)]
    fn integer<B: MathBuilder<F = F>>(self, m: &mut B) -> B::I {
        let (bits, base) = (m.bits(self.shifted), m.i(ROUNDER.to_bits() as i32));
        m.isub(bits, base)
    }
}

/// a * 2^n, rounded once.
#[inline(always)]
fn scale<B: MathBuilder>(m: &mut B, a: B::F, exponent: Exponent<B::F>) -> B::F {
    if let Some(scaled) = m.scaled(a, exponent.n) {
        return scaled;
    }
    // In two steps, so that neither factor leaves the normal range and only the last product rounds.
    let n = exponent.integer(m);
    let half = m.ishr(n, 1);
    let rest = m.isub(n, half);
    let (first, second) = (power_of_two(m, half), power_of_two(m, rest));
    let a = m.mul(a, first);
    m.mul(a, second)
}

/// a * 2^n for n in -126..=127.
#[inline(always)]
pub(super) fn scale_inside<B: MathBuilder>(m: &mut B, a: B::F, exponent: Exponent<B::F>) -> B::F {
    if let Some(scaled) = m.scaled(a, exponent.n) {
        return scaled;
    }
    let n = exponent.integer(m);
    let power = power_of_two(m, n);
    m.mul(a, power)
}

/// 2^n for n in -126..=127.
#[inline(always)]
fn power_of_two<B: MathBuilder>(m: &mut B, n: B::I) -> B::F {
    let (shifted, one) = (m.ishl(n, 23), m.i(1.0f32.to_bits() as i32));
    let bits = m.iadd(shifted, one);
    m.float_of(bits)
}

#[inline(always)]
pub(super) fn clamp<B: MathBuilder>(m: &mut B, x: B::F, low: f32, high: f32) -> B::F {
    let x = at_least(m, x, low);
    at_most(m, x, high)
}

/// The larger of x and `low`; NaN passes.
#[inline(always)]
fn at_least<B: MathBuilder>(m: &mut B, x: B::F, low: f32) -> B::F {
    let low = m.f(low);
    let below = m.lt(x, low);
    m.select(below, low, x)
}

/// The smaller of x and `high`; NaN passes.
#[inline(always)]
fn at_most<B: MathBuilder>(m: &mut B, x: B::F, high: f32) -> B::F {
    let high = m.f(high);
    let above = m.lt(high, x);
    m.select(above, high, x)
}

/// 2^x, at most 1 ULP; exact for integers.
#[inline(always)]
pub fn exp2<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    // As of `exp`.
    let x = at_most(m, x, 129.0);
    exp2_at_most_one(m, x)
}

/// 2^x for x at most 0, or NaN: the same bits without looking for large x.
#[inline(always)]
pub(super) fn exp2_at_most_one<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let x = at_least(m, x, -151.0);
    let (shifted, n) = nearest_integer(m, x);
    let r = m.sub(x, n);
    exp2_inside(m, r, Exponent { shifted, n })
}

/// 2^(x + rest) for |x| <= 200 and a small rest.
#[inline(always)]
pub(super) fn exp2_of_sum<B: MathBuilder>(m: &mut B, x: B::F, rest: B::F) -> B::F {
    let (shifted, n) = nearest_integer(m, x);
    let r = m.sub(x, n);
    let r = m.add(r, rest);
    exp2_inside(m, r, Exponent { shifted, n })
}

/// x, rounded to integral, with [`ROUNDER`] added and without.
#[inline(always)]
fn nearest_integer<B: MathBuilder>(m: &mut B, x: B::F) -> (B::F, B::F) {
    let rounder = m.f(ROUNDER);
    let shifted = m.add(x, rounder);
    (shifted, m.sub(shifted, rounder))
}

/// 2^(exponent + r) for |r| <= 1/2.
#[inline(always)]
fn exp2_inside<B: MathBuilder>(m: &mut B, r: B::F, exponent: Exponent<B::F>) -> B::F {
    let one = m.f(1.0);
    let p = m.polynomial(r, &EXP2);
    let p = m.fma(p, r, one);
    scale(m, p, exponent)
}

/// ln x, at most 1 ULP. -inf for 0, NaN for negative x.
#[inline(always)]
pub fn log<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let (f, tail, exponent) = log_parts(m, x);
    let ln_2 = m.f(LN_2);
    let sum = m.add(f, tail);
    let value = m.fma(exponent, ln_2, sum);
    log_specials(m, x, value)
}

/// ln(1 + x), at most 1.5 ULP, near 0 too; keeps the sign of 0. -inf for -1, NaN below.
#[inline(always)]
pub fn log1p<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let one = m.f(1.0);
    let sum = m.add(x, one);
    // What the sum lost: of two numbers, the smaller minus what of it is in the sum.
    let (of_x, of_one) = (m.sub(sum, one), m.sub(sum, x));
    let (lost_x, lost_one) = (m.sub(x, of_x), m.sub(one, of_one));
    let x_is_larger = m.lt(one, x);
    let lost = m.select(x_is_larger, lost_one, lost_x);
    let share = m.div(lost, sum);
    let (f, tail, exponent) = log_parts(m, sum);
    let tail = m.add(tail, share);
    let ln_2 = m.f(LN_2);
    let near = m.add(f, tail);
    let value = m.fma(exponent, ln_2, near);
    let value = log_specials(m, sum, value);
    itself_near_zero(m, x, value)
}

/// log2 x, at most 2 ULP; exact for powers of two. -inf for 0, NaN for negative x.
#[inline(always)]
pub fn log2<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    // log2 e = 1 + 0.4427: the whole part times f is exact, so only the small terms round before the last addition.
    let (f, tail, exponent) = log_parts(m, x);
    let (high, low) = (m.f(LOG2_E), m.f(LOG2_E_LOW));
    let small = m.mul(f, low);
    let small = m.fma(tail, high, small);
    let value = m.fma(f, high, small);
    let value = m.add(exponent, value);
    log_specials(m, x, value)
}

/// log2 e minus its rounded value.
const LOG2_E_LOW: f32 = 1.925_963e-8;

/// ln x = exponent * ln 2 + f + tail, where 1 + f in [2/3, 4/3) is x without its exponent.
#[inline(always)]
fn log_parts<B: MathBuilder>(m: &mut B, x: B::F) -> (B::F, B::F, B::F) {
    let (f, exponent) = fraction_and_exponent(m, x);
    let square = m.mul(f, f);
    let p = m.polynomial(f, &LOG);
    let tail = m.mul(p, square);
    (f, tail, exponent)
}

/// x = 2^exponent (1 + f), where 1 + f is in [2/3, 4/3).
#[inline(always)]
pub(super) fn fraction_and_exponent<B: MathBuilder>(m: &mut B, x: B::F) -> (B::F, B::F) {
    const TWO_THIRDS: i32 = 0x3f2a_aaab;
    let (normal, up) = (m.f(f32::MIN_POSITIVE), m.f(8388608.0));
    let is_small = m.lt(x, normal);
    let scaled = m.mul(x, up);
    let x = m.select(is_small, scaled, x);
    let (shift, none) = (m.f(-23.0), m.f(0.0));
    let offset = m.select(is_small, shift, none);
    let (bits, base) = (m.bits(x), m.i(TWO_THIRDS));
    let above = m.isub(bits, base);
    let exponent = m.ishr(above, 23);
    let exponent_bits = m.ishl(exponent, 23);
    let mantissa = m.isub(bits, exponent_bits);
    let (mantissa, one) = (m.float_of(mantissa), m.f(1.0));
    let f = m.sub(mantissa, one);
    let exponent = m.to_f(exponent);
    (f, m.add(exponent, offset))
}

#[inline(always)]
fn log_specials<B: MathBuilder>(m: &mut B, x: B::F, value: B::F) -> B::F {
    let (infinity, zero) = (m.f(f32::INFINITY), m.f(0.0));
    let (nan, minus_infinity) = (m.f(f32::NAN), m.f(f32::NEG_INFINITY));
    let finite = m.lt(x, infinity);
    let itself = m.add(x, x);
    let value = m.select(finite, value, itself);
    let negative = m.lt(x, zero);
    let value = m.select(negative, nan, value);
    let is_zero = m.eq(x, zero);
    m.select(is_zero, minus_infinity, value)
}
