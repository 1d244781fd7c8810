//! Attention of one query a head to many keys, as when a text goes on token by token.

use super::inline::{attend_base_2, attended};
use crate::prelude::*;
use std::f32::consts::LOG2_E;

/// Attention of one query a head, `q` of `[B, H, D]`, to `k` and `v`, `[B, G, L, D]`, of one float type: each of the G heads of
/// keys serves H / G heads of queries. `lengths`, `[B]`, says how many of the L keys of a sequence count. Scores are scaled by
/// `1 / sqrt(D)` and computed in f32; a sequence without keys gives zeros.
///
/// Keys and values are read once, in blocks of `BK`. Those of a head are split in up to `PARTS` parts side by side, so that one long
/// sequence keeps several threads busy.
///
/// # Errors
/// H is a multiple of G. A length outside `0..=L` stops the kernel.
///
/// ```
/// use pypto::kernels::attention_decode;
/// use pypto::prelude::*;
///
/// let (q, k) = (Tensor::full([1, 2, 4], 1.0f32), Tensor::full([1, 1, 5, 4], 1.0));
/// let v = Tensor::from_fn([1, 1, 5, 4], |[_, _, key, _]| key as f32);
/// let mut o = Tensor::zeros([1, 2, 4]);
/// attention_decode(&q, &k, &v, &Tensor::from_vec(vec![3], [1]), &mut o)?;
/// assert_eq!(o.get([0, 0, 0]), 1.0); // the mean of keys 0, 1 and 2
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(BK = 512, PARTS = 4))]
pub fn attention_decode<T: Element>(
    #[shape(dyn B, H, D)] q: &Tensor<T, 3>,
    #[shape(dyn B, G, dyn L, D)] k: &Tensor<T, 4>,
    #[shape(dyn B, G, dyn L, D)] v: &Tensor<T, 4>,
    #[shape(dyn B)] lengths: &Tensor<i32, 1>,
    #[out]
    #[shape(dyn B, H, D)]
    o: &mut Tensor<T, 3>,
) {
    static_assert!(H % G == 0, "the heads of queries are a multiple of the heads of keys");
    let group = H / G;
    let scale = LOG2_E / (D as f32).sqrt();
    let mut all_maxima = Tensor::<f32, 4>::temp([B, G, PARTS * group, 1]);
    let mut all_sums = Tensor::<f32, 4>::temp([B, G, PARTS * group, 1]);
    let mut all_acc = Tensor::<f32, 4>::temp([B, G, PARTS * group, D]);
    for at in tiles([B, G, PARTS], [1, 1, 1]) {
        let (b, g, part) = (at.offset(0), at.offset(1), at.offset(2));
        let length = lengths.get([b]) as i64;
        assert!(length >= 0 && length <= L, "a length counts keys of a sequence");
        let size = ceil_div(ceil_div(length, PARTS), BK) * BK;
        let end = length.min((part + 1) * size);
        let queries = q.at(b).tile([g * group, 0], [group, D]);
        let mut maxima = Tile::full([group, 1], f32::MIN);
        let mut sums = Tile::zeros([group, 1]);
        let mut acc = Tile::zeros([group, D]);
        for j in range(part * size, end, BK) {
            let valid = BK.min(end - j);
            let keys = k.at(b).at(g).tile([j, 0], [BK, D]).set_valid([valid, D]);
            let values = v.at(b).at(g).tile([j, 0], [BK, D]).set_valid([valid, D]);
            let scores = matmul(queries, keys.t()).cast::<f32>() * scale;
            (maxima, sums, acc) = attend_base_2(maxima, sums, acc, scores, values);
        }
        all_maxima.at_mut(b).at_mut(g).store([part * group, 0], maxima);
        all_sums.at_mut(b).at_mut(g).store([part * group, 0], sums);
        all_acc.at_mut(b).at_mut(g).store([part * group, 0], acc);
    }
    for (b, g) in grid(B, G) {
        let mut maxima = Tile::full([group, 1], f32::MIN);
        let mut sums = Tile::zeros([group, 1]);
        let mut acc = Tile::zeros([group, D]);
        for part in 0..PARTS {
            let own = all_maxima.at(b).at(g).tile([part * group, 0], [group, 1]);
            let highest = maxima.max(own);
            let (before, now) = ((maxima - highest).exp2(), (own - highest).exp2());
            sums = sums * before + all_sums.at(b).at(g).tile([part * group, 0], [group, 1]) * now;
            acc = acc * before + all_acc.at(b).at(g).tile([part * group, 0], [group, D]) * now;
            maxima = highest;
        }
        o.at_mut(b).store([g * group, 0], attended(sums, acc).cast::<T>());
    }
}
