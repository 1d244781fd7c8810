//! Attention without the matrix of scores: keys and values pass by in blocks, while running maxima and sums are carried.

use super::inline::{attend_base_2, attend_to_all_base_2, attended, scaled_queries, scaled_scores};
use crate::prelude::*;
use std::f32::consts::LOG2_E;

/// Attention of `q`, `[B, H, S, D]`, to `k` and `v`, `[B, G, L, D]`, of one float type: each of the G heads of keys serves H / G
/// heads of queries in turn. `lengths`, `[B]`, says how many of the L keys of a sequence count. Scores are scaled by
/// `1 / sqrt(D)` and computed in f32.
///
/// With `CAUSAL: 1`, the queries are the last S positions of their sequence, and see the keys up to their own position. A
/// query that sees no key gives zeros. For one query a head, [`attention_decode`](super::attention_decode) is faster.
///
/// # Errors
/// H is a multiple of G. A length outside `0..=L` stops the kernel.
///
/// ```
/// use pypto::kernels::attention;
/// use pypto::prelude::*;
///
/// let (q, k) = (Tensor::full([1, 2, 3, 4], 1.0f32), Tensor::full([1, 1, 5, 4], 1.0));
/// let v = Tensor::from_fn([1, 1, 5, 4], |[_, _, key, _]| key as f32);
/// let lengths = Tensor::from_vec(vec![5], [1]);
/// let mut o = Tensor::zeros([1, 2, 3, 4]);
/// attention.with(meta! { CAUSAL: 1 })(&q, &k, &v, &lengths, &mut o)?;
/// assert_eq!([0, 1, 2].map(|query| o.get([0, 0, query, 0])), [1.0, 1.5, 2.0]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(BQ = 32, BK = 128, CAUSAL = 0))]
pub fn attention<T: Element>(
    #[shape(dyn B, H, dyn S, D)] q: &Tensor<T, 4>,
    #[shape(dyn B, G, dyn L, D)] k: &Tensor<T, 4>,
    #[shape(dyn B, G, dyn L, D)] v: &Tensor<T, 4>,
    #[shape(dyn B)] lengths: &Tensor<i32, 1>,
    #[out]
    #[shape(dyn B, H, dyn S, D)]
    o: &mut Tensor<T, 4>,
) {
    static_assert!(H % G == 0, "the heads of queries are a multiple of the heads of keys");
    let scale = LOG2_E / (D as f32).sqrt();
    for at in tiles([B, H, S], [1, 1, BQ]) {
        let (b, h, i) = (at.offset(0), at.offset(1), at.offset(2));
        let g = h / (H / G);
        let length = lengths.get([b]) as i64;
        assert!(length >= 0 && length <= L, "a length counts keys of a sequence");
        let queries = scaled_queries(q.at(b).at(h).tile([i, 0], [BQ, D]), scale);
        let position = length - S + i;
        let end = if CAUSAL == 1 { length.min(position + BQ) } else { length };
        let mut maxima = Tile::full([BQ, 1], f32::MIN);
        let mut sums = Tile::zeros([BQ, 1]);
        let mut acc = Tile::zeros([BQ, D]);
        // Blocks that every query of the tile sees in full need no masks. That all of their keys count follows from `whole`, which no
        // pass looks into: it is said.
        let seen = if CAUSAL == 1 { (position + 1).max(0) } else { length };
        let whole = seen / BK * BK;
        for j in range(0, whole, BK) {
            let keys = k.at(b).at(g).tile([j, 0], [BK, D]).set_valid([BK, D]);
            let values = v.at(b).at(g).tile([j, 0], [BK, D]).set_valid([BK, D]);
            let scores = scaled_scores(queries, keys, scale);
            (maxima, sums, acc) = attend_to_all_base_2(maxima, sums, acc, scores, values);
        }
        // Of the keys that only some queries see, short blocks waste less.
        let size = if CAUSAL == 1 { BK.min(BQ) } else { BK };
        for j in range(whole, end, size) {
            let valid = size.min(length - j);
            let keys = k.at(b).at(g).tile([j, 0], [size, D]).set_valid([valid, D]);
            let values = v.at(b).at(g).tile([j, 0], [size, D]).set_valid([valid, D]);
            let mut scores = scaled_scores(queries, keys, scale);
            if CAUSAL == 1 {
                let query = Tile::<i32>::iota([BQ, 1], 0, position as i32);
                let key = Tile::<i32>::iota([1, size], 1, j as i32);
                scores = select(query.ge(key), scores, f32::MIN);
            }
            (maxima, sums, acc) = attend_base_2(maxima, sums, acc, scores, values);
        }
        o.at_mut(b).at_mut(h).store([i, 0], attended(sums, acc).cast::<T>());
    }
}

/// Attention of one query a head, `q` of `[B, H, D]`, to keys and values in pages, `[P, G, PAGE, D]`, of one float type: page
/// number `n` of sequence `b` is `table[b, n]`, `[B, N]`, and its first `lengths[b]` keys count. Each of the G heads of keys
/// serves H / G heads of queries. Scores are scaled by `1 / sqrt(D)` and computed in f32; a sequence without keys
/// gives zeros.
///
/// # Errors
/// H is a multiple of G. A length that needs more than N pages, and the number of a page that there is not, stop the kernel.
///
/// ```
/// use pypto::kernels::paged_attention;
/// use pypto::prelude::*;
///
/// let q = Tensor::full([1, 2, 4], 1.0f32);
/// let k = Tensor::full([3, 1, 2, 4], 1.0);
/// let v = Tensor::from_fn([3, 1, 2, 4], |[page, _, key, _]| (2 * page + key) as f32);
/// let (table, lengths) = (Tensor::from_vec(vec![2, 0], [1, 2]), Tensor::from_vec(vec![3], [1]));
/// let mut o = Tensor::zeros([1, 2, 4]);
/// paged_attention(&q, &k, &v, &table, &lengths, &mut o)?;
/// assert_eq!(o.get([0, 0, 0]), 3.0); // the mean of keys 4, 5 and 0
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit]
pub fn paged_attention<T: Element>(
    #[shape(dyn B, H, D)] q: &Tensor<T, 3>,
    #[shape(dyn P, G, PAGE, D)] k: &Tensor<T, 4>,
    #[shape(dyn P, G, PAGE, D)] v: &Tensor<T, 4>,
    #[shape(dyn B, dyn N)] table: &Tensor<i32, 2>,
    #[shape(dyn B)] lengths: &Tensor<i32, 1>,
    #[out]
    #[shape(dyn B, H, D)]
    o: &mut Tensor<T, 3>,
) {
    static_assert!(H % G == 0, "the heads of queries are a multiple of the heads of keys");
    let group = H / G;
    let scale = LOG2_E / (D as f32).sqrt();
    for (b, g) in grid(B, G) {
        let length = lengths.get([b]) as i64;
        assert!(length >= 0 && length <= N * PAGE, "a length counts keys in the pages of a sequence");
        let queries = scaled_queries(q.at(b).tile([g * group, 0], [group, D]), scale);
        let mut maxima = Tile::full([group, 1], f32::MIN);
        let mut sums = Tile::zeros([group, 1]);
        let mut acc = Tile::zeros([group, D]);
        for j in range(0, length, PAGE) {
            let page = table.get([b, j / PAGE]) as i64;
            assert!(page >= 0 && page < P, "the table holds numbers of pages");
            let valid = PAGE.min(length - j);
            let keys = k.at(page).at(g).tile([0, 0], [PAGE, D]).set_valid([valid, D]);
            let values = v.at(page).at(g).tile([0, 0], [PAGE, D]).set_valid([valid, D]);
            let scores = scaled_scores(queries, keys, scale);
            (maxima, sums, acc) = attend_base_2(maxima, sums, acc, scores, values);
        }
        o.at_mut(b).store([g * group, 0], attended(sums, acc).cast::<T>());
    }
}
