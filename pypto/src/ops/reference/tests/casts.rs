//! Conversions, for every value of 8 and 16 bits, against the list of all values of the target.

use half::{bf16, f16};

use super::super::cast::cast;
use super::super::{Array, Data, Element, Shape};
use crate::ir::{DType, Round};

fn vector<T: Element>(elements: Vec<T>) -> Array {
    let len = elements.len() as i64;
    Array::from_vec(elements, Shape::from([len]))
}

/// Rounding to an integer, by the words of the definition.
fn integral(x: f64, round: Round) -> f64 {
    let (below, above) = (x.floor(), x.ceil());
    if below == above {
        return x;
    }
    let even = |n: f64| n.rem_euclid(2.0) == 0.0;
    match round {
        Round::Floor => below,
        Round::Ceil => above,
        Round::None | Round::Trunc => {
            if x < 0.0 {
                above
            } else {
                below
            }
        }
        Round::Odd => {
            if even(below) {
                above
            } else {
                below
            }
        }
        Round::Rint if x - below == above - x => {
            if even(below) {
                below
            } else {
                above
            }
        }
        Round::Round if x - below == above - x => {
            if x < 0.0 {
                below
            } else {
                above
            }
        }
        Round::Rint | Round::Round => {
            if x - below < above - x {
                below
            } else {
                above
            }
        }
    }
}

fn check_to_integer<T: Element + Into<f64>>(values: &[f32], low: T, high: T, zero: T) {
    for round in Round::ALL {
        let result = cast(&vector(values.to_vec()), T::DTYPE, round).unwrap();
        for (x, y) in values.iter().zip(result.elements::<T>()) {
            let expected = match integral(f64::from(*x), round) {
                n if n.is_nan() => zero.into(),
                n => n.clamp(low.into(), high.into()),
            };
            assert_eq!(Into::<f64>::into(*y), expected, "{x} to {} by {round}", T::DTYPE);
        }
    }
}

#[test]
fn floats_to_integers() {
    let mut values: Vec<f32> = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32()).collect();
    values.extend((0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f32()));
    check_to_integer(&values, i8::MIN, i8::MAX, 0);
    check_to_integer(&values, u8::MIN, u8::MAX, 0);
    check_to_integer(&values, i16::MIN, i16::MAX, 0);
    check_to_integer(&values, i32::MIN, i32::MAX, 0);
    check_to_integer(&values, u32::MIN, u32::MAX, 0);
}

/// Every value of a 16-bit format in ascending order, without NaN and -0, with its bits.
fn ascending(value: impl Fn(u16) -> f64) -> Vec<(f64, u16)> {
    let all = (0..=u16::MAX).filter(|bits| *bits != 0x8000).map(|bits| (value(bits), bits));
    let mut all: Vec<_> = all.filter(|(value, _)| !value.is_nan()).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// Rounding into a format by searching its values. Beyond the largest, infinity stands where the next value would.
fn search(x: f64, round: Round, values: &[(f64, u16)], next: f64) -> f64 {
    let position = values.partition_point(|(value, _)| *value < x);
    if values[position].0 == x {
        return x;
    }
    let (lower, upper) = (values[position - 1], values[position]);
    let finite = |v: f64| if v.is_infinite() { next.copysign(v) } else { v };
    let (below, above) = (x - finite(lower.0), finite(upper.0) - x);
    let odd = |bits: u16| bits & 1 == 1;
    match round {
        Round::Floor => lower.0,
        Round::Ceil => upper.0,
        Round::Trunc => {
            if x < 0.0 {
                upper.0
            } else {
                lower.0
            }
        }
        Round::Odd => {
            if odd(lower.1) {
                lower.0
            } else {
                upper.0
            }
        }
        _ if below < above => lower.0,
        _ if above < below => upper.0,
        Round::Round => {
            if x < 0.0 {
                lower.0
            } else {
                upper.0
            }
        }
        Round::None | Round::Rint => {
            if odd(lower.1) {
                upper.0
            } else {
                lower.0
            }
        }
    }
}

/// Numbers at, beside and between the values of a format.
fn probes(values: &[(f64, u16)]) -> Vec<f32> {
    let mut probes = Vec::new();
    for pair in values.windows(2).step_by(7) {
        let (a, b) = (pair[0].0 as f32, pair[1].0 as f32);
        let middle = ((pair[0].0 + pair[1].0) / 2.0) as f32;
        probes.extend([a, a.next_up(), middle.next_down(), middle, middle.next_up(), b.next_down()]);
    }
    probes.retain(|x| x.is_finite());
    probes.extend([0.0, -0.0, f32::MAX, f32::MIN, 1e-45, -1e-45, f32::INFINITY, f32::NEG_INFINITY]);
    probes.extend([65504.0, 65519.0, 65520.0, 65521.0, -65520.0]);
    probes
}

#[test]
fn f32_to_f16_and_bf16() {
    let f16_value = |bits| f16::from_bits(bits).to_f64();
    let bf16_value = |bits| bf16::from_bits(bits).to_f64();
    for (dtype, values, next) in
        [(DType::F16, ascending(f16_value), 65536.0), (DType::BF16, ascending(bf16_value), 2f64.powi(128))]
    {
        let probes = probes(&values);
        for round in Round::ALL {
            let result = cast(&vector(probes.clone()), dtype, round).unwrap();
            let back = cast(&result, DType::F32, Round::None).unwrap();
            for (x, y) in probes.iter().zip(back.elements::<f32>()) {
                let expected = search(f64::from(*x), round, &values, next);
                assert_eq!(f64::from(*y), expected, "{x} to {dtype} by {round}");
                assert_eq!(y.is_sign_negative(), x.is_sign_negative(), "{x} to {dtype} by {round}");
            }
        }
    }
}

#[test]
fn widening_and_nearest_are_those_of_the_half_crate() {
    let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let wide = cast(&vector(halves.clone()), DType::F32, Round::None).unwrap();
    for (half, wide) in halves.iter().zip(wide.elements::<f32>()) {
        assert!(half.to_f32() == *wide || (half.is_nan() && wide.is_nan()), "{half:?}");
    }
    let values: Vec<f32> = (0..=u32::MAX).step_by(65_521).map(f32::from_bits).collect();
    let f16s = cast(&vector(values.clone()), DType::F16, Round::None).unwrap();
    let bf16s = cast(&vector(values.clone()), DType::BF16, Round::None).unwrap();
    for (n, x) in values.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
        assert_eq!(f16s.elements::<f16>()[n].to_bits(), f16::from_f32(*x).to_bits(), "{x}");
        assert_eq!(bf16s.elements::<bf16>()[n].to_bits(), bf16::from_f32(*x).to_bits(), "{x}");
    }
}

#[test]
fn integers_wrap_and_bools_ask_for_zero() {
    let values: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    let to = |dtype| cast(&vector(values.clone()), dtype, Round::None).unwrap().data;
    assert_eq!(to(DType::I8), Data::I8(values.iter().map(|x| *x as i8).collect()));
    assert_eq!(to(DType::U8), Data::U8(values.iter().map(|x| *x as u8).collect()));
    assert_eq!(to(DType::U32), Data::U32(values.iter().map(|x| *x as u32).collect()));
    assert_eq!(to(DType::I64), Data::I64(values.iter().map(|x| i64::from(*x)).collect()));
    assert_eq!(to(DType::F32), Data::F32(values.iter().map(|x| f32::from(*x)).collect()));
    assert_eq!(to(DType::Bool), Data::Bool(values.iter().map(|x| *x != 0).collect()));
    let bools = vector(vec![false, true]);
    assert_eq!(cast(&bools, DType::BF16, Round::None).unwrap().data, Data::BF16(vec![bf16::ZERO, bf16::ONE]));
    assert_eq!(cast(&bools, DType::I64, Round::Floor).unwrap().data, Data::I64(vec![0, 1]));
    let floats = vector(vec![0.0f32, -0.0, 0.5, f32::NAN]);
    assert_eq!(cast(&floats, DType::Bool, Round::None).unwrap().data, Data::Bool(vec![false, false, true, true]));
}

#[test]
fn large_integers_to_f32_by_mode() {
    for (x, lower, upper) in [
        ((1i64 << 24) + 1, 16_777_216f32, 16_777_218f32),
        (-(1i64 << 24) - 3, -16_777_220f32, -16_777_218f32),
        (i64::MAX, (i64::MAX as f32).next_down(), i64::MAX as f32),
    ] {
        let to = |round| cast(&vector(vec![x]), DType::F32, round).unwrap().elements::<f32>()[0];
        assert_eq!(to(Round::Floor), lower);
        assert_eq!(to(Round::Ceil), upper);
        assert_eq!(to(Round::Trunc), if x < 0 { upper } else { lower });
        assert_eq!(to(Round::None), x as f32);
        assert_eq!(to(Round::Odd).to_bits() & 1, 1);
        let tie = x as i128 - lower as i128 == upper as i128 - x as i128;
        assert_eq!(
            to(Round::Round),
            if !tie {
                x as f32
            } else if x < 0 {
                lower
            } else {
                upper
            }
        );
    }
}
