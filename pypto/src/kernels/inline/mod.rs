//! Functions on tiles for the bodies of kernels: they are expanded where they are called, so they fuse with what stands
//! around them.

mod order;
mod random;
mod small_floats;

pub use order::top_k;
pub use random::{philox, random_bits, random_uniform};
pub use small_floats::{
    e8m0_decode, e8m0_encode, f4_decode, f4_encode, f8e4m3_decode, f8e4m3_encode, f8e5m2_decode, f8e5m2_encode,
    i4_decode, i4_encode, pack_nibbles, unpack_nibbles,
};

use crate::prelude::*;

/// `exp(x)` of each row, divided by its sum; `[M, N]` to `[M, N]`. Rows are shifted by their maximum first, so nothing
/// overflows.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tile::full([1, 4], 1000.0f32);
/// assert_eq!(pypto::kernels::inline::softmax_rows(x).to_vec(), [0.25; 4]);
/// ```
#[pypto::function(inline)]
pub fn softmax_rows(x: Tile<f32>) -> Tile<f32> {
    let e = (x - x.row_max()).exp();
    e * (1.0 / e.row_sum())
}

/// `x - log(sum(exp(x)))` of each row; `[M, N]` to `[M, N]`.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tile::full([1, 2], 1000.0f32);
/// assert_eq!(pypto::kernels::inline::log_softmax_rows(x).to_vec(), [-std::f32::consts::LN_2; 2]);
/// ```
#[pypto::function(inline)]
pub fn log_softmax_rows(x: Tile<f32>) -> Tile<f32> {
    let shifted = x - x.row_max();
    shifted - shifted.exp().row_sum().log()
}

/// The exact GELU: `x / 2 * (1 + erf(x / sqrt(2)))`, within 2 units in the last place of x.
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(pypto::kernels::inline::gelu(Tile::full([1, 1], 0.0f32)).to_vec(), [0.0]);
/// ```
#[pypto::function(inline)]
pub fn gelu(x: Tile<f32>) -> Tile<f32> {
    0.5 * x * (1.0 + (x * std::f32::consts::FRAC_1_SQRT_2).erf())
}

/// The GELU that approximates the error function by a hyperbolic tangent:
/// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`.
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(pypto::kernels::inline::gelu_tanh(Tile::full([1, 1], 0.0f32)).to_vec(), [0.0]);
/// ```
#[pypto::function(inline)]
pub fn gelu_tanh(x: Tile<f32>) -> Tile<f32> {
    // (1 + tanh u) / 2 = 1 / (1 + e^-2u): one exponential, and nothing cancels where tanh u is close to -1.
    let twice = 2.0 * std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::FRAC_1_SQRT_2;
    let minus_twice_u = -(x * (twice + twice * 0.044715 * (x * x)));
    x / (1.0 + minus_twice_u.exp())
}

/// `x * sigmoid(x)`, within 4 ULP above -87, where the sigmoid leaves the normal range; NaN for minus infinity.
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(pypto::kernels::inline::silu(Tile::full([1, 1], 200.0f32)).to_vec(), [200.0]);
/// ```
#[pypto::function(inline)]
pub fn silu(x: Tile<f32>) -> Tile<f32> {
    // e^-|x| does not overflow, and what is left of very negative x is not lost.
    let e = (-x.abs()).exp();
    x.lt(0.0).select(x * e, x) / (1.0 + e)
}

/// Queries for [`scaled_scores`]: those of f32 are scaled here, once for all keys. Scaled queries of a narrower type would be rounded
/// once more, so there the scores are scaled.
#[pypto::function(inline)]
pub(super) fn scaled_queries<T: Element>(queries: Tile<T>, scale: f32) -> Tile<T> {
    if T::DTYPE == f32::DTYPE { (queries.cast::<f32>() * scale).cast::<T>() } else { queries }
}

/// Scaled products of [`scaled_queries`], `[M, D]`, with keys, `[N, D]`: `[M, N]`.
#[pypto::function(inline)]
pub(super) fn scaled_scores<T: Element>(queries: Tile<T>, keys: Tile<T>, scale: f32) -> Tile<f32> {
    let products = matmul(queries, keys.t()).cast::<f32>();
    if T::DTYPE == f32::DTYPE { products } else { products * scale }
}

/// One step of attention with a running softmax: takes a block of scaled `scores`, `[M, N]`, and its `values`, `[N, D]`,
/// into the running row maxima, `[M, 1]`, row sums, `[M, 1]`, and weighted sums, `[M, D]`, and gives those three back.
/// Scores of `f32::MIN` and less are masked.
///
/// Start with maxima of `f32::MIN` and zeros, end with [`attended`].
///
/// ```
/// use pypto::kernels::inline::{attend, attended};
/// use pypto::prelude::*;
///
/// let (maxima, sums, acc) = (Tile::full([1, 1], f32::MIN), Tile::zeros([1, 1]), Tile::zeros([1, 2]));
/// let (scores, values) = (Tile::zeros([1, 4]), Tile::full([4, 2], 3.0f32));
/// let (_, sums, acc) = attend(maxima, sums, acc, scores, values);
/// assert_eq!(attended(sums, acc).to_vec(), [3.0, 3.0]);
/// ```
#[pypto::function(inline)]
pub fn attend<T: Element>(
    maxima: Tile<f32>,
    sums: Tile<f32>,
    acc: Tile<f32>,
    scores: Tile<f32>,
    values: Tile<T>,
) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
    let highest = maxima.max(scores.row_max());
    let weights = select(scores.le(f32::MIN), 0.0, (scores - highest).exp());
    carried(highest, (maxima - highest).exp(), sums, acc, weights, values)
}

/// [`attend`] to a block of which nothing is masked: what that is for is not asked of each score.
///
/// ```
/// use pypto::kernels::inline::{attend_to_all, attended};
/// use pypto::prelude::*;
///
/// let (maxima, sums, acc) = (Tile::full([1, 1], f32::MIN), Tile::zeros([1, 1]), Tile::zeros([1, 2]));
/// let (scores, values) = (Tile::zeros([1, 4]), Tile::full([4, 2], 3.0f32));
/// let (_, sums, acc) = attend_to_all(maxima, sums, acc, scores, values);
/// assert_eq!(attended(sums, acc).to_vec(), [3.0, 3.0]);
/// ```
#[pypto::function(inline)]
pub fn attend_to_all<T: Element>(
    maxima: Tile<f32>,
    sums: Tile<f32>,
    acc: Tile<f32>,
    scores: Tile<f32>,
    values: Tile<T>,
) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
    let highest = maxima.max(scores.row_max());
    carried(highest, (maxima - highest).exp(), sums, acc, (scores - highest).exp(), values)
}

/// [`attend`] to scores that are multiplied by log2(e): powers of two take less time than those of e, and are as exact.
#[pypto::function(inline)]
pub(super) fn attend_base_2<T: Element>(
    maxima: Tile<f32>,
    sums: Tile<f32>,
    acc: Tile<f32>,
    scores: Tile<f32>,
    values: Tile<T>,
) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
    let highest = maxima.max(scores.row_max());
    let weights = select(scores.le(f32::MIN), 0.0, (scores - highest).exp2());
    carried(highest, (maxima - highest).exp2(), sums, acc, weights, values)
}

/// [`attend_to_all`] of scores that are multiplied by log2(e).
#[pypto::function(inline)]
pub(super) fn attend_to_all_base_2<T: Element>(
    maxima: Tile<f32>,
    sums: Tile<f32>,
    acc: Tile<f32>,
    scores: Tile<f32>,
    values: Tile<T>,
) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
    let highest = maxima.max(scores.row_max());
    carried(highest, (maxima - highest).exp2(), sums, acc, (scores - highest).exp2(), values)
}

/// The sums of a running softmax after a block: its maxima, how much less what came before counts now, and the weights of the block.
#[pypto::function(inline)]
fn carried<T: Element>(
    highest: Tile<f32>,
    correction: Tile<f32>,
    sums: Tile<f32>,
    acc: Tile<f32>,
    weights: Tile<f32>,
    values: Tile<T>,
) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
    let sums = sums * correction + weights.row_sum();
    let acc = acc * correction + matmul(weights.cast::<T>(), values).cast::<f32>();
    (highest, sums, acc)
}

/// What attention gives: `acc / sums`, and zeros for rows that attended to nothing. See [`attend`].
#[pypto::function(inline)]
pub fn attended(sums: Tile<f32>, acc: Tile<f32>) -> Tile<f32> {
    select(sums.le(0.0), 0.0, acc / sums)
}
