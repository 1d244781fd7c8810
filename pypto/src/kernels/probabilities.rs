//! Softmax and its logarithm.

use super::inline::{log_softmax_rows, softmax_rows};
use crate::prelude::*;

/// Softmax of each row of `x`, `[M, N]` of a float type; computed in f32.
///
/// ```
/// use pypto::prelude::*;
/// let (x, mut y) = (Tensor::full([3, 4], 7.0f32), Tensor::zeros([3, 4]));
/// pypto::kernels::softmax(&x, &mut y)?;
/// assert_eq!(y.to_vec(), [0.25; 12]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 16))]
pub fn softmax<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        y.store(at, softmax_rows(x.load(at).cast::<f32>()).cast::<T>());
    }
}

/// Logarithm of the softmax of each row of `x`, `[M, N]` of a float type; computed in f32.
///
/// ```
/// use pypto::prelude::*;
/// let (x, mut y) = (Tensor::full([3, 2], 7.0f32), Tensor::zeros([3, 2]));
/// pypto::kernels::log_softmax(&x, &mut y)?;
/// assert_eq!(y.to_vec(), [-std::f32::consts::LN_2; 6]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 16))]
pub fn log_softmax<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        y.store(at, log_softmax_rows(x.load(at).cast::<f32>()).cast::<T>());
    }
}
