//! Tensors as memory: views, locks, and what safe code can do to them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use crate::prelude::*;

fn counting() -> Tensor<i32, 2> {
    Tensor::from_fn([4, 2], |[i, j]| (2 * i + j) as i32)
}

fn locked(f: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("should be locked");
    let text = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|s| s.to_string()));
    assert!(text.is_some_and(|text| text.contains("locked")));
}

#[test]
fn views_nest_and_give_the_lender_back() {
    let mut x = counting();
    {
        let mut rows = x.rows_mut(1, 3);
        {
            let mut row = rows.at_mut(1);
            assert_eq!(row.dims(), [2]);
            row.put([1], 50);
        }
        assert_eq!(rows.to_vec(), [2, 3, 4, 50, 6, 7]);
        rows.view_mut([0, 1], [3, 1]).set(9);
    }
    assert_eq!(x.as_slice(), [0, 1, 2, 9, 4, 9, 6, 9]);
    assert_eq!(x.transposed().to_vec(), [0, 2, 4, 6, 1, 9, 9, 9]);
    assert_eq!(x.view([1, 0], [2, 1]).contiguous().as_slice(), [2, 4]);
    assert!(!x.view([0, 0], [4, 1]).is_contiguous());
}

#[test]
fn a_view_swapped_out_locks_its_lender() {
    let mut x = counting();
    let mut other = Tensor::<i32, 2>::zeros([1, 1]);
    {
        let mut rows = x.rows_mut(0, 2);
        std::mem::swap(&mut *rows, &mut other);
    }
    // `other` now is the view: it may be used, the lender may not.
    other.put([0, 0], 7);
    assert_eq!(other.to_vec(), [7, 1, 2, 3]);
    locked(|| drop(x.to_vec()));
    locked(|| assert_eq!(x.get([0, 0]), 0));
    locked(|| drop(x.rows_mut(0, 1)));
    locked(|| x.set(1));
    drop(x);
    assert_eq!(other.get([0, 1]), 1);
}

#[test]
fn a_leaked_view_locks_its_lender() {
    let mut x = counting();
    std::mem::forget(x.rows_mut(0, 2));
    locked(|| assert_eq!(x.load_all().dim(0), 4));
    assert_eq!(format!("{x:?}"), "Tensor<i32>[4, 2] locked");
}

#[test]
fn an_inner_view_swapped_out_locks_all_lenders() {
    let mut x = counting();
    let mut other = Tensor::<i32, 2>::zeros([1, 1]);
    {
        let mut rows = x.rows_mut(0, 3);
        std::mem::swap(&mut *rows.rows_mut(0, 1), &mut other);
        locked(|| drop(rows.to_vec()));
    }
    locked(|| drop(x.to_vec()));
    assert_eq!(other.to_vec(), [0, 1]);
}

#[test]
fn a_view_swapped_out_and_back_is_given_back() {
    let mut x = counting();
    let mut other = Tensor::<i32, 2>::zeros([1, 1]);
    {
        let mut rows = x.rows_mut(0, 2);
        std::mem::swap(&mut *rows, &mut other);
        other.set(3);
        std::mem::swap(&mut *rows, &mut other);
    }
    assert_eq!(x.to_vec(), [3, 3, 3, 3, 4, 5, 6, 7]);
}

#[test]
fn vectors_come_and_go_without_copies() {
    let elements = vec![1.0f32; 1000];
    let address = elements.as_ptr();
    let x = Tensor::from_vec(elements, [10, 100]);
    assert_eq!(x.as_slice().as_ptr(), address);
    let back = x.into_vec();
    assert_eq!(back.as_ptr(), address);
    assert_eq!(Tensor::<u8, 1>::full([3], 4).into_vec(), [4, 4, 4]);
    assert_eq!(Tensor::<f32, 1>::zeros([5]).as_slice().as_ptr() as usize % 64, 0);
}

#[test]
fn slices_are_lent_for_a_call() {
    let mut data = [1, 2, 3, 4];
    Tensor::with_mut_slice(&mut data, [2, 2], |t| t.rows_mut(1, 1).set(8));
    assert_eq!(data, [1, 2, 8, 8]);
    let view = Tensor::view_of(&data, [2, 2]);
    assert_eq!(view.row_sum().to_vec(), [3, 16]);
}

#[test]
fn lengths_and_extents_are_checked() {
    let error = Tensor::try_from_vec(vec![1, 2, 3], [2, 2]).unwrap_err();
    assert_eq!(error.to_string(), "3 elements given for a tensor of extents [2, 2], which has 4");
    assert!(Tensor::<f32, 2>::try_zeros([-1, 2]).is_err());
    assert!(Tensor::<f32, 2>::try_zeros([1i64 << 40, 1 << 40]).is_err());
    assert!(Tensor::<f32, 2>::try_zeros([1i64 << 40, 1 << 10]).is_err());
    assert_eq!(Tensor::<f32, 2>::meta([1i64 << 40, 1]).dim(0), 1 << 40);
    assert!(catch_unwind(|| counting().view([3, 0], [2, 1]).to_vec()).is_err());
    assert!(catch_unwind(|| counting().get([0, 2])).is_err());
    assert!(catch_unwind(|| Tensor::<f32, 1>::meta([1]).get([0])).is_err());
}

#[test]
fn shape_panics_name_the_kernel_line_and_both_shapes() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = lines.clone();
    let before = std::panic::take_hook();
    // Tests beside this one panic meanwhile, so the line is looked for among others.
    std::panic::set_hook(Box::new(move |info| seen.lock().unwrap().push(info.location().map(|l| l.line()))));
    let panic = catch_unwind(|| Tile::full([64, 64], 1i32) + Tile::full([64, 32], 1)).map(drop);
    let expected = line!() - 1;
    std::panic::set_hook(before);
    let text = panic.unwrap_err().downcast_ref::<String>().cloned().unwrap();
    assert_eq!(text, "cannot combine [64, 64] and [64, 32] in `add`: dimension 1 is 64 and 32");
    assert!(lines.lock().unwrap().contains(&Some(expected)));
}

#[test]
fn tiles_end_with_their_scope() {
    let escaped = scope(|| {
        let kept = Tile::full([1, 1], 1i32);
        let inner = scope(|| Tile::full([1, 1], 2i32));
        assert!(catch_unwind(|| inner.to_vec()).is_err());
        assert_eq!(kept.get([0, 0]), 1);
        kept
    });
    let _other = Tile::full([1, 1], 3i32);
    assert!(catch_unwind(|| escaped.get([0, 0])).is_err());
    assert_eq!(format!("{escaped:?}"), "Tile<i32> freed");
}

#[test]
fn ragged_tiles_of_a_tensor() {
    let x = counting();
    let tile = x.tile([3, 0], [2, 2]);
    assert_eq!((tile.dim(0), tile.valid(0), tile.to_vec()), (2, 1, vec![6, 7]));
    assert_eq!(x.tile([4, 0], [2, 2]).valid(0), 0);
    let mut y = Tensor::<i32, 2>::zeros([3, 3]);
    y.store([2, 2], Tile::full([2, 2], 5));
    assert_eq!(y.to_vec(), [0, 0, 0, 0, 0, 0, 0, 0, 5]);
    assert!(catch_unwind(|| counting().tile([5, 0], [2, 2])).is_err());
    assert!(catch_unwind(|| counting().tile([-1, 0], [2, 2])).is_err());
}
