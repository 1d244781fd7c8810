//! Activations, element by element. In a model they belong to the kernel that computes their operand: see
//! [`inline`](super::inline).
//!
//! Tiles are wide and low: pieces of rows that lie apart in memory are a fifth slower than whole rows.

use super::inline;
use crate::prelude::*;

/// The exact GELU of each element, `[M, N]` of a float type; computed in f32. See [`inline::gelu`].
///
/// ```
/// use pypto::prelude::*;
/// let (x, mut y) = (Tensor::full([2, 2], 100.0f32), Tensor::zeros([2, 2]));
/// pypto::kernels::gelu(&x, &mut y)?;
/// assert_eq!(y.to_vec(), [100.0; 4]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 2, TN = 4096))]
pub fn gelu<T: Element>(
    #[shape(dyn M, dyn N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, dyn N)]
    y: &mut Tensor<T, 2>,
) {
    for at in tiles([M, N], [TM, TN]) {
        y.store(at, inline::gelu(x.load(at).cast::<f32>()).cast::<T>());
    }
}

/// The GELU by hyperbolic tangent of each element, `[M, N]` of a float type; computed in f32. See [`inline::gelu_tanh`].
///
/// ```
/// use pypto::prelude::*;
/// let (x, mut y) = (Tensor::full([2, 2], 100.0f32), Tensor::zeros([2, 2]));
/// pypto::kernels::gelu_tanh(&x, &mut y)?;
/// assert_eq!(y.to_vec(), [100.0; 4]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 2, TN = 4096))]
pub fn gelu_tanh<T: Element>(
    #[shape(dyn M, dyn N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, dyn N)]
    y: &mut Tensor<T, 2>,
) {
    for at in tiles([M, N], [TM, TN]) {
        y.store(at, inline::gelu_tanh(x.load(at).cast::<f32>()).cast::<T>());
    }
}

/// `x * sigmoid(x)` of each element, `[M, N]` of a float type; computed in f32.
///
/// ```
/// use pypto::prelude::*;
/// let (x, mut y) = (Tensor::full([2, 2], 200.0f32), Tensor::zeros([2, 2]));
/// pypto::kernels::silu(&x, &mut y)?;
/// assert_eq!(y.to_vec(), [200.0; 4]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 2, TN = 4096))]
pub fn silu<T: Element>(
    #[shape(dyn M, dyn N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, dyn N)]
    y: &mut Tensor<T, 2>,
) {
    for at in tiles([M, N], [TM, TN]) {
        y.store(at, inline::silu(x.load(at).cast::<f32>()).cast::<T>());
    }
}

/// `gate * sigmoid(gate) * up` of each pair of elements, `[M, N]` of a float type; computed in f32.
///
/// ```
/// use pypto::prelude::*;
/// let (gate, up, mut y) = (Tensor::full([2, 2], 200.0f32), Tensor::full([2, 2], 3.0), Tensor::zeros([2, 2]));
/// pypto::kernels::swiglu(&gate, &up, &mut y)?;
/// assert_eq!(y.to_vec(), [600.0; 4]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 2, TN = 4096))]
pub fn swiglu<T: Element>(
    #[shape(dyn M, dyn N)] gate: &Tensor<T, 2>,
    #[shape(dyn M, dyn N)] up: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, dyn N)]
    y: &mut Tensor<T, 2>,
) {
    for at in tiles([M, N], [TM, TN]) {
        let activated = inline::silu(gate.load(at).cast::<f32>());
        y.store(at, (activated * up.load(at).cast::<f32>()).cast::<T>());
    }
}
