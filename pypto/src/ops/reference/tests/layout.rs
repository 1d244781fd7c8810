//! Rearrangements, creation, and their valid extents.

use super::super::layout::*;
use super::super::{Array, Data, Error, Scalar, Shape, create};
use super::matrix;

fn counting(rows: i64, columns: i64) -> Array {
    matrix(rows, columns, |i, j| (i * columns + j) as i32)
}

#[test]
fn slices_keep_what_was_valid() {
    let x = counting(4, 4).with_valid(Shape::from([3, 4]));
    let part = slice(&x, Shape::from([2, 1]), Shape::from([2, 2])).unwrap();
    assert_eq!((part.dims, part.valid), (Shape::from([2, 2]), Shape::from([1, 2])));
    assert_eq!(part.valid_elements::<i32>(), [9, 10]);
    for offset in [[3, 0], [-1, 0], [i64::MAX, 0]] {
        let error = slice(&x, Shape::from(offset), Shape::from([2, 2])).unwrap_err();
        assert!(matches!(error, Error::OutOfBounds { axis: 0, .. }), "{error}");
    }
}

#[test]
fn assemble_writes_the_valid_part() {
    let source = counting(2, 2).with_valid(Shape::from([2, 1]));
    let result = assemble(matrix(2, 3, |_, _| 9i32), &source, Shape::from([0, 2])).unwrap();
    assert_eq!(result.data, Data::I32(vec![9, 9, 0, 9, 9, 2]));
}

#[test]
fn reshape_transpose_concat_broadcast() {
    let x = counting(2, 3);
    assert_eq!(reshape(x.clone(), Shape::from([3, 2, 1])).unwrap().data, x.data);
    assert!(reshape(x.clone(), Shape::from([4, 2])).is_err());
    assert!(reshape(x.clone().with_valid(Shape::from([1, 3])), Shape::from([6])).is_err());
    assert_eq!(transpose(&x).unwrap().data, Data::I32(vec![0, 3, 1, 4, 2, 5]));
    let tall = concat(&x, &counting(1, 3), 0).unwrap();
    assert_eq!((tall.dims, tall.data), (Shape::from([3, 3]), Data::I32(vec![0, 1, 2, 3, 4, 5, 0, 1, 2])));
    let wide = concat(&counting(2, 1), &counting(2, 2), 1).unwrap();
    assert_eq!(wide.data, Data::I32(vec![0, 0, 1, 1, 2, 3]));
    let partly = counting(2, 1).with_valid(Shape::from([2, 0]));
    assert!(matches!(concat(&partly, &x, 1), Err(Error::PartlyValid { .. })));
    let repeated = broadcast_to(&counting(2, 1), Shape::from([2, 3])).unwrap();
    assert_eq!(repeated.data, Data::I32(vec![0, 0, 0, 1, 1, 1]));
    assert!(broadcast_to(&x, Shape::from([4, 3])).is_err());
}

#[test]
fn padding_and_valid_extents() {
    let x = counting(2, 2).with_valid(Shape::from([1, 2]));
    let filled = fillpad(&x, Scalar::new(7i32)).unwrap();
    assert_eq!((filled.valid, filled.data), (Shape::from([2, 2]), Data::I32(vec![0, 1, 7, 7])));
    assert_eq!(set_valid(x.clone(), Shape::from([2, 0])).unwrap().valid, Shape::from([2, 0]));
    assert!(set_valid(x, Shape::from([3, 0])).is_err());
}

#[test]
fn iota_wraps_and_large_arrays_are_refused() {
    let x = create::iota(Scalar::new(126i8), Shape::from([2, 3]), 1).unwrap();
    assert_eq!(x.data, Data::I8(vec![126, 127, -128, 126, 127, -128]));
    let x = create::iota(Scalar::new(5u32), Shape::from([2, 2, 1]), 0).unwrap();
    assert_eq!(x.data, Data::U32(vec![5, 5, 6, 6]));
    for dims in [[i64::MAX, 2], [1 << 40, 1 << 20], [-1, 4]] {
        assert!(matches!(create::full(Scalar::new(1i64), Shape::from(dims)), Err(Error::TooLarge(_))), "{dims:?}");
    }
}
