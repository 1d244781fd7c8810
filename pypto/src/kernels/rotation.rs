//! Rotary position embedding.

use crate::prelude::*;

/// Rotates the two halves of each head by the angles of its position: `x` and `y` are `[S, H, D]` of a float type, `cos` and
/// `sin` are `[S, D / 2]`. With `a` and `b` the halves of a head, the result is `a * cos - b * sin` and
/// `b * cos + a * sin`, computed in f32.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![1.0f32, 2.0], [1, 1, 2]);
/// let (cos, sin) = (Tensor::full([1, 1], 0.0), Tensor::full([1, 1], 1.0));
/// let mut y = Tensor::zeros([1, 1, 2]);
/// pypto::kernels::rope(&x, &cos, &sin, &mut y)?;
/// assert_eq!(y.to_vec(), [-2.0, 1.0]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit]
pub fn rope<T: Element>(
    #[shape(dyn S, H, D)] x: &Tensor<T, 3>,
    #[shape(dyn S, HALF)] cos: &Tensor<f32, 2>,
    #[shape(dyn S, HALF)] sin: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn S, H, D)]
    y: &mut Tensor<T, 3>,
) {
    static_assert!(HALF * 2 == D, "there are half as many angles as elements in a head");
    for s in 0..S {
        let (c, i) = (cos.tile([s, 0], [1, HALF]), sin.tile([s, 0], [1, HALF]));
        let a = x.at(s).tile([0, 0], [H, HALF]).cast::<f32>();
        let b = x.at(s).tile([0, HALF], [H, HALF]).cast::<f32>();
        y.at_mut(s).store([0, 0], (a * c - b * i).cast::<T>());
        y.at_mut(s).store([0, HALF], (b * c + a * i).cast::<T>());
    }
}
