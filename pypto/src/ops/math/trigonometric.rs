//! Sine and cosine.
//!
//! The argument is brought to |r| <= pi/4 by subtracting the nearest multiple of pi/2, which is held in three parts (72 bits). That is
//! accurate up to |x| = 10^5. Larger arguments are rare, and have a way of their own ([`super::large_angle`]) that only vectors with
//! such lanes take; together the error bound holds for every finite number.

use super::MathBuilder;
use super::exponential::{ROUNDER, clamp};
use super::large_angle;

const TWO_OVER_PI: f32 = std::f32::consts::FRAC_2_PI;
const PI_2: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

/// The same for engines without a fused multiply-add: products of the first two with integers up to 2^13 are exact.
const PI_2_SHORT: [f32; 3] = [1.570_312_5, 4.837_513e-4, 7.549_79e-8];

/// Up to here the short reduction is accurate.
const LARGE: f32 = 1e5;

/// (sin r / r - 1) / r^2 in powers of r^2, for |r| <= pi/4; relative error 2^-32.
const SIN: [f32; 4] = [2.832_69e-6, -0.000_198_530_7, 0.008_333_379, -0.166_666_67];

/// (cos r - 1 + r^2 / 2) / r^4 in powers of r^2, for |r| <= pi/4; error 2^-33.
const COS: [f32; 3] = [2.443_256_4e-5, -0.001_388_731_1, 0.041_666_646];

/// sin x, at most 1.5 ULP; keeps the sign of 0, NaN for infinities.
#[inline(always)]
pub fn sin<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let value = of_angle(m, x, 0);
    // -0.0 would come out as +0.0 of the reduction.
    let zero = m.f(0.0);
    let is_zero = m.eq(x, zero);
    m.select(is_zero, x, value)
}

/// cos x, at most 1.5 ULP; NaN for infinities.
#[inline(always)]
pub fn cos<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    of_angle(m, x, 1)
}

/// sin(x + quarters * pi/2).
#[inline(always)]
fn of_angle<B: MathBuilder>(m: &mut B, x: B::F, quarters: i32) -> B::F {
    let (r, quadrant) = reduce(m, x);
    let value = quarter(m, r, quadrant, quarters);
    let (limit, size) = (m.f(LARGE), m.abs(x));
    let is_large = m.lt(limit, size);
    m.rarely(is_large, value, |m| {
        let (r, quadrant) = large_angle::reduce(m, x);
        quarter(m, r, quadrant, quarters)
    })
}

/// sin(r + (quadrant + more) * pi/2): sine or cosine polynomial by the low bit, sign by the next.
#[inline(always)]
fn quarter<B: MathBuilder>(m: &mut B, r: B::F, quadrant: B::I, more: i32) -> B::F {
    let more = m.i(more);
    let quadrant = m.iadd(quadrant, more);
    let s = m.mul(r, r);
    let p = m.polynomial(s, &SIN);
    let p = m.mul(p, s);
    let sine = m.fma(p, r, r);
    let (half, one) = (m.f(-0.5), m.f(1.0));
    let p = m.polynomial(s, &COS);
    let p = m.fma(p, s, half);
    let cosine = m.fma(p, s, one);
    let (bit, none) = (m.i(1), m.i(0));
    let low = m.iand(quadrant, bit);
    let is_sine = m.ieq(low, none);
    let value = m.select(is_sine, sine, cosine);
    let two = m.i(2);
    let high = m.iand(quadrant, two);
    let sign = m.ishl(high, 30);
    let bits = m.bits(value);
    let bits = m.ixor(bits, sign);
    m.float_of(bits)
}

/// r and a quadrant (modulo 4, in the low bits) with x = r + quadrant * pi/2.
#[inline(always)]
fn reduce<B: MathBuilder>(m: &mut B, x: B::F) -> (B::F, B::I) {
    let (factor, rounder) = (m.f(TWO_OVER_PI), m.f(ROUNDER));
    let shifted = m.fma(x, factor, rounder);
    let n = m.sub(shifted, rounder);
    let mut r = x;
    for part in if B::FUSED { PI_2 } else { PI_2_SHORT } {
        let part = m.f(-part);
        r = m.fma(n, part, r);
    }
    // Of larger arguments r is no angle; where nothing better follows, the result stays in [-1, 1].
    (clamp(m, r, -0.8, 0.8), m.bits(shifted))
}
