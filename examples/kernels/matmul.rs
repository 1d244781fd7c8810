//! Matrix product twice: tile by tile with an accumulator, and as one line over whole tensors.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, matmul_f64, max_error, random, report, run, wide};

#[pypto::jit(meta(TM = 128, TN = 256, TK = 256))]
pub fn matmul_tiled(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, TN]) {
        let (i, j) = (at.offset(0), at.offset(1));
        let mut acc = Tile::zeros([TM, TN]);
        for k in range(0, K, TK) {
            acc = acc.mma(a.tile([i, k], [TM, TK]), b.tile([k, j], [TK, TN]));
        }
        c.store(at, acc);
    }
}

#[pypto::jit]
pub fn matmul_whole(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(matmul(a, b));
}

fn check(m: i64, k: i64, n: i64) -> Outcome {
    let (a, b) = (random([m, k], 10), random([k, n], 11));
    let expected = matmul_f64(&wide(&a), &wide(&b), m as usize, k as usize, n as usize);
    let bound = 2e-7 * (k as f64);
    let mut c = Tensor::zeros([m, n]);
    let time = best_time(|| run!(matmul_tiled; &a, &b, &mut c))?;
    report(&format!("matmul, tiles {m}x{k}x{n}"), max_error(&c, &expected), bound, time)?;
    let mut c = Tensor::zeros([m, n]);
    let time = best_time(|| run!(matmul_whole; &a, &b, &mut c))?;
    report(&format!("matmul, whole {m}x{k}x{n}"), max_error(&c, &expected), bound, time)
}

fn main() -> Outcome {
    check(512, 512, 512)?;
    check(257, 300, 129)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
