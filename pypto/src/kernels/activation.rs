//! Activations, element by element. In a model they belong to the kernel that computes their operand: see
//! [`inline`](super::inline).
//!
//! Written for whole tensors: the compiler cuts them into blocks that suit their extents. Tiles of any one size are a tenth or more slower
//! for some: many short rows want high ones, and pieces of long rows lie apart in memory. One version serves every `M`; `N`, the width of a
//! layer, is part of the key, as it is for normalizations: blocks of rows of a width that is not known are a twentieth slower where it is
//! small.

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
#[pypto::jit]
pub fn gelu<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    y.set(inline::gelu(x.load_all().cast::<f32>()).cast::<T>());
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
#[pypto::jit]
pub fn gelu_tanh<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    y.set(inline::gelu_tanh(x.load_all().cast::<f32>()).cast::<T>());
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
#[pypto::jit]
pub fn silu<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    y.set(inline::silu(x.load_all().cast::<f32>()).cast::<T>());
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
#[pypto::jit]
pub fn swiglu<T: Element>(
    #[shape(dyn M, N)] gate: &Tensor<T, 2>,
    #[shape(dyn M, N)] up: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    let activated = inline::silu(gate.load_all().cast::<f32>());
    y.set((activated * up.cast::<f32>()).cast::<T>());
}
