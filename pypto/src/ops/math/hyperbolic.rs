//! Functions that saturate: hyperbolic tangent, logistic function, error function.
//!
//! Each has a polynomial around 0 and a form with e^-x elsewhere; both are computed and one is selected, as vectors demand.

use super::MathBuilder;
use super::exponential::{clamp, exp, exp_parts, scale_inside};

/// (tanh x / x - 1) / x^2 in powers of x^2, for |x| <= 0.55; relative error 2^-29.
const TANH: [f32; 5] = [-0.006_245_992_6, 0.021_052_472, -0.053_847_85, 0.133_325_46, -0.333_333_16];
const TANH_SMALL: f32 = 0.55;

/// erf x / x - 1 in powers of x^2, for |x| <= 1; relative error 2^-29.
const ERF: [f32; 7] =
    [7.806_903e-5, -0.000_799_785_3, 0.005_187_162, -0.026_853_347, 0.112_835_79, -0.376_126_26, 0.128_379_17];

/// -ln(1 - erf t) for 1 <= t <= 4; relative error of erf 2^-29.
const ERFC: [f32; 7] =
    [-0.000_186_382_37, 0.002_947_684_6, -0.021_838_157, 0.103_106_92, 0.638_144_7, 1.127_089_3, 0.000_341_512_58];

/// e^x for x whose exponent needs no care: -87 < x < 88.
#[inline(always)]
fn exp_inside<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let (mantissa, exponent) = exp_parts(m, x);
    scale_inside(m, mantissa, exponent)
}

/// tanh x, at most 1.5 ULP; keeps the sign of 0.
#[inline(always)]
pub fn tanh<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let t = m.abs(x);
    // 1 - 2 / (e^2t + 1). From 9.02 on the result rounds to 1; the bound keeps e^2t finite, and NaN passes.
    let bounded = clamp(m, t, 0.0, 10.0);
    let twice = m.add(bounded, bounded);
    let e = exp_inside(m, twice);
    let (one, two) = (m.f(1.0), m.f(2.0));
    let denominator = m.add(e, one);
    let fraction = m.div(two, denominator);
    let large = m.sub(one, fraction);
    let s = m.mul(t, t);
    let p = m.polynomial(s, &TANH);
    let p = m.mul(p, s);
    let small = m.fma(p, t, t);
    let limit = m.f(TANH_SMALL);
    let is_small = m.lt(t, limit);
    let value = m.select(is_small, small, large);
    m.with_sign(value, x)
}

/// erf x, at most 1.5 ULP; keeps the sign of 0.
#[inline(always)]
pub fn erf<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let t = m.abs(x);
    // From 3.92 on the result rounds to 1.
    let bounded = clamp(m, t, 0.0, 4.0);
    let q = m.polynomial(bounded, &ERFC);
    let minus = m.neg(q);
    let e = exp_inside(m, minus);
    let one = m.f(1.0);
    let large = m.sub(one, e);
    let s = m.mul(t, t);
    let p = m.polynomial(s, &ERF);
    let small = m.fma(p, t, t);
    let is_small = m.lt(t, one);
    let value = m.select(is_small, small, large);
    m.with_sign(value, x)
}

/// 1 / (1 + e^-x), at most 2 ULP; for very negative x it underflows gradually with e^x.
#[inline(always)]
pub fn sigmoid<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    // e^-|x| does not overflow: the result is 1 / (1 + e) for positive and e / (1 + e) for negative x.
    let t = m.abs(x);
    let minus = m.neg(t);
    let e = exp(m, minus);
    let (zero, one) = (m.f(0.0), m.f(1.0));
    let negative = m.lt(x, zero);
    let numerator = m.select(negative, e, one);
    let denominator = m.add(one, e);
    let quotient = m.div(numerator, denominator);
    // What the sum lost, e - ((1 + e) - 1), divided by 1 + e, whose inverse is the quotient itself or 1 minus it.
    let kept = m.sub(denominator, one);
    let lost = m.sub(e, kept);
    let rest = m.sub(one, quotient);
    let inverse = m.select(negative, rest, quotient);
    let share = m.mul(lost, inverse);
    let minus = m.neg(share);
    m.fma(quotient, minus, quotient)
}
