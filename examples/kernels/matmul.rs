//! Matrix products: tile by tile with an accumulator, as one line over whole tensors, and of 16-bit floats into f32.

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

/// Operands are 16-bit floats; products are exact, and sums are in f32.
#[pypto::jit]
pub fn matmul_widening<T: Element>(
    #[shape(M, K)] a: &Tensor<T, 2>,
    #[shape(K, N)] b: &Tensor<T, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(matmul(a, b).cast::<f32>());
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

fn check_widening<T: Element>(n: i64) -> Outcome {
    let narrow = |x: Tensor<f32, 2>| {
        let mut y = Tensor::<T, 2>::zeros(x.dims());
        y.set(x.cast::<T>());
        y
    };
    let (a, b) = (narrow(random([n, n], 12)), narrow(random([n, n], 13)));
    let mut c = Tensor::zeros([n, n]);
    let time = best_time(|| run!(matmul_widening::<T>; &a, &b, &mut c))?;
    // What the operands hold after rounding is exact in f32.
    let widened = |x: &Tensor<T, 2>| {
        let mut y = Tensor::zeros(x.dims());
        y.set(x.cast::<f32>());
        wide(&y)
    };
    let expected = matmul_f64(&widened(&a), &widened(&b), n as usize, n as usize, n as usize);
    let name = format!("matmul, {} to f32 {n}x{n}x{n}", T::DTYPE);
    report(&name, max_error(&c, &expected), 2e-7 * n as f64, time)
}

pub fn main() -> Outcome {
    for n in [64, 256, 512] {
        check(n, n, n)?;
        check_widening::<f16>(n)?;
        check_widening::<bf16>(n)?;
    }
    check(257, 300, 129)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
