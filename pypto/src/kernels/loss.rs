//! The loss of classification.

use crate::prelude::*;

/// Cross entropy of each row of `logits`, `[M, N]` of a float type, against its class in `targets`, `[M, 1]`: the negative
/// logarithm of the softmax at that class, in f32. The loss of a row with a negative target is 0, which is how rows
/// are left out.
///
/// # Errors
/// A target of N or more stops the kernel.
///
/// ```
/// use pypto::prelude::*;
/// let logits = Tensor::zeros([2, 2]);
/// let targets = Tensor::from_vec(vec![1, -1], [2, 1]);
/// let mut loss = Tensor::zeros([2, 1]);
/// pypto::kernels::cross_entropy::<f32>(&logits, &targets, &mut loss)?;
/// assert_eq!(loss.to_vec(), [std::f32::consts::LN_2, 0.0]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 16))]
pub fn cross_entropy<T: Element>(
    #[shape(dyn M, N)] logits: &Tensor<T, 2>,
    #[shape(dyn M, 1)] targets: &Tensor<i32, 2>,
    #[out]
    #[shape(dyn M, 1)]
    loss: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let i = at.offset(0);
        let target = targets.tile([i, 0], [TM, 1]);
        assert!(target.col_max().get([0, 0]) < N as i32, "a target is the number of a column of the logits");
        // Not by `log_softmax_rows`: both sums are of the same pass over a row.
        let t = logits.load(at).cast::<f32>();
        let centred = t - t.row_max();
        let class = Tile::<i32>::iota([1, N], 1, 0);
        let own = select(class.eq(target), centred, 0.0).row_sum();
        loss.store([i, 0], select(target.lt(0), 0.0, centred.exp().row_sum().log() - own));
    }
}
