//! Kernels that reduce rows.

use pypto::prelude::*;
use pypto_tests::examples::{dynamic_rows, layer_norm, rms_norm, softmax};

use crate::agree::Depth::{EveryPass, ThreeWays};
use crate::agree::three_ways;

/// Rows and columns around tiles of 8, 16, 32 and 64 rows.
const EXTENTS: [[i64; 2]; 9] = [[0, 5], [3, 0], [1, 1], [1, 67], [31, 13], [32, 8], [33, 17], [63, 64], [65, 127]];

#[test]
fn softmax() {
    three_ways!(EveryPass, softmax::softmax, |fill| [&fill.tensor(1, [70, 19])], [70, 19], f32);
    for [m, n] in EXTENTS {
        three_ways!(ThreeWays, softmax::softmax, |fill| [&fill.tensor(1, [m, n])], [m, n], f32);
    }
}

#[test]
fn softmax_of_dynamic_rows() {
    three_ways!(EveryPass, dynamic_rows::softmax, |fill| [&fill.tensor(1, [37, 19])], [37, 19], f32);
    for [m, n] in EXTENTS {
        three_ways!(ThreeWays, dynamic_rows::softmax, |fill| [&fill.tensor(1, [m, n])], [m, n], f32);
    }
}

#[test]
fn layer_norm() {
    for (number, [m, n]) in [[35, 19]].into_iter().chain(EXTENTS).enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            layer_norm::layer_norm,
            |fill| [&fill.tensor(1, [m, n]), &fill.tensor(2, [1, n]), &fill.tensor(3, [1, n])],
            [m, n],
            f32
        );
    }
}

#[test]
fn rms_norm_of_f32() {
    for (number, [m, n]) in [[35, 19]].into_iter().chain(EXTENTS).enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            rms_norm::rms_norm::<f32>,
            |fill| [&fill.tensor(1, [m, n]), &fill.tensor(2, [1, n])],
            [m, n],
            f32
        );
    }
}

#[test]
fn rms_norm_of_f16() {
    for (number, [m, n]) in [[35, 19]].into_iter().chain(EXTENTS).enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            rms_norm::rms_norm::<f16>,
            |fill| [&fill.tensor(1, [m, n]), &fill.tensor(2, [1, n])],
            [m, n],
            f16
        );
    }
}

#[test]
fn rms_norm_of_bf16() {
    three_ways!(
        ThreeWays,
        rms_norm::rms_norm::<bf16>,
        |fill| [&fill.tensor(1, [33, 17]), &fill.tensor(2, [1, 17])],
        [33, 17],
        bf16
    );
}
