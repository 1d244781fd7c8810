//! A product of few rows and columns with a long contraction: parts of K are summed side by side, then added up. With
//! one task for each tile of the result most cores would have nothing to do.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, matmul_f64, max_error, random, report, run, wide};

#[pypto::jit(meta(TM = 64, TN = 64, PARTS = 8))]
pub fn split_k_matmul(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    // The last part is cut off at the end of K; none is empty.
    let part = ceil_div(K, PARTS);
    let parts = ceil_div(K, part);
    let mut sums = Tensor::<f32, 3>::temp([parts, M, N]);
    for at in tiles([parts, M, N], [1, TM, TN]) {
        let (p, i, j) = (at.offset(0), at.offset(1), at.offset(2));
        let k = p * part;
        sums.at_mut(p).store([i, j], matmul(a.tile([i, k], [TM, part]), b.tile([k, j], [part, TN])));
    }
    for at in tiles([M, N], [TM, TN]) {
        let mut sum = sums.at(0).load(at);
        for p in 1..parts {
            sum += sums.at(p).load(at);
        }
        c.store(at, sum);
    }
}

fn check(m: i64, k: i64, n: i64) -> Outcome {
    let (a, b) = (random([m, k], 24), random([k, n], 25));
    let mut c = Tensor::zeros([m, n]);
    let time = best_time(|| run!(split_k_matmul; &a, &b, &mut c))?;
    let expected = matmul_f64(&wide(&a), &wide(&b), m as usize, k as usize, n as usize);
    report(&format!("split-K matmul {m}x{k}x{n}"), max_error(&c, &expected), 1e-7 * k as f64, time)
}

pub fn main() -> Outcome {
    check(64, 4096, 64)?;
    check(33, 1000, 70)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
