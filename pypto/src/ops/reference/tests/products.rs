//! Products of matrices against the contract's order of additions.

use half::bf16;

use super::super::matmul::{Initial, Transposed, matmul};
use super::super::{Array, Data, Error, Shape, layout};
use super::{matrix, noise};

/// One element by the words of the contract.
fn element(k: i64, initial: Option<f32>, a: impl Fn(i64) -> f32, b: impl Fn(i64) -> f32) -> f32 {
    let mut sum = initial;
    for block in (0..k).step_by(256) {
        let part = (block..k.min(block + 256)).fold(0f32, |part, p| a(p).mul_add(b(p), part));
        sum = Some(sum.map_or(part, |sum| sum + part));
    }
    sum.unwrap_or(0.0)
}

#[test]
fn every_order_of_operands_follows_the_contract_to_the_bit() {
    for (m, k, n) in [(1, 1, 1), (5, 300, 17), (4, 256, 16), (7, 513, 33), (3, 0, 2), (0, 4, 4)] {
        let (a, b) = (matrix(m, k, noise), matrix(k, n, |i, j| noise(j, i)));
        let acc = matrix(m, n, |i, j| noise(i + 5, j));
        let bias = matrix(1, n, |_, j| noise(9, j));
        for transposed in [(false, false), (true, false), (false, true), (true, true)] {
            let transposed = Transposed { a: transposed.0, b: transposed.1 };
            let turn = |x: &Array, turned| if turned { layout::transpose(x).unwrap() } else { x.clone() };
            let (a, b) = (turn(&a, transposed.a), turn(&b, transposed.b));
            let product = matmul(&a, &b, transposed, Initial::Nothing).unwrap();
            let added = matmul(&a, &b, transposed, Initial::Accumulator(&acc)).unwrap();
            let biased = matmul(&a, &b, transposed, Initial::Bias(&bias)).unwrap();
            assert_eq!(product.dims, Shape::from([m, n]));
            for index in 0..(m * n) {
                let (i, j) = (index / n, index % n);
                let expected = |initial| element(k, initial, |p| noise(i, p), |p| noise(j, p)).to_bits();
                let found = |x: &Array| x.elements::<f32>()[index as usize].to_bits();
                assert_eq!(found(&product), expected(None), "{m} {k} {n} {transposed:?}");
                assert_eq!(found(&added), expected(Some(noise(i + 5, j))));
                assert_eq!(found(&biased), expected(Some(noise(9, j))));
            }
        }
    }
}

#[test]
fn integers_accumulate_in_i32_and_wrap() {
    let (a, b) = (matrix(2, 3, |_, _| u8::MAX), matrix(3, 2, |_, _| u8::MAX));
    let product = matmul(&a, &b, Transposed::default(), Initial::Nothing).unwrap();
    assert_eq!(product.data, Data::I32(vec![3 * 255 * 255; 4]));
    let (a, b) = (matrix(1, 2, |_, _| i32::MAX), matrix(2, 1, |_, _| 2i32));
    assert_eq!(matmul(&a, &b, Transposed::default(), Initial::Nothing).unwrap().data, Data::I32(vec![-4]));
}

#[test]
fn only_valid_extents_take_part() {
    let poison = |inside: bool| if inside { 1.0f32 } else { f32::NAN };
    let a = matrix(4, 5, |i, j| poison(i < 3 && j < 2)).with_valid(Shape::from([3, 2]));
    let b = matrix(5, 6, |i, j| poison(i < 4 && j < 5)).with_valid(Shape::from([4, 5]));
    let product = matmul(&a, &b, Transposed::default(), Initial::Nothing).unwrap();
    assert_eq!((product.dims, product.valid), (Shape::from([4, 6]), Shape::from([3, 5])));
    assert_eq!(product.valid_elements::<f32>(), [2.0; 15]);
}

#[test]
fn batches_multiply_one_by_one() {
    let a = Array::from_vec((0..12).map(|n| bf16::from_f32(n as f32)).collect(), Shape::from([2, 2, 3]));
    let b = Array::from_vec((0..6).map(|n| bf16::from_f32(n as f32)).collect(), Shape::from([2, 3, 1]));
    let product = matmul(&a, &b, Transposed::default(), Initial::Nothing).unwrap();
    assert_eq!(product.dims, Shape::from([2, 2, 1]));
    assert_eq!(product.data, Data::F32(vec![5.0, 14.0, 86.0, 122.0]));
}

#[test]
fn operands_that_do_not_fit_are_errors() {
    let fails = |a: &Array, b: &Array| matmul(a, b, Transposed::default(), Initial::Nothing).unwrap_err();
    let (a, b) = (matrix(2, 64, noise), matrix(32, 2, noise));
    assert_eq!(
        fails(&a, &b).to_string(),
        "contraction dimensions of `matmul` differ: 64 and 32 (operands are [2, 64] and [32, 2])"
    );
    assert!(matches!(fails(&a, &matrix(64, 2, |_, _| 1i32)), Error::MixedDTypes { .. }));
    assert!(matches!(fails(&matrix(1, 1, |_, _| 1i64), &matrix(1, 1, |_, _| 1i64)), Error::DType { .. }));
}
