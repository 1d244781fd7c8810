//! Tiles that loops carry, in native code against eager: bit for bit, whatever else their values are for, and however many of their rows are
//! valid.

use pypto::prelude::*;

/// Maxima and sums of rows over blocks of columns, one loop for whole blocks and one for the rest, as attention has them.
#[pypto::jit(meta(BR = 64, BC = 32, USE = 0))]
fn two_loops(
    #[shape(dyn M, dyn N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, 1)]
    y: &mut Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, 1)]
    z: &mut Tensor<f32, 2>,
) {
    for i in range(0, M, BR) {
        let start = Tile::full([BR, 1], -2.0f32);
        let mut maxima = start;
        let mut sums = Tile::zeros([BR, 1]);
        let whole = N / BC * BC;
        for j in range(0, whole, BC) {
            let t = x.tile([i, j], [BR, BC]);
            let highest = maxima.max(t.row_max());
            sums = sums * (maxima - highest).exp() + (t - highest).exp().row_sum();
            maxima = highest;
            if USE == 1 {
                // What the loop began with is used inside of it.
                sums += start;
            }
        }
        if USE == 2 {
            // Between the loops as well.
            z.store([i, 0], sums);
        }
        for j in range(whole, N, BC) {
            let t = x.tile([i, j], [BR, BC]);
            let highest = maxima.max(t.row_max());
            sums = sums * (maxima - highest).exp() + (t - highest).exp().row_sum();
            maxima = highest;
        }
        if USE == 3 {
            // And after them.
            sums *= start;
        }
        y.store([i, 0], sums);
        z.store([i, 0], maxima);
    }
}

/// Two tiles that change places in each iteration, around an inner loop that changes one of them.
#[pypto::jit(meta(BR = 32, BC = 16))]
fn nested(
    #[shape(dyn M, dyn N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, 1)]
    y: &mut Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, 1)]
    z: &mut Tensor<f32, 2>,
) {
    for i in range(0, M, BR) {
        let (mut a, mut b) = (Tile::full([BR, 1], 0.5f32), Tile::full([BR, 1], 0.5f32));
        for _ in 0..3 {
            for j in range(0, N, BC) {
                let t = x.tile([i, j], [BR, BC]);
                a = (a - t.row_max()).exp() + t.row_sum() * 0.25;
            }
            let old = a;
            a = b + 1.0;
            b = old;
        }
        y.store([i, 0], a);
        z.store([i, 0], b);
    }
}

/// Products whose rows, columns and steps vary, onto an accumulator that goes through two loops.
#[pypto::jit(meta(BM = 64, BN = 64, BK = 32))]
fn products(
    #[shape(dyn M, dyn K)] a: &Tensor<f32, 2>,
    #[shape(dyn K, dyn N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, dyn N)]
    c: &mut Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, dyn N)]
    half: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [BM, BN]) {
        let (i, j) = (at.offset(0), at.offset(1));
        let mut acc = Tile::full([BM, BN], 0.25f32);
        for k in range(0, K / 2, BK) {
            acc = acc.mma(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]));
        }
        half.store(at, acc);
        for k in range(0, K, BK) {
            let left = a.tile([i, k], [BM, BK]) * 0.5;
            acc = acc.mma(left, b.tile([k, j], [BK, BN]) + 0.125);
        }
        c.store(at, acc);
    }
}

const SIZES: [[i64; 2]; 10] =
    [[64, 64], [128, 96], [75, 70], [17, 33], [1, 1], [63, 32], [33, 31], [100, 129], [5, 200], [0, 7]];

fn numbers(seed: u32, extents: [i64; 2]) -> Tensor<f32, 2> {
    let mut state = seed;
    Tensor::from_fn(extents, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    })
}

/// Bits of both results.
fn bits(results: &[Tensor<f32, 2>; 2]) -> Vec<u32> {
    results.iter().flat_map(|result| result.to_vec()).map(f32::to_bits).collect()
}

fn zeros(extents: [i64; 2]) -> [Tensor<f32, 2>; 2] {
    [(); 2].map(|()| Tensor::zeros(extents))
}

#[test]
fn columns_of_two_loops() {
    for [m, n] in SIZES {
        let x = numbers(7, [m, n]);
        for purpose in 0..4 {
            let [mut native, mut eager] = [(); 2].map(|()| zeros([m, 1]));
            let [y, z] = &mut native;
            two_loops.with(meta! { USE: purpose })(&x, y, z).unwrap();
            let [y, z] = &mut eager;
            two_loops.with(meta! { USE: purpose }).eager((&x, y, z));
            assert_eq!(bits(&native), bits(&eager), "{purpose}: {m} x {n}");
        }
    }
}

#[test]
fn columns_of_nested_loops() {
    for [m, n] in SIZES {
        let x = numbers(8, [m, n]);
        let [mut native, mut eager] = [(); 2].map(|()| zeros([m, 1]));
        let [y, z] = &mut native;
        nested(&x, y, z).unwrap();
        let [y, z] = &mut eager;
        nested.eager((&x, y, z));
        assert_eq!(bits(&native), bits(&eager), "{m} x {n}");
    }
}

#[test]
fn accumulators_of_two_loops() {
    for [m, n] in SIZES {
        for k in [0, 1, 31, 64, 97] {
            let (a, b) = (numbers(9, [m, k]), numbers(10, [k, n]));
            let [mut native, mut eager] = [(); 2].map(|()| zeros([m, n]));
            let [c, half] = &mut native;
            products(&a, &b, c, half).unwrap();
            let [c, half] = &mut eager;
            products.eager((&a, &b, c, half));
            assert_eq!(bits(&native), bits(&eager), "{m} x {n} x {k}");
        }
    }
}
