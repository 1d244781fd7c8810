//! The transformer layer: at its real size on its real data, and at small sizes.

use pypto::prelude::*;
use pypto_tests::examples::minilm_layer::{Layer, LayerNorm, Linear, minilm_layer, read, read_layer};
use pypto_tests::fill::Contents;
use safetensors::SafeTensors;

use crate::agree::Depth::{self, EveryPass, ThreeWays};
use crate::agree::three_ways;

/// Weights of a small layer: `d` features, a feed-forward part of width `f`.
fn layer(fill: Contents<f32>, d: i64, f: i64) -> Layer {
    let linear = |seed: u64, [rows, columns]: [i64; 2]| Linear {
        weight: fill.tensor(seed, [rows, columns]),
        bias: fill.tensor(seed + 1, [1, rows]),
    };
    let norm = |seed: u64| LayerNorm { gamma: fill.tensor(seed, [1, d]), beta: fill.tensor(seed + 1, [1, d]) };
    Layer {
        query: linear(3, [d, d]),
        key: linear(5, [d, d]),
        value: linear(7, [d, d]),
        attention: linear(9, [d, d]),
        attention_norm: norm(11),
        up: linear(13, [f, d]),
        down: linear(15, [d, f]),
        output_norm: norm(17),
    }
}

/// Sentences, tokens, features (a multiple of the 12 heads), and width of the feed-forward part.
fn agrees(depth: Depth, [b, s, d, f]: [i64; 4]) {
    let r = b * s;
    three_ways!(
        depth,
        minilm_layer,
        |fill| [&fill.tensor(1, [r, d]), &fill.tensor(2, [b, s]), &layer(fill, d, f)],
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
    let layer = read_layer(&file).unwrap();
    three_ways!(ThreeWays, minilm_layer, |_fill| [&x, &mask, &layer], x.dims(), f32);
}
