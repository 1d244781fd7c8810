//! Conversions between element types, in all rounding modes.
//!
//! Integers to integers wrap. Floats to integers round by the mode (towards zero without one), saturate, and take NaN to
//! 0. Integers to floats round to f32 by the mode (nearest even without one), and from there to f16 and bf16 likewise.
//! Floats to narrower floats round by the mode (nearest even without one). Everything to `bool` asks whether it differs
//! from 0; `bool` to numbers gives 0 and 1. A conversion of a type to itself changes nothing.

use half::{bf16, f16};

use super::array::Array;
use super::element::Element;
use super::error::Result;
use super::half_float::{is_half, narrow, widen};
use super::map::{map_f32, map1};
use super::number::{Integer, with_integer};
use crate::ir::{DType, Round};

/// The array in another element type.
pub fn cast(x: &Array, to: DType, round: Round) -> Result<Array> {
    let from = x.dtype();
    if from == to {
        return Ok(x.clone());
    }
    if is_half(from) {
        return cast(&widen(x)?, to, round);
    }
    match from {
        DType::F32 => from_f32(x, to, round),
        DType::Bool => from_integer::<u8>(&map1(x, |x: bool| u8::from(x))?, to, round),
        _ => with_integer!(from, T => from_integer::<T>(x, to, round), else Ok(x.clone())),
    }
}

fn from_f32(x: &Array, to: DType, round: Round) -> Result<Array> {
    match to {
        DType::F32 => Ok(x.clone()),
        DType::Bool => map1(x, |x: f32| x != 0.0),
        DType::F16 | DType::BF16 => narrow_rounded(x, to, round),
        _ => {
            let integral = match round {
                Round::None | Round::Trunc => x.clone(),
                Round::Rint => map_f32(x, |x: f32| x.round_ties_even())?,
                Round::Round => map_f32(x, |x: f32| x.round())?,
                Round::Floor => map_f32(x, |x: f32| x.floor())?,
                Round::Ceil => map_f32(x, |x: f32| x.ceil())?,
                Round::Odd => map_f32(x, to_odd)?,
            };
            with_integer!(to, T => map1(&integral, |x: f32| T::from_f32_saturating(x)), else Ok(integral))
        }
    }
}

/// The integral neighbour that is odd, unless `x` is integral.
fn to_odd(x: f32) -> f32 {
    let below = x.trunc();
    if below == x || x.is_nan() || (below as i64) & 1 != 0 { below } else { below + 1f32.copysign(x) }
}

fn narrow_rounded(x: &Array, to: DType, round: Round) -> Result<Array> {
    let format = match (to, round) {
        (_, Round::None | Round::Rint) => return narrow(x.clone(), to),
        (DType::F16, _) => F16,
        _ => BF16,
    };
    let bits = x.elements::<f32>().iter().map(|x| directed(*x, round, format));
    let data = match to {
        DType::F16 => f16::wrap(bits.map(f16::from_bits).collect()),
        _ => bf16::wrap(bits.map(bf16::from_bits).collect()),
    };
    Ok(Array { dims: x.dims, valid: x.valid, data })
}

/// By way of i64, which holds every integer.
fn from_integer<T: Integer>(x: &Array, to: DType, round: Round) -> Result<Array> {
    match to {
        DType::Bool => map1(x, |x: T| x != T::default()),
        DType::I64 => map1(x, |x: T| x.to_i64()),
        _ if T::DTYPE == DType::I64 => from_i64(x, to, round),
        _ => from_i64(&map1(x, |x: T| x.to_i64())?, to, round),
    }
}

fn from_i64(x: &Array, to: DType, round: Round) -> Result<Array> {
    match to {
        DType::F32 | DType::F16 | DType::BF16 => {
            let single = x.elements::<i64>().iter().map(|x| integer_to_f32(*x, round)).collect();
            let single = Array::from_vec(single, x.dims).with_valid(x.valid);
            if to == DType::F32 { Ok(single) } else { narrow_rounded(&single, to, round) }
        }
        _ => with_integer!(to, U => map1(x, |x: i64| U::from_bits64(x as u64)), else Ok(x.clone())),
    }
}

/// Rounding of an integer to f32 by the mode.
fn integer_to_f32(x: i64, round: Round) -> f32 {
    let nearest = x as f32;
    if matches!(round, Round::None | Round::Rint) {
        return nearest;
    }
    let (exact, x) = (nearest as i128, i128::from(x));
    if exact == x {
        return nearest;
    }
    let (lower, upper) = if exact > x { (nearest.next_down(), nearest) } else { (nearest, nearest.next_up()) };
    let (below, above) = (x - lower as i128, upper as i128 - x);
    match round {
        Round::None | Round::Rint => nearest,
        Round::Floor => lower,
        Round::Ceil => upper,
        Round::Trunc => {
            if x < 0 {
                upper
            } else {
                lower
            }
        }
        Round::Odd => {
            if lower.to_bits() & 1 != 0 {
                lower
            } else {
                upper
            }
        }
        Round::Round if below != above => nearest,
        Round::Round => {
            if x < 0 {
                lower
            } else {
                upper
            }
        }
    }
}

/// A 16-bit float format: nearest-even rounding into it, and the exact way back.
#[derive(Clone, Copy)]
struct Format {
    nearest: fn(f32) -> u16,
    value: fn(u16) -> f32,
}

const F16: Format = Format { nearest: |x| f32_to_f16(x).to_bits(), value: |bits| f16_to_f32(f16::from_bits(bits)) };
const BF16: Format = Format { nearest: |x| f32_to_bf16(x).to_bits(), value: |bits| bf16_to_f32(bf16::from_bits(bits)) };

/// Rounding of `x` into a 16-bit format by the mode, by way of the nearest value and its neighbours.
fn directed(x: f32, round: Round, format: Format) -> u16 {
    let nearest = (format.nearest)(x);
    let value = (format.value)(nearest);
    if value == x || x.is_nan() {
        return nearest;
    }
    let (lower, upper) = if value > x { (next_down(nearest), nearest) } else { (nearest, next_up(nearest)) };
    match round {
        Round::None | Round::Rint => nearest,
        Round::Floor => lower,
        Round::Ceil => upper,
        Round::Trunc => {
            if x < 0.0 {
                upper
            } else {
                lower
            }
        }
        Round::Odd => {
            if lower & 1 != 0 {
                lower
            } else {
                upper
            }
        }
        Round::Round => {
            let exact = |bits| f64::from((format.value)(bits));
            let tie = f64::from(x) - exact(lower) == exact(upper) - f64::from(x);
            if !tie {
                nearest
            } else if x < 0.0 {
                lower
            } else {
                upper
            }
        }
    }
}

/// The next larger value of a 16-bit float format.
fn next_up(bits: u16) -> u16 {
    match bits {
        0x8000 => 1,
        negative if negative & 0x8000 != 0 => negative - 1,
        positive => positive + 1,
    }
}

/// The next smaller value of a 16-bit float format.
fn next_down(bits: u16) -> u16 {
    match bits {
        0 => 0x8001,
        negative if negative & 0x8000 != 0 => negative + 1,
        positive => positive - 1,
    }
}

/// Exact. Selections instead of branches, so that loops of it vectorize.
#[inline(always)]
pub fn f16_to_f32(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    let magnitude = bits & 0x7fff;
    let normal = (magnitude << 13) + (112 << 23);
    let special = (magnitude << 13) | 0x7f80_0000;
    let subnormal = (magnitude as f32 * f32::from_bits(0x3380_0000)).to_bits();
    let result = if magnitude >= 0x7c00 {
        special
    } else if magnitude < 0x0400 {
        subnormal
    } else {
        normal
    };
    f32::from_bits(result | (bits & 0x8000) << 16)
}

/// To nearest even. Adding 0.5 to a small number leaves it rounded to f16's smallest step in the low bits of the sum.
#[inline(always)]
pub fn f32_to_f16(x: f32) -> f16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let special = if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    let result = if magnitude >= 0x477f_f000 {
        special
    } else if magnitude < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    f16::from_bits((result | bits >> 16 & 0x8000) as u16)
}

/// Exact.
#[inline(always)]
pub fn bf16_to_f32(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// To nearest even.
#[inline(always)]
pub fn f32_to_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let quiet = bits >> 16 | 0x40;
    bf16::from_bits(if x.is_nan() { quiet as u16 } else { rounded as u16 })
}
