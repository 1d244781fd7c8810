//! Views: parts of a tensor that are tensors themselves, sharing its memory. Guards tie them to the tensor's borrow.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::Tensor;
use super::storage::Storage;
use crate::ops::reference::{Element, Error, Shape};

/// A shared view; derefs to [`Tensor`].
pub struct View<'a, T: Element, const R: usize> {
    tensor: Tensor<T, R>,
    lifetime: PhantomData<&'a T>,
}

impl<T: Element, const R: usize> View<'_, T, R> {
    /// The caller ties the result's lifetime to that of the memory.
    pub(super) fn new(tensor: Tensor<T, R>) -> Self {
        View { tensor, lifetime: PhantomData }
    }
}

impl<T: Element, const R: usize> Deref for View<'_, T, R> {
    type Target = Tensor<T, R>;

    fn deref(&self) -> &Tensor<T, R> {
        &self.tensor
    }
}

impl<T: Element, const R: usize> fmt::Debug for View<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.tensor, f)
    }
}

/// A mutable view; derefs to [`Tensor`]. While it lives, the tensor it was taken from cannot be used.
pub struct ViewMut<'a, T: Element, const R: usize> {
    tensor: Tensor<T, R>,
    lender: Option<&'a mut Storage<T>>,
    generation: u64,
}

impl<T: Element, const R: usize> Deref for ViewMut<'_, T, R> {
    type Target = Tensor<T, R>;

    fn deref(&self) -> &Tensor<T, R> {
        &self.tensor
    }
}

impl<T: Element, const R: usize> DerefMut for ViewMut<'_, T, R> {
    fn deref_mut(&mut self) -> &mut Tensor<T, R> {
        &mut self.tensor
    }
}

impl<T: Element, const R: usize> Drop for ViewMut<'_, T, R> {
    fn drop(&mut self) {
        if let (Some(lender), Some(lent)) = (&mut self.lender, &self.tensor.storage) {
            lender.take_back(lent, self.generation);
        }
    }
}

impl<T: Element, const R: usize> fmt::Debug for ViewMut<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.tensor, f)
    }
}

/// A part's place in the storage and its layout.
struct Part<const S: usize> {
    start: usize,
    dims: [i64; S],
    strides: [i64; S],
}

impl<T: Element, const R: usize> Tensor<T, R> {
    #[track_caller]
    fn part(&self, op: &'static str, offset: [i64; R], shape: [i64; R]) -> Part<R> {
        let mut start = self.start as i64;
        for axis in 0..R {
            let end = offset[axis].checked_add(shape[axis]);
            if offset[axis] < 0 || shape[axis] < 0 || end.is_none_or(|end| end > self.dims[axis]) {
                let (shape, offset, whole) = (Shape::from(shape), Shape::from(offset), Shape::from(self.dims));
                panic!("{}", Error::OutOfBounds { op, shape, offset, whole, axis });
            }
            start += offset[axis] * self.strides[axis];
        }
        Part { start: start as usize, dims: shape, strides: self.strides }
    }

    fn share<const S: usize>(&self, part: Part<S>) -> View<'_, T, S> {
        let storage = self.storage.as_ref().map(Storage::share);
        View::new(Tensor { storage, start: part.start, dims: part.dims, strides: part.strides })
    }

    #[track_caller]
    fn lend<const S: usize>(&mut self, part: Part<S>) -> ViewMut<'_, T, S> {
        let storage = self.storage.as_mut().map(Storage::lend);
        let generation = storage.as_ref().map_or(0, Storage::generation);
        let tensor = Tensor { storage, start: part.start, dims: part.dims, strides: part.strides };
        ViewMut { tensor, lender: self.storage.as_mut(), generation }
    }

    /// The part of extents `shape` at `offset`, which must lie inside.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let x = Tensor::from_fn([3, 3], |[i, j]| (3 * i + j) as i32);
    /// assert_eq!(x.view([1, 1], [2, 2]).to_vec(), [4, 5, 7, 8]);
    /// ```
    #[track_caller]
    pub fn view(&self, offset: [i64; R], shape: [i64; R]) -> View<'_, T, R> {
        self.share(self.part("view", offset, shape))
    }

    /// The part of extents `shape` at `offset`, to write.
    #[track_caller]
    pub fn view_mut(&mut self, offset: [i64; R], shape: [i64; R]) -> ViewMut<'_, T, R> {
        let part = self.part("view_mut", offset, shape);
        self.lend(part)
    }

    #[track_caller]
    fn row_part(&self, op: &'static str, first: i64, count: i64) -> Part<R> {
        assert!(R > 0, "`{op}` of a tensor without dimensions");
        let mut offset = [0; R];
        let mut shape = self.dims;
        (offset[0], shape[0]) = (first, count);
        self.part(op, offset, shape)
    }

    /// `count` entries of the leading dimension from `first` on; the rank stays.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let x = Tensor::from_fn([3, 2], |[i, _]| i as i32);
    /// assert_eq!(x.rows(1, 2).to_vec(), [1, 1, 2, 2]);
    /// ```
    #[track_caller]
    pub fn rows(&self, first: i64, count: i64) -> View<'_, T, R> {
        self.share(self.row_part("rows", first, count))
    }

    /// `count` entries of the leading dimension from `first` on, to write.
    #[track_caller]
    pub fn rows_mut(&mut self, first: i64, count: i64) -> ViewMut<'_, T, R> {
        let part = self.row_part("rows_mut", first, count);
        self.lend(part)
    }

    /// A view with the last two dimensions exchanged.
    #[track_caller]
    pub fn transposed(&self) -> View<'_, T, R> {
        assert!(R >= 2, "`transposed` needs two dimensions");
        let (mut dims, mut strides) = (self.dims, self.strides);
        dims.swap(R - 2, R - 1);
        strides.swap(R - 2, R - 1);
        self.share(Part { start: self.start, dims, strides })
    }
}

macro_rules! leading_index {
    ($($rank:literal => $smaller:literal),*) => { $(
        impl<T: Element> Tensor<T, $rank> {
            /// Entry `index` of the leading dimension, which is dropped.
            #[track_caller]
            pub fn at(&self, index: i64) -> View<'_, T, $smaller> {
                let part = self.row_part("at", index, 1);
                self.share(without_first(part))
            }

            /// Entry `index` of the leading dimension, which is dropped, to write.
            #[track_caller]
            pub fn at_mut(&mut self, index: i64) -> ViewMut<'_, T, $smaller> {
                let part = self.row_part("at_mut", index, 1);
                self.lend(without_first(part))
            }
        }
    )* };
}

leading_index!(2 => 1, 3 => 2, 4 => 3, 5 => 4, 6 => 5);

fn without_first<const R: usize, const S: usize>(part: Part<R>) -> Part<S> {
    Part {
        start: part.start,
        dims: std::array::from_fn(|axis| part.dims[axis + 1]),
        strides: std::array::from_fn(|axis| part.strides[axis + 1]),
    }
}
