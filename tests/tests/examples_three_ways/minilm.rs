//! The transformer layer: at its real size on its real data, and at small sizes.

use pypto::prelude::*;
use pypto_tests::examples::minilm_layer::{minilm_layer, read};
use safetensors::SafeTensors;

use crate::agree::Depth::{self, EveryPass, ThreeWays};
use crate::agree::three_ways;

/// Sentences, tokens, features (a multiple of the 12 heads), and width of the feed-forward part.
fn agrees(depth: Depth, [b, s, d, f]: [i64; 4]) {
    let r = b * s;
    three_ways!(
        depth,
        minilm_layer,
        |fill| [
            &fill.tensor(1, [r, d]),
            &fill.tensor(2, [b, s]),
            &fill.tensor(3, [d, d]),
            &fill.tensor(4, [1, d]),
            &fill.tensor(5, [d, d]),
            &fill.tensor(6, [1, d]),
            &fill.tensor(7, [d, d]),
            &fill.tensor(8, [1, d]),
            &fill.tensor(9, [d, d]),
            &fill.tensor(10, [1, d]),
            &fill.tensor(11, [1, d]),
            &fill.tensor(12, [1, d]),
            &fill.tensor(13, [f, d]),
            &fill.tensor(14, [1, f]),
            &fill.tensor(15, [d, f]),
            &fill.tensor(16, [1, d]),
            &fill.tensor(17, [1, d]),
            &fill.tensor(18, [1, d]),
        ],
        [r, d],
        f32
    );
}

#[test]
fn small_layers() {
    agrees(EveryPass, [2, 5, 24, 31]);
    agrees(ThreeWays, [1, 1, 12, 1]);
    agrees(ThreeWays, [3, 17, 36, 65]);
    agrees(ThreeWays, [0, 5, 12, 7]);
    agrees(ThreeWays, [2, 0, 12, 7]);
}

#[test]
fn the_trained_layer() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/data/minilm_layer0.safetensors");
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensor = |name: &str| read(&file, name).unwrap();
    let (x, mask) = (tensor("input.hidden"), tensor("input.mask"));
    let (wq, bq) = (tensor("attention.self.query.weight"), tensor("attention.self.query.bias"));
    let (wk, bk) = (tensor("attention.self.key.weight"), tensor("attention.self.key.bias"));
    let (wv, bv) = (tensor("attention.self.value.weight"), tensor("attention.self.value.bias"));
    let (wo, bo) = (tensor("attention.output.dense.weight"), tensor("attention.output.dense.bias"));
    let (g1, h1) = (tensor("attention.output.LayerNorm.weight"), tensor("attention.output.LayerNorm.bias"));
    let (w1, b1) = (tensor("intermediate.dense.weight"), tensor("intermediate.dense.bias"));
    let (w2, b2) = (tensor("output.dense.weight"), tensor("output.dense.bias"));
    let (g2, h2) = (tensor("output.LayerNorm.weight"), tensor("output.LayerNorm.bias"));
    three_ways!(
        ThreeWays,
        minilm_layer,
        |_fill| [&x, &mask, &wq, &bq, &wk, &bk, &wv, &bv, &wo, &bo, &g1, &h1, &w1, &b1, &w2, &b2, &g2, &h2],
        x.dims(),
        f32
    );
}
