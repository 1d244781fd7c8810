//! [`DynamicTensor`]: a tensor whose element type and rank are values, for programs that are only known at run time.

use super::argument::{Argument, ArgumentList, KernelArgument, KernelArguments, MAX_RANK, TensorArgument, byte_size};
use super::tensor::{Tensor, TensorError};
use crate::ir::DType;
use crate::ops::reference::{Array, Data, Element, Shape, with_element};

/// A contiguous row-major tensor of any element type and rank up to [`MAX_RANK`].
///
/// ```
/// use pypto::ir::DType;
/// use pypto::language::DynamicTensor;
/// let x = DynamicTensor::from_vec(vec![1.0f32, 2.0, 3.0], &[3])?;
/// assert_eq!((x.dtype(), x.dims(), x.elements::<f32>()), (DType::F32, &[3i64][..], Some(&[1.0, 2.0, 3.0][..])));
/// assert!(x.elements::<i32>().is_none());
/// # Ok::<(), pypto::language::TensorError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicTensor {
    dims: Vec<i64>,
    data: Data,
}

impl DynamicTensor {
    /// Zeros.
    ///
    /// # Errors
    /// A rank above [`MAX_RANK`], a negative extent, more elements than memory holds.
    pub fn zeros(dtype: DType, dims: &[i64]) -> Result<DynamicTensor, TensorError> {
        if dims.len() > MAX_RANK || byte_size(dims, dtype).is_none() {
            return Err(TensorError::Extents(dims.to_vec()));
        }
        let array = Array::zeros(dtype, Shape::new(dims)).map_err(|_| TensorError::OutOfMemory(dims.to_vec()))?;
        Ok(DynamicTensor { dims: dims.to_vec(), data: array.data })
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// Extents whose product is not the number of elements; a rank above [`MAX_RANK`].
    pub fn from_vec<T: Element>(elements: Vec<T>, dims: &[i64]) -> Result<DynamicTensor, TensorError> {
        let Some(bytes) = byte_size(dims, T::DTYPE).filter(|_| dims.len() <= MAX_RANK) else {
            return Err(TensorError::Extents(dims.to_vec()));
        };
        let (expected, found) = (bytes / T::DTYPE.size(), elements.len());
        if expected != found {
            return Err(TensorError::Length { shape: dims.to_vec(), expected, found });
        }
        Ok(DynamicTensor { dims: dims.to_vec(), data: T::wrap(elements) })
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// The extents.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// The elements in row-major order; `None` where they are of another type.
    pub fn elements<T: Element>(&self) -> Option<&[T]> {
        T::slice(&self.data)
    }

    /// The elements, to change; `None` where they are of another type.
    pub fn elements_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        T::slice_mut(&mut self.data)
    }

    /// The tensor with its element type and rank in its Rust type.
    ///
    /// # Errors
    /// Another element type or rank.
    pub fn into_tensor<T: Element, const R: usize>(self) -> Result<Tensor<T, R>, TensorError> {
        let found = self.dtype();
        let dims: [usize; R] = match <[i64; R]>::try_from(self.dims.as_slice()) {
            Ok(dims) => dims.map(|extent| extent as usize),
            Err(_) => return Err(TensorError::Rank { expected: R, found: self.dims.len() }),
        };
        let elements = T::unwrap(self.data).ok_or(TensorError::ElementType { expected: T::DTYPE, found })?;
        Tensor::try_from_vec(elements, dims)
    }

    /// The layout and memory as a call's argument.
    fn to_argument(&self, data: *mut u8, mutable: bool) -> TensorArgument<'_> {
        let strides = Shape::new(&self.dims).row_major_strides();
        let strides: Vec<i64> = strides.iter().copied().collect();
        // SAFETY: `data` is this tensor's memory, which `self` stays borrowed for; `mutable` comes from a mutable borrow.
        unsafe { TensorArgument::new(self.dtype(), &self.dims, &strides, data, mutable) }
    }

    /// The tensor as an argument that is read.
    pub fn as_argument(&self) -> Argument<'_> {
        let data = with_element!(self.dtype(), T => T::slice(&self.data).unwrap_or(&[]).as_ptr().cast::<u8>());
        Argument::Tensor(self.to_argument(data.cast_mut(), false))
    }

    /// The tensor as an argument that is written.
    pub fn as_argument_mut(&mut self) -> Argument<'_> {
        let dtype = self.dtype();
        let data = with_element!(dtype, T => T::slice_mut(&mut self.data).unwrap_or(&mut []).as_mut_ptr().cast::<u8>());
        Argument::Tensor(self.to_argument(data, true))
    }
}

impl<T: Element, const R: usize> From<&Tensor<T, R>> for DynamicTensor {
    /// Copies; a view becomes contiguous.
    fn from(tensor: &Tensor<T, R>) -> DynamicTensor {
        DynamicTensor { dims: tensor.dims().to_vec(), data: T::wrap(tensor.to_vec()) }
    }
}

impl KernelArgument for &DynamicTensor {
    fn argument(&mut self) -> Argument<'_> {
        self.as_argument()
    }
}

impl KernelArgument for &mut DynamicTensor {
    fn argument(&mut self) -> Argument<'_> {
        self.as_argument_mut()
    }
}

impl<'a> KernelArguments<'a> for &'a DynamicTensor {
    fn append(self, list: &mut ArgumentList<'a>) {
        list.push(self.as_argument());
    }
}

impl<'a> KernelArguments<'a> for &'a mut DynamicTensor {
    fn append(self, list: &mut ArgumentList<'a>) {
        list.push(self.as_argument_mut());
    }
}
