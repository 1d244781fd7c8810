//! The gate of a mixture of experts.

use super::inline::softmax_rows;
use crate::prelude::*;

/// Chooses K of E experts for each row of `x`, `[M, D]`: those with the largest softmax of `x @ w^T`, where `w` is `[E, D]` of the
/// same float type. `experts`, `[M, K]`, are their numbers in falling order of weight, the smaller number first where
/// weights are equal; `weights`, `[M, K]`, are their probabilities, divided by their sum.
///
/// # Errors
/// K is at most E.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![1.0f32, 0.0], [1, 2]);
/// let w = Tensor::from_vec(vec![0.0f32, 0.0, 2.0, 0.0, 2.0, 5.0], [3, 2]);
/// let (mut experts, mut weights) = (Tensor::zeros([1, 2]), Tensor::zeros([1, 2]));
/// pypto::kernels::moe_gate(&x, &w, &mut experts, &mut weights)?;
/// assert_eq!((experts.to_vec(), weights.to_vec()), (vec![1, 2], vec![0.5, 0.5]));
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 16))]
pub fn moe_gate<T: Element>(
    #[shape(dyn M, D)] x: &Tensor<T, 2>,
    #[shape(E, D)] w: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, K)]
    experts: &mut Tensor<i32, 2>,
    #[out]
    #[shape(dyn M, K)]
    weights: &mut Tensor<f32, 2>,
) {
    static_assert!(K <= E, "a row cannot have more experts than there are");
    for i in range(0, M, TM) {
        let logits = matmul(x.tile([i, 0], [TM, D]), w.load_all().t()).cast::<f32>();
        let mut left = softmax_rows(logits);
        let number = Tile::<i32>::iota([1, E], 1, 0);
        let mut chosen = Tile::<i32>::zeros([TM, K]);
        let mut weight = Tile::<f32>::zeros([TM, K]);
        for k in unroll(0..K) {
            let best = left.row_argmax();
            chosen = chosen.assemble([0, k], best);
            weight = weight.assemble([0, k], left.row_max());
            // Probabilities are never negative, so that expert is not chosen again.
            left = select(number.eq(best), -1.0, left);
        }
        experts.store([i, 0], chosen);
        weights.store([i, 0], weight / weight.row_sum());
    }
}
