//! The kernels that are measured, and what they are compared with.

use pypto::prelude::*;

#[pypto::jit]
pub fn product(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(matmul(a, b));
}

#[pypto::jit(meta(TM = 16))]
pub fn softmax(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

#[pypto::function(inline)]
fn gelu(x: Tile<f32>) -> Tile<f32> {
    0.5 * x * (1.0 + (x * std::f32::consts::FRAC_1_SQRT_2).erf())
}

#[pypto::jit]
pub fn ffn(
    #[shape(M, D)] x: &Tensor<f32, 2>,
    #[shape(D, F)] w1: &Tensor<f32, 2>,
    #[shape(1, F)] b1: &Tensor<f32, 2>,
    #[shape(F, D)] w2: &Tensor<f32, 2>,
    #[shape(1, D)] b2: &Tensor<f32, 2>,
    #[out]
    #[shape(M, D)]
    y: &mut Tensor<f32, 2>,
) {
    let hidden = gelu(matmul(x, w1) + b1);
    y.set(matmul(hidden, w2) + b2);
}

#[pypto::jit]
pub fn increment(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x + 1.0);
}

/// Attention over `H` heads that lie one below the other: `q`, `k`, `v` and `o` have `H * S` rows.
#[pypto::jit(meta(H = 8, BQ = 64, BK = 64))]
pub fn attention(
    #[shape(R, D)] q: &Tensor<f32, 2>,
    #[shape(R, D)] k: &Tensor<f32, 2>,
    #[shape(R, D)] v: &Tensor<f32, 2>,
    #[out]
    #[shape(R, D)]
    o: &mut Tensor<f32, 2>,
) {
    let s = R / H;
    for (h, i) in grid(H, s / BQ) {
        let first = h * s + i * BQ;
        let queries = q.tile([first, 0], [BQ, D]) * 0.125;
        let mut highest = Tile::full([BQ, 1], -1e30f32);
        let mut total = Tile::<f32>::zeros([BQ, 1]);
        let mut sum = Tile::<f32>::zeros([BQ, D]);
        for j in 0..s / BK {
            let scores = matmul(queries, k.tile([h * s + j * BK, 0], [BK, D]).t());
            let higher = highest.max(scores.row_max());
            let weights = (scores - higher).exp();
            let decay = (highest - higher).exp();
            total = total * decay + weights.row_sum();
            sum = sum * decay + matmul(weights, v.tile([h * s + j * BK, 0], [BK, D]));
            highest = higher;
        }
        o.store([first, 0], sum / total);
    }
}

/// The floor: the loop that one writes first.
pub fn plain_softmax(x: &[f32], y: &mut [f32], columns: usize) {
    for (x, y) in x.chunks_exact(columns).zip(y.chunks_exact_mut(columns)) {
        let highest = x.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
        let mut total = 0.0;
        for (x, y) in x.iter().zip(y.iter_mut()) {
            *y = (x - highest).exp();
            total += *y;
        }
        y.iter_mut().for_each(|y| *y /= total);
    }
}

/// The peer: the `gemm` crate, row-major.
pub fn peer_product(a: &[f32], b: &[f32], c: &mut [f32], n: usize, threads: usize) {
    let parallelism = if threads == 1 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(threads) };
    let row = n as isize;
    // SAFETY: three square row-major matrices of `n * n` elements, `c` exclusively borrowed.
    unsafe {
        gemm::gemm(
            n,
            n,
            n,
            c.as_mut_ptr(),
            1,
            row,
            false,
            a.as_ptr(),
            1,
            row,
            b.as_ptr(),
            1,
            row,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}
