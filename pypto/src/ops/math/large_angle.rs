//! Reduction of large angles: x modulo pi/2 for any finite |x| > 10^5.
//!
//! x * 2/pi is wanted modulo 4, with some 60 bits after the point, because an f32 comes as close as 2^-29 to a multiple of pi/2. With 2/pi
//! in chunks of 24 bits, most chunks of an x do not matter: the products with the first are multiples of 4, those with the last are too
//! small. Five neighbouring ones are chosen by the size of x. Their products with x are exact as pairs of floats, each is taken modulo 4,
//! and all are summed exactly: as whole multiples of 2^-18, of 2^-38, and a small rest.

use super::MathBuilder;
use super::exponential::ROUNDER;

/// 2/pi in chunks of 24 bits, times 2^80, so that all are normal numbers. Beyond them follow zeros.
const CHUNKS: [u32; 9] =
    [0x6722_f983, 0x5adc_9c88, 0x4da9_4fe0, 0x421d_5f44, 0x3775_34dd, 0x2b40_db62, 0x1f15_993c, 0x1287_2082, 0];

/// From these |x| on, the first, second, .. chunk gives multiples of 4 only: 2^49, 2^73, ..
const STEPS: [f32; 4] = [5.629_499_5e14, 9.444_733e21, 1.584_563_3e29, 2.658_456e36];

/// Chunks that count for one x.
const WINDOW: usize = 5;

/// Sums with these leave multiples of 2^-18 and 2^-38.
const GRIDS: [f32; 2] = [48.0, 4.577_636_7e-5];

/// pi/2 in two parts.
const PI_2: [f32; 2] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8];

/// r and a quadrant (modulo 4, in the low bits) with x = r + quadrant * pi/2; NaN for what is not finite.
#[inline(always)]
pub(super) fn reduce<B: MathBuilder>(m: &mut B, x: B::F) -> (B::F, B::I) {
    let (sums, rest) = quarter_turns(m, x);
    let rounder = m.f(ROUNDER);
    let shifted = m.add(sums[0], rounder);
    let n = m.sub(shifted, rounder);
    let above = m.sub(sums[0], n);
    // Both are multiples of 2^-38 below 1, and the first is 0 or larger than the second.
    let high = m.add(above, sums[1]);
    let kept = m.sub(high, above);
    let lost = m.sub(sums[1], kept);
    let low = m.add(lost, rest);
    let fraction = m.add(high, low);
    let kept = m.sub(fraction, high);
    let low = m.sub(low, kept);
    let [first, second] = PI_2.map(|part| m.f(part));
    let r = m.mul(fraction, first);
    let minus = m.neg(r);
    let lost = m.fma(fraction, first, minus);
    let lost = m.fma(fraction, second, lost);
    let lost = m.fma(low, first, lost);
    (m.add(r, lost), m.bits(shifted))
}

/// x * 2/pi modulo 4, as multiples of 2^-18, of 2^-38, and a rest.
#[inline(always)]
fn quarter_turns<B: MathBuilder>(m: &mut B, x: B::F) -> ([B::F; 2], B::F) {
    let chunks = chunks_for(m, x);
    let down = m.f(8.271_806e-25); // 2^-80
    let x = m.mul(x, down);
    let zero = m.f(0.0);
    let (mut sums, mut rest) = ([zero; 2], zero);
    for (place, chunk) in chunks.into_iter().enumerate() {
        let product = m.mul(x, chunk);
        let minus = m.neg(product);
        let lost = m.fma(x, chunk, minus);
        for (part, is_large) in [(product, place < 2), (lost, place < 1)] {
            let part = if is_large { modulo_4(m, part) } else { part };
            let part = take(m, &mut sums[0], part, GRIDS[0]);
            let part = take(m, &mut sums[1], part, GRIDS[1]);
            rest = m.add(rest, part);
        }
    }
    (sums, rest)
}

/// Adds the multiple of the grid that is nearest to x to the sum; what is left of x.
#[inline(always)]
fn take<B: MathBuilder>(m: &mut B, sum: &mut B::F, x: B::F, grid: f32) -> B::F {
    let grid = m.f(grid);
    let shifted = m.add(x, grid);
    let near = m.sub(shifted, grid);
    *sum = m.add(*sum, near);
    m.sub(x, near)
}

/// x minus the nearest multiple of 4.
#[inline(always)]
fn modulo_4<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let (quarter, four) = (m.f(0.25), m.f(-4.0));
    let turns = m.mul(x, quarter);
    let turns = m.rint(turns);
    m.fma(turns, four, x)
}

/// The chunks that count for x.
#[inline(always)]
fn chunks_for<B: MathBuilder>(m: &mut B, x: B::F) -> [B::F; WINDOW] {
    let size = m.abs(x);
    let mut chunks: [B::F; WINDOW] = std::array::from_fn(|place| m.f(f32::from_bits(CHUNKS[place])));
    for (step, from) in STEPS.into_iter().enumerate() {
        let from = m.f(from);
        let below = m.lt(size, from);
        for (place, chunk) in chunks.iter_mut().enumerate() {
            let next = m.f(f32::from_bits(CHUNKS.get(place + step + 1).copied().unwrap_or(0)));
            *chunk = m.select(below, *chunk, next);
        }
    }
    chunks
}
