//! [`Tensor`]: typed memory with extents and strides; views of it; and how kernels read and write it.

mod access;
mod construct;
#[cfg(feature = "ndarray")]
mod convert;
mod kernel;
mod storage;
mod view;

pub use crate::memory::ALIGNMENT;
pub use construct::{Extent, TensorError};
pub use view::{View, ViewMut};

use std::marker::PhantomData;

use super::argument::{
    Argument, ArgumentList, KernelArgument, KernelArguments, MAX_RANK, ScalarArgument, TensorArgument,
};
use crate::ops::reference::{Element, Shape};
use storage::Storage;

/// A tensor of rank `R`: memory, row-major unless it is a view. Kernels take `&Tensor` and `&mut Tensor`.
///
/// ```
/// use pypto::prelude::*;
/// let mut x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]);
/// assert_eq!(x.get([1, 0]), 4.0);
/// x.rows_mut(0, 1).set(0.0);
/// assert_eq!(x.as_slice(), [0.0, 0.0, 0.0, 4.0, 5.0, 6.0]);
/// ```
pub struct Tensor<T: Element, const R: usize> {
    /// `None` for meta tensors, which have extents only.
    storage: Option<Storage<T>>,
    /// Position of the first element in the storage.
    start: usize,
    dims: [i64; R],
    strides: [i64; R],
}

impl<T: Element, const R: usize> Tensor<T, R> {
    /// The extents.
    pub fn dims(&self) -> [i64; R] {
        self.dims
    }

    /// The extent of one dimension.
    #[track_caller]
    pub fn dim(&self, axis: usize) -> i64 {
        self.dims[axis]
    }

    /// Distance in elements between neighbours along each dimension.
    pub fn strides(&self) -> [i64; R] {
        self.strides
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().map(|n| *n as usize).product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// Whether the tensor has extents but no memory.
    pub fn is_meta(&self) -> bool {
        self.storage.is_none()
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        let expected = row_major(self.dims);
        self.is_empty() || (0..R).all(|axis| self.dims[axis] == 1 || self.strides[axis] == expected[axis])
    }

    /// The same tensor as the weights of a model: read by many calls, seldom written.
    ///
    /// Compiled products on the host keep a copy of such a tensor in the order in which they read it, made by the first call that has it
    /// as its right factor, instead of putting it in that order in every call. That takes as much memory again, and pays where the left
    /// factor has some tens of rows. Results are the same, bit for bit. Whoever gets the tensor to write makes the copies go; the next
    /// product makes them again. Views share the mark, and the copies count for the extents that a call gets.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// #[pypto::jit]
    /// fn linear(
    ///     #[shape(M, K)] x: &Tensor<f32, 2>,
    ///     #[shape(K, N)] w: &Tensor<f32, 2>,
    ///     #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>,
    /// ) {
    ///     y.set(matmul(x, w));
    /// }
    /// # fn main() -> pypto::Result<()> {
    /// let w = Tensor::full([64, 48], 0.5f32).into_weights();
    /// let mut y = Tensor::zeros([20, 48]);
    /// for step in 0..3 {
    ///     let x = Tensor::full([20, 64], step as f32);
    ///     linear(&x, &w, &mut y)?;
    ///     assert_eq!(y.get([0, 0]), 32.0 * step as f32);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_weights(self) -> Tensor<T, R> {
        if let Some(storage) = &self.storage {
            storage.keep_panels();
        }
        self
    }

    /// Whether products keep copies of the tensor: see [`Tensor::into_weights`].
    pub fn is_weights(&self) -> bool {
        self.storage.as_ref().is_some_and(|storage| storage.weights().is_some())
    }

    #[track_caller]
    fn storage(&self) -> &Storage<T> {
        match &self.storage {
            Some(storage) => storage,
            None => no_storage(),
        }
    }

    #[track_caller]
    fn storage_mut(&mut self) -> &mut Storage<T> {
        match &mut self.storage {
            Some(storage) => storage,
            None => no_storage(),
        }
    }

    /// The layout and memory as a call's argument. `mutable` needs exclusive access for as long as the result lives.
    pub(crate) fn to_argument(&self, mutable: bool) -> TensorArgument<'_> {
        let mut dims = [1; MAX_RANK];
        let mut strides = [0; MAX_RANK];
        dims[..R].copy_from_slice(&self.dims);
        strides[..R].copy_from_slice(&self.strides);
        let data = match &self.storage {
            Some(storage) => storage.pointer(self.start).cast(),
            None => std::ptr::null_mut(),
        };
        if let (true, Some(storage)) = (mutable, &self.storage) {
            storage.before_write();
        }
        let weights = self.storage.as_ref().filter(|_| !mutable).and_then(Storage::weights);
        TensorArgument {
            dtype: T::DTYPE,
            rank: R,
            dims,
            strides,
            data,
            mutable,
            worker: None,
            weights,
            lifetime: PhantomData,
        }
    }
}

#[track_caller]
fn no_storage() -> ! {
    panic!("a meta tensor has extents but no elements")
}

/// Strides of a row-major array.
fn row_major<const R: usize>(dims: [i64; R]) -> [i64; R] {
    let strides = Shape::new(&dims).row_major_strides();
    std::array::from_fn(|axis| strides[axis])
}

impl<T: Element, const R: usize> KernelArgument for &Tensor<T, R> {
    fn argument(&mut self) -> Argument<'_> {
        Argument::Tensor(self.to_argument(false))
    }
}

impl<T: Element, const R: usize> KernelArgument for &mut Tensor<T, R> {
    fn argument(&mut self) -> Argument<'_> {
        Argument::Tensor(self.to_argument(true))
    }
}

impl<T: Element> KernelArgument for T {
    fn argument(&mut self) -> Argument<'_> {
        Argument::Scalar(ScalarArgument { dtype: T::DTYPE, bits: self.to_bits64() })
    }
}

impl<'a, T: Element, const R: usize> KernelArguments<'a> for &'a Tensor<T, R> {
    fn append(self, list: &mut ArgumentList<'a>) {
        list.push(Argument::Tensor(self.to_argument(false)));
    }
}

impl<'a, T: Element, const R: usize> KernelArguments<'a> for &'a mut Tensor<T, R> {
    fn append(self, list: &mut ArgumentList<'a>) {
        list.push(Argument::Tensor(self.to_argument(true)));
    }
}

impl<'a, T: Element> KernelArguments<'a> for T {
    fn append(self, list: &mut ArgumentList<'a>) {
        list.push(Argument::Scalar(ScalarArgument { dtype: T::DTYPE, bits: self.to_bits64() }));
    }
}
