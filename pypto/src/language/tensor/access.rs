//! Reading and writing elements from the host program.

use std::fmt;

use super::{Tensor, row_major};
use crate::ops::reference::region::{Row, Rows};
use crate::ops::reference::{Element, Error, Shape};

impl<T: Element, const R: usize> Tensor<T, R> {
    /// The elements in row-major order.
    ///
    /// # Panics
    /// On a view with gaps (see [`Tensor::to_vec`]) and on a meta tensor.
    #[track_caller]
    pub fn as_slice(&self) -> &[T] {
        self.check_contiguous();
        &self.storage().elements()[self.start..self.start + self.len()]
    }

    /// The elements in row-major order, to write. Panics as [`Tensor::as_slice`].
    #[track_caller]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.check_contiguous();
        let range = self.start..self.start + self.len();
        &mut self.storage_mut().elements_mut()[range]
    }

    #[track_caller]
    fn check_contiguous(&self) {
        assert!(
            self.is_contiguous(),
            "the elements of this view have gaps (extents {:?}, strides {:?}): use `to_vec` or `contiguous`",
            self.dims,
            self.strides
        );
    }

    /// A copy of the elements in row-major order.
    #[track_caller]
    pub fn to_vec(&self) -> Vec<T> {
        let elements = self.storage().elements();
        let mut result = Vec::with_capacity(self.len());
        let rows = Rows::new(Shape::from(self.dims), [Shape::from(self.strides)]);
        for Row { starts: [start], len, steps: [step] } in rows {
            let start = self.start + start;
            match step {
                1 => result.extend_from_slice(&elements[start..start + len]),
                _ => result.extend((0..len).map(|i| elements[start + i * step])),
            }
        }
        result
    }

    /// The elements in row-major order; without a copy where the tensor was made from a vector and owns it.
    #[track_caller]
    pub fn into_vec(mut self) -> Vec<T> {
        let whole = self.start == 0 && self.is_contiguous() && self.storage().len() == self.len();
        if let (true, Some(storage)) = (whole, self.storage.take()) {
            match storage.into_vec() {
                Ok(elements) => return elements,
                Err(storage) => self.storage = Some(storage),
            }
        }
        self.to_vec()
    }

    /// A row-major copy with memory of its own; a meta tensor stays one.
    #[track_caller]
    pub fn contiguous(&self) -> Tensor<T, R> {
        if self.is_meta() {
            return Tensor::contiguous_of(None, self.dims);
        }
        let mut copy = Tensor::zeros(self.dims);
        let own = row_major(self.dims);
        let source = self.storage().elements();
        let target = copy.as_mut_slice();
        let rows = Rows::new(Shape::from(self.dims), [Shape::from(own), Shape::from(self.strides)]);
        for Row { starts: [o, i], len, steps: [p, q] } in rows {
            for n in 0..len {
                target[o + n * p] = source[self.start + i + n * q];
            }
        }
        copy
    }

    /// Position in the storage of an element.
    #[track_caller]
    fn position(&self, index: [i64; R]) -> usize {
        let mut position = self.start as i64;
        for axis in 0..R {
            if !(0..self.dims[axis]).contains(&index[axis]) {
                panic!(
                    "index {index:?} is outside of a tensor of extents {:?}: {}",
                    self.dims,
                    Error::Index { index: index[axis], extent: self.dims[axis] }
                );
            }
            position += index[axis] * self.strides[axis];
        }
        position as usize
    }

    /// One element.
    #[track_caller]
    pub fn get(&self, index: [i64; R]) -> T {
        let position = self.position(index);
        self.storage().elements()[position]
    }

    /// Writes one element.
    #[track_caller]
    pub fn put(&mut self, index: [i64; R], value: T) {
        let position = self.position(index);
        self.storage_mut().elements_mut()[position] = value;
    }
}

/// A copy with memory of its own, also of a view.
impl<T: Element, const R: usize> Clone for Tensor<T, R> {
    fn clone(&self) -> Self {
        self.contiguous()
    }
}

/// Same extents and equal elements; meta tensors are equal to meta tensors of the same extents.
impl<T: Element, const R: usize> PartialEq for Tensor<T, R> {
    fn eq(&self, other: &Self) -> bool {
        self.dims == other.dims
            && self.is_meta() == other.is_meta()
            && (self.is_meta() || self.to_vec() == other.to_vec())
    }
}

/// Element type, extents, and the first elements.
impl<T: Element, const R: usize> fmt::Debug for Tensor<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} ", T::DTYPE, self.dims)?;
        match &self.storage {
            None => f.write_str("meta"),
            Some(storage) if !storage.is_current() => f.write_str("locked"),
            Some(_) => crate::ir::report::elements(f, &self.to_vec()),
        }
    }
}
