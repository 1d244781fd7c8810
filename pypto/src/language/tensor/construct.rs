//! Making tensors. As with `Vec`, a constructor panics on a length that does not fit; `try_` forms give an error.

use super::storage::Storage;
use super::{Tensor, View, row_major};
use crate::ir::DType;
use crate::ops::reference::{Element, MAX_RANK, Scalar, Shape};

/// Integers that extents may be written in.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an extent", note = "extents are i64, i32, u32 or usize")]
pub trait Extent: Copy {
    #[doc(hidden)]
    fn extent(self) -> i64;
}

macro_rules! extents {
    ($($t:ty)*) => { $(
        impl Extent for $t {
            fn extent(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }
        }
    )* };
}

extents!(i64 i32 u32 usize);

/// Why a tensor cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    #[error("{found} elements given for a tensor of extents {shape:?}, which has {expected}")]
    Length { shape: Vec<i64>, expected: usize, found: usize },
    #[error("extents {0:?} are negative or hold more elements than memory can")]
    Extents(Vec<i64>),
    #[error("an array of rank {found} given for a tensor of rank {expected}")]
    Rank { expected: usize, found: usize },
    #[error("elements of type {found} given for a tensor of {expected}")]
    ElementType { expected: DType, found: DType },
    #[error("not enough memory for a tensor of extents {0:?}")]
    OutOfMemory(Vec<i64>),
}

/// The extents and the number of elements.
fn checked<D: Extent, const R: usize>(shape: [D; R]) -> Result<([i64; R], usize), TensorError> {
    let dims = shape.map(Extent::extent);
    if R > MAX_RANK {
        return Err(TensorError::Extents(dims.to_vec()));
    }
    let count = Shape::new(&dims).count().map_err(|_| TensorError::Extents(dims.to_vec()))?;
    Ok((dims, count))
}

#[track_caller]
fn expect<V>(result: Result<V, TensorError>) -> V {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

impl<T: Element, const R: usize> Tensor<T, R> {
    pub(super) fn contiguous_of(storage: Option<Storage<T>>, dims: [i64; R]) -> Tensor<T, R> {
        Tensor { storage, start: 0, dims, strides: row_major(dims) }
    }

    /// A tensor of zeros (`false` for `bool`), 64-byte aligned.
    #[track_caller]
    pub fn zeros<D: Extent>(shape: [D; R]) -> Tensor<T, R> {
        expect(Tensor::try_zeros(shape))
    }

    /// As [`Tensor::zeros`].
    ///
    /// # Errors
    /// Extents that are negative or too large, or not enough memory.
    pub fn try_zeros<D: Extent>(shape: [D; R]) -> Result<Tensor<T, R>, TensorError> {
        let (dims, count) = checked(shape)?;
        let storage = Storage::zeroed(count).ok_or_else(|| TensorError::OutOfMemory(dims.to_vec()))?;
        Ok(Tensor::contiguous_of(Some(storage), dims))
    }

    /// A tensor with every element equal to `value`.
    #[track_caller]
    pub fn full<D: Extent>(shape: [D; R], value: T) -> Tensor<T, R> {
        let mut tensor = Tensor::zeros(shape);
        tensor.as_mut_slice().fill(value);
        tensor
    }

    /// The elements of a vector in row-major order; takes its memory over.
    #[track_caller]
    pub fn from_vec<D: Extent>(elements: Vec<T>, shape: [D; R]) -> Tensor<T, R> {
        expect(Tensor::try_from_vec(elements, shape))
    }

    /// As [`Tensor::from_vec`].
    ///
    /// # Errors
    /// A length other than the product of the extents.
    pub fn try_from_vec<D: Extent>(elements: Vec<T>, shape: [D; R]) -> Result<Tensor<T, R>, TensorError> {
        let (dims, expected) = checked(shape)?;
        if elements.len() != expected {
            return Err(TensorError::Length { shape: dims.to_vec(), expected, found: elements.len() });
        }
        Ok(Tensor::contiguous_of(Some(Storage::from_vec(elements)), dims))
    }

    /// The elements that a function of the index gives, called in row-major order.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let x = Tensor::from_fn([2, 2], |[i, j]| (10 * i + j) as f32);
    /// assert_eq!(x.as_slice(), [0.0, 1.0, 10.0, 11.0]);
    /// ```
    #[track_caller]
    pub fn from_fn<D: Extent>(shape: [D; R], mut f: impl FnMut([i64; R]) -> T) -> Tensor<T, R> {
        let mut tensor = Tensor::zeros(shape);
        let dims = tensor.dims;
        let mut index = [0; R];
        for element in tensor.as_mut_slice() {
            *element = f(index);
            for axis in (0..R).rev() {
                index[axis] += 1;
                if index[axis] < dims[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        tensor
    }

    /// A tensor without memory: extents only, to compile for.
    #[track_caller]
    pub fn meta<D: Extent>(shape: [D; R]) -> Tensor<T, R> {
        let (dims, _) = expect(checked(shape));
        Tensor::contiguous_of(None, dims)
    }

    /// Scratch memory of an orchestration function.
    #[track_caller]
    pub fn temp(shape: [i64; R]) -> Tensor<T, R> {
        Tensor::zeros(shape)
    }

    /// A shared view of the elements of a slice, in row-major order.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let data = [1.0f32, 2.0, 3.0, 4.0];
    /// assert_eq!(Tensor::view_of(&data, [2, 2]).get([1, 0]), 3.0);
    /// ```
    #[track_caller]
    pub fn view_of<D: Extent>(elements: &[T], shape: [D; R]) -> View<'_, T, R> {
        let dims = expect(checked(shape).and_then(|(dims, expected)| match elements.len() {
            found if found == expected => Ok(dims),
            found => Err(TensorError::Length { shape: dims.to_vec(), expected, found }),
        }));
        View::new(Tensor::contiguous_of(Some(Storage::of_slice(elements)), dims))
    }

    /// Lends a mutable slice as a tensor, in row-major order, for the time of the call. The process aborts if `f` leaks
    /// the tensor or swaps it for another that outlives the call.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let mut data = [0.0f32; 4];
    /// Tensor::with_mut_slice(&mut data, [2, 2], |t| t.put([1, 1], 5.0));
    /// assert_eq!(data, [0.0, 0.0, 0.0, 5.0]);
    /// ```
    #[track_caller]
    pub fn with_mut_slice<D: Extent, V>(
        elements: &mut [T],
        shape: [D; R],
        f: impl FnOnce(&mut Tensor<T, R>) -> V,
    ) -> V {
        let dims = expect(checked(shape).and_then(|(dims, expected)| match elements.len() {
            found if found == expected => Ok(dims),
            found => Err(TensorError::Length { shape: dims.to_vec(), expected, found }),
        }));
        Storage::with_mut_slice(elements, |storage| f(&mut Tensor::contiguous_of(Some(storage), dims)))
    }
}

impl<T: Element> Tensor<T, 1> {
    /// 0, 1, 2, ... as the element type holds them (integers wrap).
    #[track_caller]
    pub fn arange(len: i64) -> Tensor<T, 1> {
        Tensor::from_fn([len], |[i]| Scalar::from_int(i, T::DTYPE).get::<T>())
    }
}
