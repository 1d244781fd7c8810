//! Tiles of one column between reductions: compiled code computes them a vector of rows at a time, with the bits of the plain
//! Rust body.

use pypto::prelude::*;

#[pypto::jit(meta(TM = 16))]
fn online(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(M, 1)] last: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, 1)]
    total: &mut Tensor<f32, 2>,
) {
    for i in range(0, M, TM) {
        let t = x.tile([i, 0], [TM, N]);
        let before = last.tile([i, 0], [TM, 1]);
        let highest = before.max(t.row_max());
        let weights = (t - highest).exp();
        let decay = (before - highest).exp();
        let sum = weights.row_sum() * decay + (highest - 1.0).tanh();
        y.store([i, 0], weights * decay / sum);
        total.store([i, 0], sum);
    }
}

#[test]
fn chains_between_reductions() {
    for (m, n) in [(0, 5), (1, 1), (7, 3), (16, 64), (17, 33), (64, 64), (100, 40)] {
        let (x, last) = (pattern([m, n]), pattern([m, 1]));
        let outputs = || (Tensor::<f32, 2>::zeros([m, n]), Tensor::<f32, 2>::zeros([m, 1]));
        let ((mut y, mut total), (mut wanted_y, mut wanted)) = (outputs(), outputs());
        for tile in [4, 8, 16, 24] {
            online.with(meta! {TM: tile})(&x, &last, &mut y, &mut total).unwrap();
            online.with(meta! {TM: tile}).eager((&x, &last, &mut wanted_y, &mut wanted));
            assert_eq!(bits(&y), bits(&wanted_y), "{m} x {n} by {tile}");
            assert_eq!(bits(&total), bits(&wanted), "{m} x {n} by {tile}");
        }
    }
}

#[pypto::jit]
fn column(
    #[shape(M, 1)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, 1)]
    y: &mut Tensor<f32, 2>,
) {
    for i in range(0, M, 32) {
        let t = x.tile([i, 0], [32, 1]);
        let positive = t.gt(0.25);
        y.store([i, 0], positive.select(t.exp(), (t * t).sqrt() - 1.0));
    }
}

#[test]
fn tiles_of_one_column() {
    for m in [1, 31, 32, 33, 200] {
        let x = pattern([m, 1]);
        let (mut y, mut wanted) = (Tensor::<f32, 2>::zeros([m, 1]), Tensor::<f32, 2>::zeros([m, 1]));
        column(&x, &mut y).unwrap();
        column.eager((&x, &mut wanted));
        assert_eq!(y.to_vec(), wanted.to_vec(), "{m}");
    }
}

/// Numbers in [-4, 4), some of them equal.
fn pattern(shape: [i64; 2]) -> Tensor<f32, 2> {
    Tensor::from_fn(shape, |[i, j]| ((i * 37 + j * 101) % 64 - 32) as f32 / 8.0)
}

fn bits(tensor: &Tensor<f32, 2>) -> Vec<u32> {
    tensor.to_vec().into_iter().map(f32::to_bits).collect()
}
