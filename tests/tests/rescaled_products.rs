//! Products that are added to an accumulator whose rows are scaled, in native code against eager: bit for bit, whatever else is done with the
//! accumulator and the factors.

use pypto::prelude::*;

/// Scores of blocks of keys with their running maxima, as in attention: rows lie across lanes.
#[pypto::jit(meta(BQ = 64, BK = 32, AGAIN = 0))]
fn running(
    #[shape(dyn S, D)] q: &Tensor<f32, 2>,
    #[shape(dyn L, D)] k: &Tensor<f32, 2>,
    #[shape(dyn L, E)] v: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn S, E)]
    o: &mut Tensor<f32, 2>,
    #[out]
    #[shape(dyn S, E)]
    before: &mut Tensor<f32, 2>,
) {
    for i in range(0, S, BQ) {
        let queries = q.tile([i, 0], [BQ, D]);
        let mut maxima = Tile::full([BQ, 1], -1.0f32);
        let mut acc = Tile::full([BQ, E], 0.5f32);
        for j in range(0, L, BK) {
            let scores = matmul(queries, k.tile([j, 0], [BK, D]).t());
            let highest = maxima.max(scores.row_max());
            let weights = (scores - highest).exp();
            let factor = (maxima - highest).exp();
            if AGAIN == 1 {
                // The accumulator is used after it was scaled, and so is the factor.
                before.store([i, 0], acc);
                acc = acc * factor + matmul(weights, v.tile([j, 0], [BK, E]));
                acc += factor;
            } else if AGAIN == 2 {
                // The scaled accumulator itself is used again.
                let scaled = acc * factor;
                before.store([i, 0], scaled);
                acc = scaled + matmul(weights, v.tile([j, 0], [BK, E]));
            } else {
                acc = factor * acc + matmul(weights, v.tile([j, 0], [BK, E]));
                before.store([i, 0], acc);
            }
            maxima = highest;
        }
        o.store([i, 0], acc);
    }
}

fn numbers(seed: u32, extents: [i64; 2]) -> Tensor<f32, 2> {
    let mut state = seed;
    Tensor::from_fn(extents, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    })
}

#[test]
fn accumulators_are_scaled_where_products_are_added() {
    for again in 0..3 {
        for [s, l, d, e] in [[64, 64, 32, 64], [128, 96, 16, 32], [75, 70, 24, 40], [17, 33, 8, 7], [1, 1, 1, 1]] {
            let (q, k, v) = (numbers(1, [s, d]), numbers(2, [l, d]), numbers(3, [l, e]));
            let [mut native, mut eager] = [0; 2].map(|_| (Tensor::zeros([s, e]), Tensor::zeros([s, e])));
            running.with(meta! { AGAIN: again })(&q, &k, &v, &mut native.0, &mut native.1).unwrap();
            running.with(meta! { AGAIN: again }).eager((&q, &k, &v, &mut eager.0, &mut eager.1));
            assert_eq!(native.0.as_slice(), eager.0.as_slice(), "{again}: {s} x {l}");
            assert_eq!(native.1.as_slice(), eager.1.as_slice(), "{again}: {s} x {l}");
        }
    }
}
