//! Flash attention: whole and ragged lengths, causal and not. Attention to keys and values in pages.

use pypto::prelude::*;
use pypto_tests::examples::flash_attention::flash_attention;
use pypto_tests::examples::paged_attention::{page_table, paged_attention};

use crate::agree::Depth::{EveryPass, ThreeWays};
use crate::agree::three_ways;

/// Heads, queries, keys and width; blocks are of 64 queries and 64 keys.
const EXTENTS: [[i64; 4]; 9] = [
    [2, 67, 71, 5],
    [1, 1, 1, 1],
    [0, 3, 4, 5],
    [2, 0, 3, 4],
    [1, 3, 4, 0],
    [1, 5, 67, 13],
    [1, 63, 65, 16],
    [1, 64, 64, 8],
    [1, 65, 63, 8],
];

fn agrees(extents: impl IntoIterator<Item = [i64; 4]>, causal: i64) {
    for (number, [h, s, t, d]) in extents.into_iter().enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            flash_attention.with(meta! { CAUSAL: causal }),
            |fill| [&fill.tensor(1, [h, s, d]), &fill.tensor(2, [h, t, d]), &fill.tensor(3, [h, t, d])],
            [h, s, d],
            f32
        );
    }
}

#[test]
fn flash_attention_of_every_length() {
    agrees(EXTENTS, 0);
}

#[test]
fn causal_flash_attention_of_every_length() {
    agrees(EXTENTS, 1);
}

/// Without keys every row is `0 / 0`.
#[test]
fn flash_attention_without_keys() {
    agrees([[2, 5, 0, 3]], 0);
    agrees([[2, 5, 0, 3]], 1);
}

/// Blocks whose rows lie across the lanes: whole and ragged ones, more keys than are unrolled, few columns, and queries that are less than
/// a block.
#[test]
fn flash_attention_with_rows_across_lanes() {
    for (bq, bk, [h, s, t, d]) in [
        (16, 32, [2, 33, 70, 16]),
        (16, 320, [1, 20, 650, 32]),
        (24, 7, [1, 30, 20, 17]),
        (32, 64, [2, 64, 128, 48]),
        (64, 33, [1, 130, 99, 64]),
        (16, 16, [1, 3, 40, 2]),
    ] {
        for causal in [0, 1] {
            three_ways!(
                ThreeWays,
                flash_attention.with(meta! { BQ: bq, BK: bk, CAUSAL: causal }),
                |fill| [&fill.tensor(1, [h, s, d]), &fill.tensor(2, [h, t, d]), &fill.tensor(3, [h, t, d])],
                [h, s, d],
                f32
            );
        }
    }
}

/// Weights that are kept until their sum is known, of one block of keys; in f16 where they are multiplied.
#[pypto::jit(meta(BQ = 16))]
fn attention_of_one_block(
    #[shape(S, D)] q: &Tensor<f32, 2>,
    #[shape(T, D)] k: &Tensor<f32, 2>,
    #[shape(1, T)] bias: &Tensor<f32, 2>,
    #[shape(T, D)] v: &Tensor<f32, 2>,
    #[out]
    #[shape(S, D)]
    o: &mut Tensor<f32, 2>,
) {
    for at in tiles([S, D], [BQ, D]) {
        let scores = matmul(q.load(at) * 0.5, k.tile([0, 0], [T, D]).t()) + bias.tile([0, 0], [1, T]);
        let weights = (scores - scores.row_max()).exp();
        let weights = weights / weights.row_sum();
        let smallest = weights.row_min();
        let product = matmul(weights.cast::<f16>(), v.tile([0, 0], [T, D]).cast::<f16>());
        o.store(at, product * 2.0 + smallest);
    }
}

/// A tile that lies row by row is added in each step to sums that do not, beside values of whole rows that are changed in place.
#[pypto::jit(meta(BQ = 16, BK = 8))]
fn attention_with_drift(
    #[shape(S, D)] q: &Tensor<f32, 2>,
    #[shape(T, D)] k: &Tensor<f32, 2>,
    #[shape(S, D)] drift: &Tensor<f32, 2>,
    #[out]
    #[shape(S, D)]
    o: &mut Tensor<f32, 2>,
) {
    for at in tiles([S, D], [BQ, D]) {
        let (queries, step) = (q.load(at) * 0.5, drift.load(at));
        let mut total = Tile::full([BQ, 1], 1.0f32);
        let mut sum = Tile::<f32>::zeros([BQ, D]);
        for j in 0..T / BK {
            let keys = k.tile([j * BK, 0], [BK, D]);
            let scores = matmul(queries, keys.t());
            let weights = (scores - scores.row_max()).exp();
            let decay = weights.row_sum() * 0.125;
            sum = sum * decay + step;
            total *= decay;
            sum += matmul(weights, keys);
        }
        o.store(at, sum / total);
    }
}

#[test]
fn attention_whose_sums_take_a_tile_in_rows() {
    for [s, t, d] in [[16, 32, 40], [33, 16, 17], [5, 24, 64]] {
        three_ways!(
            ThreeWays,
            attention_with_drift,
            |fill| [&fill.tensor(1, [s, d]), &fill.tensor(2, [t, d]), &fill.tensor(3, [s, d])],
            [s, d],
            f32
        );
    }
}

#[test]
fn attention_that_keeps_its_weights() {
    for [s, t, d] in [[32, 64, 16], [17, 70, 9], [16, 300, 8], [5, 1, 3]] {
        three_ways!(
            ThreeWays,
            attention_of_one_block,
            |fill| [&fill.tensor(1, [s, d]), &fill.tensor(2, [t, d]), &fill.tensor(3, [1, t]), &fill.tensor(4, [t, d])],
            [s, d],
            f32
        );
    }
}

/// Blocks of one size compute what blocks of another do, up to the order of the sums, and each way alike.
#[test]
fn flash_attention_of_other_blocks() {
    three_ways!(
        ThreeWays,
        flash_attention.with(meta! { BQ: 5, BK: 7 }),
        |fill| [&fill.tensor(1, [2, 11, 6]), &fill.tensor(2, [2, 23, 6]), &fill.tensor(3, [2, 23, 6])],
        [2, 11, 6],
        f32
    );
}

/// Lengths of one position, of whole pages, of one less and one more.
#[test]
fn paged_attention_of_every_length() {
    for (number, (lengths, [h, d, page])) in
        [(vec![1i64, 7, 8, 9, 31], [3, 5, 8]), (vec![16], [1, 1, 16]), (vec![5, 40], [4, 16, 16])]
            .into_iter()
            .enumerate()
    {
        let b = lengths.len() as i64;
        let (table, pages) = page_table(&lengths, page);
        let filled = Tensor::from_fn([b], |[i]| lengths[i as usize] as i32);
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            paged_attention,
            |fill| [
                &fill.tensor(1, [b, h, d]),
                &fill.tensor(2, [pages, page, d]),
                &fill.tensor(3, [pages, page, d]),
                &table,
                &filled
            ],
            [b, h, d],
            f32
        );
    }
}
