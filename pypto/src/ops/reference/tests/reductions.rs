//! Reductions: the order of additions, ragged extents, NaN, empty rows.

use half::f16;

use super::super::reduce::reduce;
use super::super::{Array, Data, Shape};
use super::{matrix, noise};
use crate::ops::OpKind;

/// The sum of a row by the words of the contract.
fn row_sum(row: &[f32]) -> f32 {
    let mut lanes = [0f32; 32];
    for (j, x) in row.iter().enumerate() {
        lanes[j % 32] += x;
    }
    for half in [16, 8, 4, 2, 1] {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
    }
    lanes[0]
}

#[test]
fn row_sums_follow_the_contract_to_the_bit() {
    for columns in [0, 1, 2, 31, 32, 33, 64, 100, 1000] {
        let x = matrix(3, columns, noise);
        let sums = reduce(OpKind::RowSum, &x).unwrap();
        assert_eq!(sums.dims, Shape::from([3, 1]));
        for (i, sum) in sums.elements::<f32>().iter().enumerate() {
            let row: Vec<f32> = (0..columns).map(|j| noise(i as i64, j)).collect();
            assert_eq!(sum.to_bits(), row_sum(&row).to_bits(), "{columns} columns");
        }
    }
}

#[test]
fn column_sums_add_rows_in_order() {
    let x = matrix(50, 3, noise);
    let sums = reduce(OpKind::ColSum, &x).unwrap();
    assert_eq!(sums.dims, Shape::from([1, 3]));
    for j in 0..3 {
        let expected = (0..50).fold(0f32, |sum, i| sum + noise(i, j));
        assert_eq!(sums.elements::<f32>()[j as usize].to_bits(), expected.to_bits());
    }
}

#[test]
fn halves_accumulate_in_f32() {
    let x = matrix(1, 4096, |_, _| f16::ONE);
    assert_eq!(reduce(OpKind::RowSum, &x).unwrap().data, Data::F16(vec![f16::from_f32(4096.0)]));
    let x = matrix(4096, 1, |_, _| f16::ONE);
    assert_eq!(reduce(OpKind::ColSum, &x).unwrap().data, Data::F16(vec![f16::from_f32(4096.0)]));
}

#[test]
fn only_the_valid_part_counts() {
    let x = matrix(4, 4, |i, j| if i < 3 && j < 2 { 2i32 } else { 100 }).with_valid(Shape::from([3, 2]));
    let rows = reduce(OpKind::RowProd, &x).unwrap();
    assert_eq!((rows.valid, rows.valid_elements::<i32>()), (Shape::from([3, 1]), vec![4, 4, 4]));
    let columns = reduce(OpKind::ColSum, &x).unwrap();
    assert_eq!((columns.valid, columns.valid_elements::<i32>()), (Shape::from([1, 2]), vec![6, 6]));
    assert_eq!(reduce(OpKind::ColArgmax, &x).unwrap().valid_elements::<i32>(), [0, 0]);
}

#[test]
fn empty_rows_give_the_identity() {
    let x = matrix(2, 0, noise);
    let of = |kind| reduce(kind, &x).unwrap();
    assert_eq!(of(OpKind::RowSum).data, Data::F32(vec![0.0; 2]));
    assert_eq!(of(OpKind::RowProd).data, Data::F32(vec![1.0; 2]));
    assert_eq!(of(OpKind::RowMax).data, Data::F32(vec![f32::NEG_INFINITY; 2]));
    assert_eq!(of(OpKind::RowMin).data, Data::F32(vec![f32::INFINITY; 2]));
    assert_eq!(of(OpKind::RowArgmin).data, Data::I32(vec![0; 2]));
    let empty = matrix(0, 2, |_, _| 0i16);
    assert_eq!(reduce(OpKind::ColMax, &empty).unwrap().data, Data::I16(vec![i16::MIN; 2]));
}

#[test]
fn nan_wins_and_the_first_extremum_counts() {
    let x = Array::from_vec(vec![1.0, 3.0, f32::NAN, 3.0, f32::NAN], Shape::from([1, 5]));
    assert!(matches!(reduce(OpKind::RowMax, &x).unwrap().data, Data::F32(v) if v[0].is_nan()));
    assert_eq!(reduce(OpKind::RowArgmax, &x).unwrap().data, Data::I32(vec![2]));
    assert_eq!(reduce(OpKind::RowArgmin, &x).unwrap().data, Data::I32(vec![2]));
    let y = matrix(2, 6, |i, j| [[1u8, 5, 5, 0, 0, 2], [7, 7, 7, 7, 7, 7]][i as usize][j as usize]);
    assert_eq!(reduce(OpKind::RowArgmax, &y).unwrap().data, Data::I32(vec![1, 0]));
    assert_eq!(reduce(OpKind::RowArgmin, &y).unwrap().data, Data::I32(vec![3, 0]));
    assert_eq!(reduce(OpKind::ColArgmax, &y).unwrap().data, Data::I32(vec![1, 1, 1, 1, 1, 1]));
}

#[test]
fn batches_reduce_one_by_one() {
    let x = Array::from_vec((0..24).collect::<Vec<i64>>(), Shape::from([2, 3, 4]));
    let rows = reduce(OpKind::RowMax, &x).unwrap();
    assert_eq!((rows.dims, rows.data), (Shape::from([2, 3, 1]), Data::I64(vec![3, 7, 11, 15, 19, 23])));
    let columns = reduce(OpKind::ColMin, &x).unwrap();
    assert_eq!((columns.dims, columns.data), (Shape::from([2, 1, 4]), Data::I64(vec![0, 1, 2, 3, 12, 13, 14, 15])));
    let line = Array::from_vec(vec![1i32, 2, 3], Shape::from([3]));
    assert_eq!(reduce(OpKind::RowSum, &line).unwrap().data, Data::I32(vec![6]));
    assert!(reduce(OpKind::ColSum, &line).is_err());
}
