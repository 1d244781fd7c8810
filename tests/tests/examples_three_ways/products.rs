//! Kernels with matrix products, and the orchestration.

use pypto::prelude::*;
use pypto_tests::examples::{ffn, fused_linear, matmul, split_k_matmul, task_graph};

use crate::agree::Depth::{EveryPass, ThreeWays};
use crate::agree::three_ways;

/// Rows, contraction, columns. The tiled product cuts them by 128, 256 and 256.
const EXTENTS: [[i64; 3]; 8] =
    [[19, 23, 29], [0, 4, 5], [4, 0, 5], [3, 7, 0], [1, 1, 1], [1, 67, 31], [61, 1, 33], [65, 64, 63]];

/// As many, about the tiles of the tiled product.
const AROUND_TILES: [[i64; 3]; 2] = [[127, 257, 255], [129, 255, 257]];

#[test]
fn matmul_tiled() {
    for (number, [m, k, n]) in EXTENTS.into_iter().chain(AROUND_TILES).enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            matmul::matmul_tiled,
            |fill| [&fill.tensor(1, [m, k]), &fill.tensor(2, [k, n])],
            [m, n],
            f32
        );
    }
}

#[test]
fn matmul_whole() {
    for (number, [m, k, n]) in EXTENTS.into_iter().chain(AROUND_TILES).enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            matmul::matmul_whole,
            |fill| [&fill.tensor(1, [m, k]), &fill.tensor(2, [k, n])],
            [m, n],
            f32
        );
    }
}

#[test]
fn fused_linear() {
    for (number, [m, k, n]) in EXTENTS.into_iter().enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            fused_linear::fused_linear,
            |fill| [&fill.tensor(1, [m, k]), &fill.tensor(2, [k, n]), &fill.tensor(3, [1, n])],
            [m, n],
            f32
        );
    }
}

#[test]
fn ffn() {
    for (number, [m, d, f]) in EXTENTS.into_iter().enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            ffn::ffn,
            |fill| [
                &fill.tensor(1, [m, d]),
                &fill.tensor(2, [d, f]),
                &fill.tensor(3, [1, f]),
                &fill.tensor(4, [f, d]),
                &fill.tensor(5, [1, d]),
            ],
            [m, d],
            f32
        );
    }
}

/// The tensor's elements rounded to another type.
fn narrow<T: Element>(x: &Tensor<f32, 2>) -> Tensor<T, 2> {
    let mut y = Tensor::zeros(x.dims());
    y.set(x.cast::<T>());
    y
}

fn widens<T: Element>() {
    for [m, k, n] in EXTENTS {
        three_ways!(
            ThreeWays,
            matmul::matmul_widening::<T>,
            |fill| [&narrow::<T>(&fill.tensor(1, [m, k])), &narrow::<T>(&fill.tensor(2, [k, n]))],
            [m, n],
            f32
        );
    }
}

#[test]
fn matmul_widening() {
    widens::<f16>();
    widens::<bf16>();
}

#[test]
fn split_k_matmul() {
    // Fewer parts than are asked for, as many, and a last one that is cut off.
    for (number, [m, k, n]) in
        [[19, 70, 29], [3, 1, 5], [2, 9, 3], [65, 512, 63], [64, 700, 65]].into_iter().enumerate()
    {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            split_k_matmul::split_k_matmul,
            |fill| [&fill.tensor(1, [m, k]), &fill.tensor(2, [k, n])],
            [m, n],
            f32
        );
    }
}

#[test]
fn swiglu() {
    for (number, [m, d, f]) in EXTENTS.into_iter().enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            ffn::swiglu,
            |fill| [&fill.tensor(1, [m, d]), &fill.tensor(2, [d, f]), &fill.tensor(3, [d, f]), &fill.tensor(4, [f, d]),],
            [m, d],
            f32
        );
    }
}

/// Rows are dispatched by 32, so they are multiples of that.
#[test]
fn task_graph() {
    for (number, [m, k, n]) in [[64, 7, 13], [32, 1, 1], [96, 67, 31], [0, 3, 5], [32, 0, 4]].into_iter().enumerate() {
        three_ways!(
            if number == 0 { EveryPass } else { ThreeWays },
            task_graph::layer,
            |fill| [&fill.tensor(1, [m, k]), &fill.tensor(2, [k, n]), &fill.tensor(3, [1, n])],
            [m, n],
            f32
        );
    }
}
