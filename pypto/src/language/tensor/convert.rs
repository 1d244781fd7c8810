//! Conversions from and to `ndarray`, behind the feature of that name.

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn};

use super::{Tensor, TensorError};
use crate::ops::reference::Element;

/// Copies an array of any layout.
///
/// # Errors
/// An array whose rank is not `R`.
///
/// ```
/// use pypto::prelude::*;
/// let array = ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]);
/// let tensor = Tensor::<f32, 2>::try_from(&array.t())?;
/// assert_eq!(tensor.as_slice(), [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), pypto::language::TensorError>(())
/// ```
impl<T: Element, S: Data<Elem = T>, D: Dimension, const R: usize> TryFrom<&ArrayBase<S, D>> for Tensor<T, R> {
    type Error = TensorError;

    fn try_from(array: &ArrayBase<S, D>) -> Result<Self, TensorError> {
        let shape: [usize; R] =
            array.shape().try_into().map_err(|_| TensorError::Rank { expected: R, found: array.ndim() })?;
        Tensor::try_from_vec(array.iter().copied().collect(), shape)
    }
}

/// Copies a tensor; a view becomes contiguous.
impl<T: Element, const R: usize> From<&Tensor<T, R>> for ArrayD<T> {
    fn from(tensor: &Tensor<T, R>) -> ArrayD<T> {
        let shape = IxDyn(&tensor.dims().map(|n| n as usize));
        ArrayD::from_shape_fn(shape, |index| tensor.get(std::array::from_fn(|axis| index[axis] as i64)))
    }
}

impl<T: Element, const R: usize> Tensor<T, R> {
    /// A view of a contiguous tensor's elements as an array; `None` for a view with gaps.
    pub fn as_ndarray(&self) -> Option<ArrayViewD<'_, T>> {
        let shape = IxDyn(&self.dims().map(|n| n as usize));
        if self.is_contiguous() { ArrayViewD::from_shape(shape, self.as_slice()).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let tensor = Tensor::from_fn([2, 3], |[i, j]| (3 * i + j) as i32);
        let array = ArrayD::from(&tensor);
        assert_eq!(array[[1, 2]], 5);
        assert_eq!(Tensor::<i32, 2>::try_from(&array), Ok(tensor.clone()));
        assert_eq!(tensor.as_ndarray(), Some(array.view()));
        assert!(tensor.transposed().as_ndarray().is_none());
        assert_eq!(Tensor::<i32, 1>::try_from(&array), Err(TensorError::Rank { expected: 1, found: 2 }));
    }
}
