//! Elementwise operations: broadcasting, valid extents, NaN, wrapping, dtypes.

use half::{bf16, f16};

use super::super::elementwise::{binary, compare, select, unary};
use super::super::{Array, Data, Error, Scalar, Shape};
use super::{matrix, noise};
use crate::ir::DType;
use crate::ops::{Class, OpKind};

#[test]
fn operands_broadcast_in_every_combination() {
    let shapes = [[3, 5], [1, 5], [3, 1], [1, 1]];
    for a_dims in shapes {
        for b_dims in shapes {
            let a = matrix(a_dims[0], a_dims[1], noise);
            let b = matrix(b_dims[0], b_dims[1], |i, j| noise(j, i));
            let result = binary(OpKind::Sub, &a, &b).unwrap();
            let dims = [a_dims[0].max(b_dims[0]), a_dims[1].max(b_dims[1])];
            assert_eq!(result.dims, Shape::from(dims));
            for (n, x) in result.elements::<f32>().iter().enumerate() {
                let (i, j) = (n as i64 / dims[1], n as i64 % dims[1]);
                let at = |d: [i64; 2]| (i % d[0], j % d[1]);
                let (p, q) = (at(a_dims), at(b_dims));
                assert_eq!(*x, noise(p.0, p.1) - noise(q.1, q.0));
            }
        }
    }
    let half = Array::scalar(Scalar::new(0.5f32));
    let scaled = binary(OpKind::Mul, &half, &matrix(2, 2, noise)).unwrap();
    assert_eq!(scaled.elements::<f32>()[3], 0.5 * noise(1, 1));
    let error = binary(OpKind::Add, &matrix(2, 3, noise), &matrix(2, 4, noise)).unwrap_err();
    assert_eq!(error.to_string(), "cannot combine [2, 3] and [2, 4] in `add`: dimension 1 is 3 and 4");
}

#[test]
fn valid_extents_shrink_and_nothing_outside_counts() {
    let a = matrix(4, 4, |_, _| 6i32).with_valid(Shape::from([3, 4]));
    let zeros_outside = matrix(4, 4, |_, j| i32::from(j < 2)).with_valid(Shape::from([4, 2]));
    let result = binary(OpKind::Div, &a, &zeros_outside).unwrap();
    assert_eq!(result.valid, Shape::from([3, 2]));
    assert_eq!(result.valid_elements::<i32>(), [6; 6]);
    let column = matrix(1, 4, |_, _| 1i32).with_valid(Shape::from([0, 4]));
    assert_eq!(binary(OpKind::Add, &a, &column).unwrap().valid, Shape::from([0, 4]));
    assert_eq!(binary(OpKind::Rem, &a, &matrix(4, 4, |_, _| 0i32)), Err(Error::DivisionByZero));
}

#[test]
fn empty_arrays_give_empty_arrays() {
    let empty = matrix(0, 5, noise);
    assert_eq!(unary(OpKind::Exp, &empty).unwrap().dims, Shape::from([0, 5]));
    assert_eq!(binary(OpKind::Add, &empty, &matrix(1, 5, noise)).unwrap().dims, Shape::from([0, 5]));
    assert_eq!(compare(OpKind::CmpLt, &empty, &empty).unwrap().data, Data::Bool(vec![]));
}

#[test]
fn max_and_min_keep_nan_and_the_first_of_equals() {
    let values = [f32::NAN, -0.0, 0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY];
    let column = Array::from_vec(values.to_vec(), Shape::from([6, 1]));
    let row = Array::from_vec(values.to_vec(), Shape::from([1, 6]));
    for kind in [OpKind::Max, OpKind::Min] {
        let result = binary(kind, &column, &row).unwrap();
        for (n, x) in result.elements::<f32>().iter().enumerate() {
            let (a, b) = (values[n / 6], values[n % 6]);
            if a.is_nan() || b.is_nan() {
                assert!(x.is_nan());
            } else {
                let second = if kind == OpKind::Max { a < b } else { a > b };
                assert_eq!(x.to_bits(), if second { b } else { a }.to_bits());
            }
        }
    }
}

#[test]
fn integers_wrap_shift_and_saturate_nothing() {
    let extremes = [i8::MIN, -1, 0, 1, i8::MAX];
    let (a, b) = (matrix(5, 1, |i, _| extremes[i as usize]), matrix(1, 5, |_, j| extremes[j as usize]));
    let check = |kind, expected: fn(i8, i8) -> i8| {
        let result = binary(kind, &a, &b).unwrap();
        for (n, x) in result.elements::<i8>().iter().enumerate() {
            assert_eq!(*x, expected(extremes[n / 5], extremes[n % 5]), "{kind:?}");
        }
    };
    check(OpKind::Add, i8::wrapping_add);
    check(OpKind::Sub, i8::wrapping_sub);
    check(OpKind::Mul, i8::wrapping_mul);
    check(OpKind::Max, std::cmp::max);
    check(OpKind::Min, std::cmp::min);
    check(OpKind::And, |a, b| a & b);
    check(OpKind::Or, |a, b| a | b);
    check(OpKind::Xor, |a, b| a ^ b);
    check(OpKind::Shl, |a, b| ((a as i32) << (b & 7)) as i8);
    check(OpKind::Shr, |a, b| a >> (b & 7));
    assert_eq!(unary(OpKind::Neg, &a).unwrap().data, Data::I8(vec![i8::MIN, 1, 0, -1, -127]));
    assert_eq!(unary(OpKind::Abs, &a).unwrap().data, Data::I8(vec![i8::MIN, 1, 0, 1, 127]));
    let minus_one = Array::scalar(Scalar::new(-1i8));
    assert_eq!(binary(OpKind::Div, &a, &minus_one), Err(Error::DivisionOverflow(DType::I8)));
}

#[test]
fn halves_compute_in_f32_and_round_once() {
    let value = |i: i64, j: i64| f16::from_f32(noise(i, j));
    let (a, b) = (matrix(3, 8, value), matrix(3, 8, |i, j| value(j, i)));
    let result = binary(OpKind::Mul, &a, &b).unwrap();
    for (n, x) in result.elements::<f16>().iter().enumerate() {
        let (i, j) = (n as i64 / 8, n as i64 % 8);
        assert_eq!(*x, f16::from_f32(value(i, j).to_f32() * value(j, i).to_f32()));
    }
    let c = matrix(2, 3, |i, j| bf16::from_f32(noise(i, j)));
    let roots = unary(OpKind::Sqrt, &unary(OpKind::Abs, &c).unwrap()).unwrap();
    let expected = |i, j| bf16::from_f32(bf16::from_f32(noise(i, j)).to_f32().abs().sqrt());
    assert_eq!(roots.elements::<bf16>()[4], expected(1, 1));
}

#[test]
fn comparisons_and_selection() {
    let a = Array::from_vec(vec![1.0f32, f32::NAN, 3.0], Shape::from([1, 3]));
    let two = Array::scalar(Scalar::new(2.0f32));
    let bools = |kind| compare(kind, &a, &two).unwrap().elements::<bool>().to_vec();
    assert_eq!(bools(OpKind::CmpLt), [true, false, false]);
    assert_eq!(bools(OpKind::CmpGe), [false, false, true]);
    assert_eq!(bools(OpKind::CmpNe), [true, true, true]);
    let mask = matrix(2, 1, |i, _| i == 1);
    let chosen = select(&mask, &a, &two).unwrap();
    assert_eq!(chosen.dims, Shape::from([2, 3]));
    assert_eq!(chosen.elements::<f32>()[..4], [2.0, 2.0, 2.0, 1.0]);
}

#[test]
fn math_functions_are_close_to_f64() {
    let functions: [(OpKind, fn(f64) -> f64); 8] = [
        (OpKind::Exp, f64::exp),
        (OpKind::Log, f64::ln),
        (OpKind::Tanh, f64::tanh),
        (OpKind::Sin, f64::sin),
        (OpKind::Cos, f64::cos),
        (OpKind::Rsqrt, |x| 1.0 / x.sqrt()),
        (OpKind::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        (OpKind::Recip, |x| 1.0 / x),
    ];
    let x = matrix(20, 50, |i, j| noise(i, j).abs() * 10.0);
    for (kind, function) in functions {
        let y = unary(kind, &x).unwrap();
        for (x, y) in x.elements::<f32>().iter().zip(y.elements::<f32>()) {
            let expected = function(f64::from(*x));
            let ulp = f64::from((expected as f32).abs().next_up()) - f64::from((expected as f32).abs());
            assert!((f64::from(*y) - expected).abs() <= 2.0 * ulp, "{kind:?} of {x}: {y}, expected {expected}");
        }
    }
}

#[test]
fn every_operation_takes_exactly_the_types_of_the_table() {
    for kind in OpKind::ALL.iter().copied().filter(|k| k.is_elementwise()) {
        for dtype in DType::ALL {
            let x = Array::zeros(dtype, Shape::from([1, 2])).unwrap();
            let result = match kind.class() {
                Class::Unary => unary(kind, &x),
                // Division of zeros by zeros is not what is tested.
                Class::Binary if !matches!(kind, OpKind::Div | OpKind::Rem) => binary(kind, &x, &x),
                Class::Compare => compare(kind, &x, &x),
                _ => continue,
            };
            assert_eq!(result.is_ok(), kind.info().dtypes.contains(dtype), "{kind:?} of {dtype}");
        }
    }
}
