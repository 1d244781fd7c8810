//! Kernels without reductions.

use pypto::prelude::*;
use pypto_tests::examples::{elementwise, hello_world, rope};

use crate::agree::Depth::{EveryPass, ThreeWays};
use crate::agree::three_ways;

const EXTENTS: [[i64; 2]; 8] = [[130, 17], [0, 5], [6, 0], [1, 1], [1, 127], [127, 3], [128, 129], [129, 131]];

#[test]
fn hello_world() {
    for (number, [m, n]) in EXTENTS.into_iter().enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            hello_world::add,
            |fill| [&fill.tensor(1, [m, n]), &fill.tensor(2, [m, n])],
            [m, n],
            f32
        );
    }
}

#[test]
fn elementwise() {
    for (number, [m, n]) in EXTENTS.into_iter().enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            elementwise::chain,
            |fill| [&fill.tensor(1, [m, n]), 0.7, 0.1],
            [m, n],
            f32
        );
    }
    for scalar in [f32::NAN, f32::INFINITY, -0.0, f32::MAX, 1e-45] {
        three_ways!(ThreeWays, elementwise::chain, |fill| [&fill.tensor(1, [5, 33]), scalar, 0.5], [5, 33], f32);
    }
}

/// Heads, positions and pairs; blocks are of 64 positions.
#[test]
fn rope() {
    for (number, [h, s, e]) in [[2, 67, 5], [1, 0, 3], [0, 4, 3], [3, 64, 16], [2, 1, 1]].into_iter().enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            rope::rope,
            |fill| [&fill.tensor(1, [h, s, 2 * e]), &fill.tensor(2, [s, e]), &fill.tensor(3, [s, e])],
            [h, s, 2 * e],
            f32
        );
    }
}
