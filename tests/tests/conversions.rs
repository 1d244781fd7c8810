//! Casts of every value of the types of at most 16 bits, and of a sample of f32, to every type in every rounding mode, against a formula
//! of its own: a float type is a number of bits and a range, a rounding mode chooses between two neighbours.

use half::{bf16, f16};
use pypto::ir::{DType, Round};
use pypto::ops::reference::cast::cast;
use pypto::ops::reference::{Array, Element, Shape};
use pypto_tests::bits::is_nan;

/// A number as exactly as all types here have it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Int(i64),
    /// f64 holds every value of the float types.
    Float(f64),
}

fn signed(bits: u64, width: u32) -> i64 {
    (bits << (64 - width)) as i64 >> (64 - width)
}

fn number(bits: u64, dtype: DType) -> Number {
    match dtype {
        DType::F32 => Number::Float(f64::from(f32::from_bits(bits as u32))),
        DType::F16 => Number::Float(f64::from(f16::from_bits(bits as u16))),
        DType::BF16 => Number::Float(f64::from(bf16::from_bits(bits as u16))),
        _ if dtype.is_signed_integer() => Number::Int(signed(bits, dtype.bits())),
        _ => Number::Int(bits as i64),
    }
}

/// The integer that the mode chooses for x.
fn integral(x: f64, round: Round) -> f64 {
    let (below, above) = (x.floor(), x.ceil());
    if below == above {
        return x;
    }
    let (towards_zero, away) = if x < 0.0 { (above, below) } else { (below, above) };
    let even = if below % 2.0 == 0.0 { below } else { above };
    let odd = below + above - even;
    let nearest = |tie| match (x - below).total_cmp(&(above - x)) {
        std::cmp::Ordering::Less => below,
        std::cmp::Ordering::Greater => above,
        std::cmp::Ordering::Equal => tie,
    };
    match round {
        Round::Rint => nearest(even),
        Round::Round => nearest(away),
        Round::Floor => below,
        Round::Ceil => above,
        Round::None | Round::Trunc => towards_zero,
        Round::Odd => odd,
    }
}

/// Bits of the significand, exponents of the smallest normal and of the largest number.
fn format(dtype: DType) -> (i32, i32, i32) {
    match dtype {
        DType::F16 => (11, -14, 15),
        DType::BF16 => (8, -126, 127),
        _ => (24, -126, 127),
    }
}

/// x rounded into a float type; without a mode to the nearest.
fn to_float(x: f64, dtype: DType, round: Round) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let round = if round == Round::None { Round::Rint } else { round };
    let (bits, lowest, highest) = format(dtype);
    let exponent = (((x.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(lowest);
    let unit = 2f64.powi(exponent - bits + 1);
    let rounded = integral(x / unit, round) * unit;
    let largest = 2f64.powi(highest) * (2.0 - 2f64.powi(1 - bits));
    let to_infinity = match round {
        Round::Rint | Round::Round => true,
        Round::Floor => x < 0.0,
        Round::Ceil => x > 0.0,
        _ => false,
    };
    let magnitude = match rounded.abs() > largest {
        true if to_infinity => f64::INFINITY,
        true => largest,
        false => rounded.abs(),
    };
    magnitude.copysign(x)
}

/// The bits of x in a float type that has it.
fn float_bits(x: f64, dtype: DType) -> u64 {
    match dtype {
        DType::F16 => f16::from_f64(x).to_bits().into(),
        DType::BF16 => bf16::from_f64(x).to_bits().into(),
        _ => (x as f32).to_bits().into(),
    }
}

/// What a cast gives.
fn expected(x: Number, to: DType, round: Round) -> u64 {
    let width = to.bits();
    let mask = u64::MAX >> (64 - width);
    match x {
        Number::Int(n) if to.is_integer() => n as u64 & mask,
        Number::Int(n) if to == DType::Bool => u64::from(n != 0),
        Number::Int(n) => float_bits(to_float(n as f64, to, round), to),
        Number::Float(x) if to == DType::Bool => u64::from(x != 0.0),
        Number::Float(x) if to.is_float() => float_bits(to_float(x, to, round), to),
        Number::Float(x) if x.is_nan() => 0,
        Number::Float(x) => {
            let whole = if x.is_infinite() { x } else { integral(x, round) };
            let (low, high) = match to.is_signed_integer() {
                true => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
                false => (0, (1i128 << width) - 1),
            };
            (whole as i128).clamp(low, high) as u64 & mask
        }
    }
}

/// Checks a list of values, given as bits.
fn check<T: Element>(bits: impl Iterator<Item = u64>) {
    let bits: Vec<u64> = bits.collect();
    let values: Vec<T> = bits.iter().map(|bits| T::from_bits64(*bits)).collect();
    let x = Array::from_vec(values, Shape::from([bits.len() as i64]));
    for to in DType::ALL.into_iter().filter(|to| *to != T::DTYPE) {
        for round in Round::ALL {
            let y = cast(&x, to, round).unwrap();
            for (i, from) in bits.iter().enumerate() {
                let (got, want) = (y.get(&[i as i64]).unwrap().bits, expected(number(*from, T::DTYPE), to, round));
                assert!(
                    got == want || is_nan(got, to) && is_nan(want, to),
                    "{} {from:#x} to {to}, {round}: {got:#x} instead of {want:#x}",
                    T::DTYPE
                );
            }
        }
    }
}

#[test]
fn from_every_8_bit_integer_and_bool() {
    check::<bool>(0..2);
    check::<i8>(0..1 << 8);
    check::<u8>(0..1 << 8);
}

#[test]
fn from_every_16_bit_integer() {
    check::<i16>(0..1 << 16);
    check::<u16>(0..1 << 16);
}

#[test]
fn from_every_f16() {
    check::<f16>(0..1 << 16);
}

#[test]
fn from_every_bf16() {
    check::<bf16>(0..1 << 16);
}

/// Every exponent, and the neighbours of the places where a target's range or a rounding ends.
#[test]
fn from_f32_of_every_magnitude() {
    let sample = (0..1u64 << 32).step_by(16_381);
    let edges = (0..1u64 << 16).flat_map(|high| [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff].map(|low| high << 16 | low));
    check::<f32>(sample.chain(edges.step_by(7)));
    // Halfway between neighbours of f16.
    let halfway = (0..0x7c00u16).map(|bits| {
        let (x, next) = (f16::from_bits(bits).to_f32(), f16::from_bits(bits + 1).to_f32());
        let middle = if next.is_finite() { (x + next) / 2.0 } else { 65520.0 };
        middle.to_bits()
    });
    check::<f32>(halfway.flat_map(|bits| [bits - 1, bits, bits + 1, bits | 1 << 31]).step_by(3).map(u64::from));
}

/// Integers that f32 does not hold are rounded to f32 by the mode, and from there by the same mode.
#[test]
fn from_large_integers() {
    let numbers = (0..62).flat_map(|shift| [-3i64, -1, 0, 1, 5].map(|low| (1i64 << shift).wrapping_add(low)));
    let values: Vec<i64> = numbers.chain([i64::MIN, i64::MAX, i64::MIN + 1]).collect();
    let x = Array::from_vec(values.clone(), Shape::from([values.len() as i64]));
    for (to, round) in [DType::F32, DType::F16, DType::BF16].into_iter().flat_map(|to| Round::ALL.map(|r| (to, r))) {
        let y = cast(&x, to, round).unwrap();
        for (i, n) in values.iter().enumerate() {
            let single = i64_to_f32(*n, round);
            let want = float_bits(to_float(single, to, round), to);
            assert_eq!(y.get(&[i as i64]).unwrap().bits, want, "{n} to {to}, {round}");
        }
    }
}

/// n in units of its last place in f32 has at most 40 bits after the point, which f64 holds beside the 24 before it.
fn i64_to_f32(n: i64, round: Round) -> f64 {
    let round = if round == Round::None { Round::Rint } else { round };
    let bits = 64 - n.unsigned_abs().leading_zeros();
    if bits <= 24 {
        return n as f64;
    }
    let unit = 1i128 << (bits - 24);
    let (whole, rest) = (i128::from(n).div_euclid(unit), i128::from(n).rem_euclid(unit));
    // Whole units, and a fraction that says only on which side of the middle the rest is.
    let fraction = match (rest, (2 * rest).cmp(&unit)) {
        (0, _) => 0.0,
        (_, std::cmp::Ordering::Less) => 0.25,
        (_, std::cmp::Ordering::Equal) => 0.5,
        (_, std::cmp::Ordering::Greater) => 0.75,
    };
    integral(whole as f64 + fraction, round) * unit as f64
}
