//! Every operation with an error bound in the op table.

use pypto::ir::{DType, Round};
use pypto::ops::reference::cast::cast;
use pypto::ops::reference::elementwise::binary;
use pypto::ops::reference::{Array, Shape};
use pypto::ops::{Class, OpKind};

use crate::exact;
use crate::sweep::{operation, over_16_bits, over_f32, rounded_bound, ulps};

/// Operations with a bound, of one operand and of two.
fn bounded(class: Class) -> impl Iterator<Item = (OpKind, f64)> {
    let kinds = OpKind::ALL.iter().copied().filter(move |kind| kind.class() == class);
    kinds.filter_map(|kind| Some((kind, f64::from(kind.info().ulps?))))
}

#[test]
fn every_bound_is_measured() {
    for kind in OpKind::ALL.iter().copied().filter(|kind| kind.info().ulps.is_some()) {
        let measured = match kind.class() {
            Class::Unary => exact::function(kind).is_some(),
            Class::Binary => operator(kind).is_some(),
            _ => false,
        };
        assert!(measured, "no exact function for `{}`", kind.name());
    }
    // The other way round: a function of the reals without a bound would be documented as exact.
    for kind in OpKind::ALL.iter().copied().filter(|kind| exact::function(*kind).is_some()) {
        assert!(kind.info().ulps.is_some(), "no bound for `{}`", kind.name());
    }
}

#[test]
fn functions_of_every_magnitude() {
    let mut failures = Vec::new();
    for (kind, bound) in bounded(Class::Unary) {
        let Some(function) = exact::function(kind) else { continue };
        let error = |got: f64, x: f32| ulps(got, function(f64::from(x)), DType::F32);
        let worst = over_f32(&operation(kind), &error);
        println!("{}: {:.3} of {bound} ULP, at {:?}", kind.name(), worst.ulps, worst.at);
        if worst.ulps.is_nan() || worst.ulps > bound {
            failures.push(format!("{}({:?}) is off by {} ULP, not {bound}", kind.name(), worst.at, worst.ulps));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn functions_of_every_half_float() {
    for (kind, bound) in bounded(Class::Unary) {
        let Some(function) = exact::function(kind) else { continue };
        for dtype in [DType::F16, DType::BF16] {
            let (worst, bound) = (over_16_bits(kind, dtype, function), rounded_bound(bound, dtype));
            let name = kind.name();
            assert!(worst.ulps <= bound, "{name}({:?}) of {dtype} is off by {} ULP", worst.at, worst.ulps);
        }
    }
}

fn operator(kind: OpKind) -> Option<fn(f64, f64) -> f64> {
    Some(match kind {
        OpKind::Add => |a, b| a + b,
        OpKind::Sub => |a, b| a - b,
        OpKind::Mul => |a, b| a * b,
        OpKind::Div => |a, b| a / b,
        OpKind::Pow => f64::powf,
        _ => return None,
    })
}

/// f64 has more than twice the bits of f32, so that rounding its result again is rounding once.
#[test]
fn arithmetic_is_rounded_once() {
    let numbers = |salt: u32| -> Vec<f32> {
        let bits = (0..1u32 << 20).map(|i| (i ^ salt).wrapping_mul(0x9e37_79b1).rotate_left(salt % 31) ^ salt);
        bits.map(f32::from_bits).collect()
    };
    let (a, b) = (numbers(0x5bd1_e995), numbers(0x1b87_3593));
    let dims = Shape::from([a.len() as i64]);
    for (kind, _) in bounded(Class::Binary).filter(|(_, bound)| *bound == 0.5) {
        let Some(exact) = operator(kind) else { continue };
        let result = binary(kind, &Array::from_vec(a.clone(), dims), &Array::from_vec(b.clone(), dims)).unwrap();
        for ((a, b), got) in a.iter().zip(&b).zip(result.elements::<f32>()) {
            let want = exact(f64::from(*a), f64::from(*b)) as f32;
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{} of {a:?}, {b:?}",
                kind.name()
            );
        }
    }
}

/// Bases of every magnitude, and near 1; exponents that give results of every magnitude, small integers, halves, and any others.
fn powers() -> (Vec<f32>, Vec<f32>) {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    (0..1 << 20)
        .map(|i| {
            let any = f32::from_bits(random());
            let near_one = 1.0 + (random() as i32 as f32) * 2f32.powi(-31 - (random() % 24) as i32);
            let x = if i % 3 == 0 { near_one } else { any };
            let exponent = f64::from(random()) / f64::from(u32::MAX) * 280.0 - 151.0;
            let y = match i % 8 {
                0 => (random() % 41) as f32 - 20.0,
                1 => ((random() % 41) as f32 - 20.0) / 2.0,
                2 => f32::from_bits(random()),
                _ => (exponent / f64::from(x).abs().log2()) as f32,
            };
            (if i % 5 == 0 { x } else { x.abs() }, y)
        })
        .unzip()
}

#[test]
fn powers_of_every_magnitude() {
    let (x, y) = powers();
    let dims = Shape::from([x.len() as i64]);
    let bound = OpKind::Pow.info().ulps.map_or(0.0, f64::from);
    let array = |values: &[f32]| Array::from_vec(values.to_vec(), dims);
    let result = binary(OpKind::Pow, &array(&x), &array(&y)).unwrap();
    let mut worst = (0.0, 0.0, 0.0);
    for ((x, y), got) in x.iter().zip(&y).zip(result.elements::<f32>()) {
        let error = ulps(f64::from(*got), f64::from(*x).powf(f64::from(*y)), DType::F32);
        assert!(error <= bound, "pow({x:?}, {y:?}) = {got:?} is off by {error} ULP, not {bound}");
        if error > worst.0 {
            worst = (error, f64::from(*x), f64::from(*y));
        }
    }
    println!("pow: {worst:?} of {bound} ULP");
    for dtype in [DType::F16, DType::BF16] {
        let narrow = |values: &[f32]| cast(&array(values), dtype, Round::Rint).unwrap();
        let wide = |values: &Array| cast(values, DType::F32, Round::None).unwrap().elements::<f32>().to_vec();
        let (a, b) = (narrow(&x), narrow(&y));
        let result = wide(&binary(OpKind::Pow, &a, &b).unwrap());
        let bound = rounded_bound(bound, dtype);
        for ((x, y), got) in wide(&a).iter().zip(wide(&b)).zip(result) {
            let error = ulps(f64::from(got), f64::from(*x).powf(f64::from(y)), dtype);
            assert!(error <= bound, "pow({x:?}, {y:?}) of {dtype} = {got:?} is off by {error} ULP, not {bound}");
        }
    }
}
