//! Products of bf16 and i8 with what follows them, of sizes that are no multiples of anything: compiled code gives the bits of the plain
//! Rust body.

use pypto::prelude::*;

/// M, K, N; the last ones have rows enough for blocks of both factors.
const SIZES: [[i64; 3]; 7] =
    [[1, 1, 1], [3, 7, 5], [16, 33, 40], [17, 1, 19], [37, 63, 70], [50, 259, 33], [100, 514, 65]];

/// Integers between -128 and 127, in no order.
fn numbers<const R: usize>(dims: [i64; R], seed: i64) -> Tensor<i8, R> {
    let count: i64 = dims.iter().product();
    Tensor::from_vec((0..count).map(|i| ((i + seed) * 7919 % 251 * 173) as i8).collect(), dims)
}

fn floats<const R: usize>(dims: [i64; R], seed: i64) -> Tensor<bf16, R> {
    let values = numbers(dims, seed);
    Tensor::from_vec(values.as_slice().iter().map(|&x| bf16::from_f32(f32::from(x) / 77.0)).collect(), dims)
}

fn singles<const R: usize>(dims: [i64; R], seed: i64) -> Tensor<f32, R> {
    let values = numbers(dims, seed);
    Tensor::from_vec(values.as_slice().iter().map(|&x| f32::from(x) / 99.0).collect(), dims)
}

fn bits<const R: usize>(x: &Tensor<f32, R>) -> Vec<u32> {
    x.as_slice().iter().map(|x| x.to_bits()).collect()
}

#[pypto::jit]
fn linear(
    #[shape(M, K)] x: &Tensor<bf16, 2>,
    #[shape(K, N)] w: &Tensor<bf16, 2>,
    #[shape(1, N)] bias: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set((matmul(x, w) + bias).relu());
}

#[pypto::jit]
fn transposed(
    #[shape(K, M)] x: &Tensor<bf16, 2>,
    #[shape(N, K)] w: &Tensor<bf16, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(matmul(x.t(), w.t()));
}

#[pypto::jit(meta(TM = 32, TN = 48, TK = 40))]
fn tiled(
    #[shape(M, K)] x: &Tensor<bf16, 2>,
    #[shape(K, N)] w: &Tensor<bf16, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, TN]) {
        let mut sum = Tile::zeros([TM, TN]);
        for k in range(0, K, TK) {
            sum = sum.mma(x.tile([at.offset(0), k], [TM, TK]), w.tile([k, at.offset(1)], [TK, TN]));
        }
        y.store(at, sum);
    }
}

#[pypto::jit]
fn quantized(
    #[shape(M, K)] x: &Tensor<i8, 2>,
    #[shape(K, N)] w: &Tensor<i8, 2>,
    #[shape(M, 1)] scale_x: &Tensor<f32, 2>,
    #[shape(1, N)] scale_w: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(matmul(x, w).cast::<f32>() * scale_x * scale_w);
}

#[pypto::jit]
fn batches(
    #[shape(B, M, K)] x: &Tensor<i8, 3>,
    #[shape(B, K, N)] w: &Tensor<i8, 3>,
    #[out]
    #[shape(B, M, N)]
    y: &mut Tensor<i32, 3>,
) {
    y.set(matmul(x, w));
}

#[test]
fn products_of_bf16() {
    for [m, k, n] in SIZES {
        let (x, w, bias) = (floats([m, k], 1), floats([k, n], 2), singles([1, n], 3));
        let (mut y, mut wanted) = (Tensor::zeros([m, n]), Tensor::zeros([m, n]));
        linear(&x, &w, &bias, &mut y).unwrap();
        linear.eager((&x, &w, &bias, &mut wanted));
        assert_eq!(bits(&y), bits(&wanted), "linear {m} x {k} x {n}");
        tiled(&x, &w, &mut y).unwrap();
        tiled.eager((&x, &w, &mut wanted));
        assert_eq!(bits(&y), bits(&wanted), "tiled {m} x {k} x {n}");
        let (x, w) = (floats([k, m], 1), floats([n, k], 2));
        transposed(&x, &w, &mut y).unwrap();
        transposed.eager((&x, &w, &mut wanted));
        assert_eq!(bits(&y), bits(&wanted), "transposed {m} x {k} x {n}");
    }
}

#[test]
fn products_of_integers() {
    for [m, k, n] in SIZES {
        let (x, w) = (numbers([m, k], 1), numbers([k, n], 2));
        let (scale_x, scale_w) = (singles([m, 1], 3), singles([1, n], 4));
        let (mut y, mut wanted) = (Tensor::zeros([m, n]), Tensor::zeros([m, n]));
        quantized(&x, &w, &scale_x, &scale_w, &mut y).unwrap();
        quantized.eager((&x, &w, &scale_x, &scale_w, &mut wanted));
        assert_eq!(bits(&y), bits(&wanted), "{m} x {k} x {n}");
        let (x, w) = (numbers([3, m, k], 1), numbers([3, k, n], 2));
        let (mut y, mut wanted) = (Tensor::zeros([3, m, n]), Tensor::zeros([3, m, n]));
        batches(&x, &w, &mut y).unwrap();
        batches.eager((&x, &w, &mut wanted));
        assert_eq!(y.as_slice(), wanted.as_slice(), "batches {m} x {k} x {n}");
    }
}

/// Sums below the smallest normal number, which some processors take as zero. Products are multiples of 2^-140, and so exact.
#[test]
fn subnormal_sums_of_bf16() {
    let small = |dims: [i64; 2], seed| {
        let values = numbers(dims, seed);
        let scale = 2f32.powi(-70);
        Tensor::from_vec(values.as_slice().iter().map(|&x| bf16::from_f32(f32::from(x) * scale)).collect(), dims)
    };
    for [m, k, n] in SIZES {
        let (x, w, bias) = (small([m, k], 1), small([k, n], 2), Tensor::zeros([1, n]));
        let (mut y, mut wanted) = (Tensor::zeros([m, n]), Tensor::zeros([m, n]));
        linear(&x, &w, &bias, &mut y).unwrap();
        linear.eager((&x, &w, &bias, &mut wanted));
        assert_eq!(bits(&y), bits(&wanted), "{m} x {k} x {n}");
        assert!(k < 3 || wanted.as_slice().iter().any(|x| x.is_subnormal()));
    }
}
