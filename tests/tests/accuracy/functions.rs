//! Every operation with an error bound in the op table.

use pypto::ir::DType;
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
    for (kind, bound) in bounded(Class::Binary) {
        let Some(exact) = operator(kind) else { continue };
        assert_eq!(bound, 0.5, "`{}` rounds once", kind.name());
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
