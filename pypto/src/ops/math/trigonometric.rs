//! Sine and cosine.
//!
//! The argument is brought to |r| <= pi/4 by subtracting multiples of pi/2, which is held in three parts (72 bits). Up to |x| = 10^5 the
//! error bound holds; for larger arguments a second pass finishes what the first left, with an absolute error of about |x| * 2^-48, so that
//! results lose their meaning gradually, and beyond 2^45 are some value in [-1, 1].

use super::MathBuilder;
use super::exponential::{ROUNDER, clamp};

const TWO_OVER_PI: f32 = std::f32::consts::FRAC_2_PI;
const PI_2: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

/// (sin r / r - 1) / r^2 in powers of r^2, for |r| <= pi/4; relative error 2^-32.
const SIN: [f32; 4] = [2.832_69e-6, -0.000_198_530_7, 0.008_333_379, -0.166_666_67];

/// (cos r - 1 + r^2 / 2) / r^4 in powers of r^2, for |r| <= pi/4; error 2^-33.
const COS: [f32; 3] = [2.443_256_4e-5, -0.001_388_731_1, 0.041_666_646];

/// sin x, at most 1.5 ULP for |x| <= 10^5 (see the module's text beyond); keeps the sign of 0, NaN for infinities.
#[inline(always)]
pub fn sin<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let (r, quadrant) = reduce(m, x);
    let value = quarter(m, r, quadrant);
    // -0.0 would come out as +0.0 of the reduction.
    let zero = m.f(0.0);
    let is_zero = m.eq(x, zero);
    m.select(is_zero, x, value)
}

/// cos x, at most 1.5 ULP for |x| <= 10^5 (see the module's text beyond); NaN for infinities.
#[inline(always)]
pub fn cos<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let (r, quadrant) = reduce(m, x);
    let one = m.i(1);
    let quadrant = m.iadd(quadrant, one);
    quarter(m, r, quadrant)
}

/// sin(r + quadrant * pi/2): sine or cosine polynomial by the low bit, sign by the next.
#[inline(always)]
fn quarter<B: MathBuilder>(m: &mut B, r: B::F, quadrant: B::I) -> B::F {
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
    // For large x the first multiple is not accurate to one, and its remainder is large; the second pass is exact for small ones (n = 0).
    let (r, first) = subtract_multiple(m, x);
    let (r, second) = subtract_multiple(m, r);
    let sum = m.add(first, second);
    let rounder = m.f(ROUNDER);
    let shifted = m.add(sum, rounder);
    let quadrant = m.bits(shifted);
    (clamp(m, r, -0.8, 0.8), quadrant)
}

/// x minus the nearest multiple n of pi/2, and n modulo 4 as a number in -2..=2.
#[inline(always)]
fn subtract_multiple<B: MathBuilder>(m: &mut B, x: B::F) -> (B::F, B::F) {
    let factor = m.f(TWO_OVER_PI);
    let quotient = m.mul(x, factor);
    let n = m.rint(quotient);
    let mut r = x;
    for part in PI_2 {
        let part = m.f(-part);
        r = m.fma(n, part, r);
    }
    let (quarter, four) = (m.f(0.25), m.f(-4.0));
    let turns = m.mul(n, quarter);
    let turns = m.rint(turns);
    (r, m.fma(turns, four, n))
}
