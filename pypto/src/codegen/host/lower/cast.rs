//! Conversions between element types in all rounding modes, on registers.
//!
//! The directed modes take the nearest value first and step to its neighbour where that is what the mode asks for.

use super::access::{computing, from_stored, stored, to_stored};
use super::elementwise::round_to;
use crate::codegen::host::lir::{Builder, Cmp, Cvt, Elem, Value};
use crate::ir::{DType, Round};

/// The value in another element type; both in computing form.
pub(super) fn cast(b: &mut Builder<'_>, x: Value, from: DType, to: DType, round: Round) -> Value {
    match (from, to) {
        _ if from == to => x,
        (DType::Bool, _) => {
            let byte = b.resize(x, Elem::I8, false);
            cast(b, byte, DType::U8, to, round)
        }
        (_, DType::Bool) => {
            let zero = b.constant(b.ty(x), 0);
            b.cmp(Cmp::Ne, x, zero)
        }
        (_, DType::F32) if from.is_float() => x,
        _ if from.is_float() && to.is_float() => narrow(b, x, to, round),
        _ if from.is_float() => to_integer(b, x, to, round),
        _ if to.is_float() => {
            let single = from_integer(b, x, from, round);
            narrow(b, single, to, round)
        }
        _ => b.resize(x, computing(to), from.is_signed_integer()),
    }
}

/// The bits as another element type of the same width; both in computing form. A NaN gives those of the quiet NaN without a
/// sign.
pub(super) fn bitcast(b: &mut Builder<'_>, x: Value, from: DType, to: DType) -> Value {
    if !from.is_float() {
        let bits = b.bitcast(x, stored(to));
        return from_stored(b, bits, to);
    }
    let nan = match from {
        DType::F16 => u64::from(half::f16::NAN.to_bits()),
        DType::BF16 => u64::from(half::bf16::NAN.to_bits()),
        _ => u64::from(f32::NAN.to_bits()),
    };
    let integer = if from.size() == 4 { Elem::I32 } else { Elem::I16 };
    let stored_bits = to_stored(b, x, from);
    let bits = b.bitcast(stored_bits, integer);
    let (canonical, is_nan) = (b.constant(b.ty(bits), nan), b.is_nan(x));
    let bits = b.select(is_nan, canonical, bits);
    let bits = b.bitcast(bits, stored(to));
    from_stored(b, bits, to)
}

fn is_nearest(round: Round) -> bool {
    matches!(round, Round::None | Round::Rint)
}

fn to_integer(b: &mut Builder<'_>, x: Value, to: DType, round: Round) -> Value {
    let rounded = match round {
        Round::None | Round::Trunc => x,
        Round::Rint => b.rint(x),
        Round::Floor => b.floor(x),
        Round::Ceil => b.ceil(x),
        Round::Round => half_away(b, x),
        Round::Odd => to_odd(b, x),
    };
    let cvt = if to.is_unsigned_integer() { Cvt::ToUnsigned } else { Cvt::ToSigned };
    b.cvt(cvt, rounded, computing(to))
}

/// 1 with the sign of x.
fn unit(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.ty(x);
    let (zero, one, minus) =
        (b.constant(ty, 0), b.constant(ty, u64::from(1f32.to_bits())), b.constant(ty, u64::from((-1f32).to_bits())));
    let negative = b.cmp(Cmp::Lt, x, zero);
    b.select(negative, minus, one)
}

/// To integral, halves away from zero: the truncated value, one further where at least half was cut off.
pub(super) fn half_away(b: &mut Builder<'_>, x: Value) -> Value {
    let half = b.constant(b.ty(x), u64::from(0.5f32.to_bits()));
    let (whole, one) = (b.trunc(x), unit(b, x));
    let cut = b.sub(x, whole);
    let cut = b.abs(cut);
    let (further, at_least) = (b.add(whole, one), b.cmp(Cmp::Ge, cut, half));
    b.select(at_least, further, whole)
}

/// To integral, odd unless exact.
fn to_odd(b: &mut Builder<'_>, x: Value) -> Value {
    let (whole, one) = (b.trunc(x), unit(b, x));
    let integer = b.cvt(Cvt::ToSigned, whole, Elem::I64);
    let (bit, zero) = (b.constant(b.ty(integer), 1), b.constant(b.ty(integer), 0));
    let last = b.and(integer, bit);
    let (even, inexact) = (b.cmp(Cmp::Eq, last, zero), b.cmp(Cmp::Ne, whole, x));
    let step = b.and(even, inexact);
    let further = b.add(whole, one);
    b.select(step, further, whole)
}

/// What a directed mode needs to choose between the neighbours of an inexact value.
struct Neighbours {
    lower: Value,
    upper: Value,
    nearest: Value,
    /// Whether the last bit of `lower` is set.
    lower_odd: Value,
    /// Whether the exact value is below zero.
    negative: Value,
    /// Whether it lies half-way.
    tie: Value,
}

fn choose(b: &mut Builder<'_>, round: Round, n: &Neighbours) -> Value {
    match round {
        Round::None | Round::Rint => n.nearest,
        Round::Floor => n.lower,
        Round::Ceil => n.upper,
        Round::Trunc => b.select(n.negative, n.upper, n.lower),
        Round::Odd => b.select(n.lower_odd, n.lower, n.upper),
        Round::Round => {
            let away = b.select(n.negative, n.lower, n.upper);
            b.select(n.tie, away, n.nearest)
        }
    }
}

/// The bit patterns below and above a float given by its bits; it must not be 0 where `away` does not say so.
fn step(b: &mut Builder<'_>, bits: Value, up: bool) -> Value {
    let ty = b.ty(bits);
    let width = b.elem(bits).bits();
    let (zero, one, least) = (b.constant(ty, 0), b.constant(ty, 1), b.constant(ty, 1 << (width - 1)));
    let negative = b.cmp(Cmp::Lt, bits, zero);
    let (more, less) = (b.add(bits, one), b.sub(bits, one));
    let stepped = if up { b.select(negative, less, more) } else { b.select(negative, more, less) };
    // The neighbour of a zero on the other side is the least number there.
    let (zero_here, neighbour) = if up { (least, one) } else { (zero, b.constant(ty, (1 << (width - 1)) | 1)) };
    let at_zero = b.cmp(Cmp::Eq, bits, zero_here);
    b.select(at_zero, neighbour, stepped)
}

/// f32 to f16 or bf16 (as f32 with such a value).
fn narrow(b: &mut Builder<'_>, x: Value, to: DType, round: Round) -> Value {
    if to == DType::F32 || is_nearest(round) {
        return round_to(b, x, to);
    }
    let elem = stored(to);
    let short = b.cvt(Cvt::Round, x, elem);
    let bits = b.bitcast(short, Elem::I16);
    let value = b.widen(short);
    let above = b.cmp(Cmp::Gt, value, x);
    let (down, up) = (step(b, bits, false), step(b, bits, true));
    let (lower, upper) = (b.select(above, down, bits), b.select(above, bits, up));
    let one = b.constant(b.ty(bits), 1);
    let low_bit = b.and(lower, one);
    let zero = b.constant(b.ty(x), 0);
    let neighbours = Neighbours {
        lower_odd: b.cmp(Cmp::Eq, low_bit, one),
        negative: b.cmp(Cmp::Lt, x, zero),
        tie: half_way(b, x, lower, upper, elem),
        lower,
        upper,
        nearest: bits,
    };
    let chosen = choose(b, round, &neighbours);
    let (same, number) = (b.cmp(Cmp::Eq, value, x), b.is_nan(x));
    let keep = b.or(same, number);
    let chosen = b.select(keep, bits, chosen);
    let short = b.bitcast(chosen, elem);
    b.widen(short)
}

/// Whether x lies exactly between two short floats. The differences are exact in f32 except where `upper` is infinite, which is never a tie.
fn half_way(b: &mut Builder<'_>, x: Value, lower: Value, upper: Value, elem: Elem) -> Value {
    let (lower, upper) = (b.bitcast(lower, elem), b.bitcast(upper, elem));
    let (lower, upper) = (b.widen(lower), b.widen(upper));
    let (below, above) = (b.sub(x, lower), b.sub(upper, x));
    b.cmp(Cmp::Eq, below, above)
}

/// An integer to f32.
fn from_integer(b: &mut Builder<'_>, x: Value, from: DType, round: Round) -> Value {
    if is_nearest(round) {
        let cvt = if from.is_unsigned_integer() { Cvt::FromUnsigned } else { Cvt::FromSigned };
        return b.cvt(cvt, x, Elem::F32);
    }
    let x = b.resize(x, Elem::I64, from.is_signed_integer());
    let nearest = b.cvt(Cvt::FromSigned, x, Elem::F32);
    let bits = b.bitcast(nearest, Elem::I32);
    let (exact, beyond) = to_wide(b, nearest);
    let (equal, greater) = (b.cmp(Cmp::Eq, exact, x), b.cmp(Cmp::Gt, exact, x));
    let greater = b.or(greater, beyond);
    let (down, up) = (step(b, bits, false), step(b, bits, true));
    let (lower, upper) = (b.select(greater, down, bits), b.select(greater, bits, up));
    let (one, zero) = (b.constant(b.ty(bits), 1), b.constant(b.ty(x), 0));
    let low_bit = b.and(lower, one);
    let neighbours = Neighbours {
        lower_odd: b.cmp(Cmp::Eq, low_bit, one),
        negative: b.cmp(Cmp::Lt, x, zero),
        tie: half_way_wide(b, x, lower, upper),
        lower,
        upper,
        nearest: bits,
    };
    let chosen = choose(b, round, &neighbours);
    let chosen = b.select(equal, bits, chosen);
    b.bitcast(chosen, Elem::F32)
}

/// An integral f32 as i64, 2^63 wrapping to the smallest; whether it is 2^63.
fn to_wide(b: &mut Builder<'_>, x: Value) -> (Value, Value) {
    let limit = b.constant(b.ty(x), u64::from(9_223_372_036_854_775_808f32.to_bits()));
    let beyond = b.cmp(Cmp::Ge, x, limit);
    let integer = b.cvt(Cvt::ToSigned, x, Elem::I64);
    let least = b.constant(b.ty(integer), 1 << 63);
    (b.select(beyond, least, integer), beyond)
}

fn half_way_wide(b: &mut Builder<'_>, x: Value, lower: Value, upper: Value) -> Value {
    let (lower, upper) = (b.bitcast(lower, Elem::F32), b.bitcast(upper, Elem::F32));
    let ((lower, _), (upper, _)) = (to_wide(b, lower), to_wide(b, upper));
    let (below, above) = (b.sub(x, lower), b.sub(upper, x));
    b.cmp(Cmp::Eq, below, above)
}
