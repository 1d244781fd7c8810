//! Normalization of rows.

use crate::prelude::*;

/// `(x - mean) / sqrt(variance + epsilon) * gamma + beta` of each row: `x` and `y` are `[M, N]`, `gamma` and `beta` `[1, N]`,
/// of one float type; computed in f32.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![1.0f32, 3.0], [1, 2]);
/// let (gamma, beta, mut y) = (Tensor::full([1, 2], 1.0), Tensor::zeros([1, 2]), Tensor::zeros([1, 2]));
/// pypto::kernels::layer_norm(&x, &gamma, &beta, 0.0, &mut y)?;
/// assert_eq!(y.to_vec(), [-1.0, 1.0]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 16))]
pub fn layer_norm<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[shape(1, N)] gamma: &Tensor<T, 2>,
    #[shape(1, N)] beta: &Tensor<T, 2>,
    epsilon: f32,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    let (scale, shift) = (gamma.load_all().cast::<f32>(), beta.load_all().cast::<f32>());
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at).cast::<f32>();
        let centred = t - t.row_sum() / N as f32;
        let variance = (centred * centred).row_sum() / N as f32;
        y.store(at, (centred * (variance + epsilon).rsqrt() * scale + shift).cast::<T>());
    }
}

/// `x / sqrt(mean(x^2) + epsilon) * gamma` of each row: `x` and `y` are `[M, N]`, `gamma` is `[1, N]`, of one float type;
/// computed in f32.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![2.0f32, -2.0], [1, 2]);
/// let (gamma, mut y) = (Tensor::full([1, 2], 3.0), Tensor::zeros([1, 2]));
/// pypto::kernels::rms_norm(&x, &gamma, 0.0, &mut y)?;
/// assert_eq!(y.to_vec(), [3.0, -3.0]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 16))]
pub fn rms_norm<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[shape(1, N)] gamma: &Tensor<T, 2>,
    epsilon: f32,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    let scale = gamma.load_all().cast::<f32>();
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at).cast::<f32>();
        let mean_square = (t * t).row_sum() / N as f32;
        y.store(at, (t * (mean_square + epsilon).rsqrt() * scale).cast::<T>());
    }
}
