//! Bodies of real kernels compile without annotations and give what a naive loop gives.

use crate::prelude::*;

fn softmax(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>, rows: i64) {
    let (m, n) = (x.dim(0), x.dim(1));
    for at in tiles([m, n], [rows, n]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

fn attention<T: Element>(q: &Tensor<T, 2>, k: &Tensor<T, 2>, v: &Tensor<T, 2>, o: &mut Tensor<f32, 2>, block: i64) {
    let (s, t, d) = (q.dim(0), k.dim(0), q.dim(1));
    let scale = 1.0 / (d as f32).sqrt();
    for i in parallel(range(0, s, block)) {
        let qi = q.tile([i, 0], [block, d]).cast::<f32>();
        let mut m = Tile::full([block, 1], f32::NEG_INFINITY);
        let mut l = Tile::zeros([block, 1]);
        let mut acc = Tile::zeros([block, d]);
        for j in range(0, t, block) {
            let scores = matmul(qi, k.tile([j, 0], [block, d]).cast::<f32>().t()) * scale;
            let m_new = m.max(scores.row_max());
            let p = (scores - m_new).exp();
            let fix = (m - m_new).exp();
            l = l * fix + p.row_sum();
            acc *= fix;
            acc = acc.mma(p, v.tile([j, 0], [block, d]).cast::<f32>());
            m = m_new;
        }
        o.store([i, 0], acc / l);
    }
}

fn gemm(a: &Tensor<f16, 2>, b: &Tensor<f16, 2>, c: &mut Tensor<f32, 2>) {
    let (m, k, n) = (a.dim(0), a.dim(1), b.dim(1));
    for (i, j) in grid(ceil_div(m, 8), ceil_div(n, 8)) {
        let mut acc = Tile::zeros([8, 8]);
        for p in pipeline(range(0, k, 4), 2) {
            acc = acc.mma(a.tile([i * 8, p], [8, 4]), b.tile([p, j * 8], [4, 8]));
        }
        c.store([i * 8, j * 8], acc);
    }
}

fn value(i: i64, j: i64) -> f32 {
    ((i * 37 + j * 11) % 23) as f32 / 8.0 - 1.0
}

#[test]
fn softmax_rows_sum_to_one() {
    let x = Tensor::from_fn([5, 37], |[i, j]| value(i, j));
    let mut y = Tensor::zeros([5, 37]);
    scope(|| softmax(&x, &mut y, 2));
    for i in 0..5 {
        let total: f64 = (0..37).map(|j| f64::from(x.get([i, j])).exp()).sum();
        for j in 0..37 {
            let expected = f64::from(x.get([i, j])).exp() / total;
            assert!((f64::from(y.get([i, j])) - expected).abs() < 1e-6);
        }
    }
}

#[test]
fn attention_with_ragged_lengths() {
    let (s, t, d) = (7, 9, 5);
    let q = Tensor::from_fn([s, d], |[i, j]| value(i, j));
    let k = Tensor::from_fn([t, d], |[i, j]| value(i + 3, j));
    let v = Tensor::from_fn([t, d], |[i, j]| value(i, j + 5));
    let mut o = Tensor::zeros([s, d]);
    scope(|| attention(&q, &k, &v, &mut o, 4));
    for i in 0..s {
        let score = |j| (0..d).map(|c| f64::from(q.get([i, c])) * f64::from(k.get([j, c]))).sum::<f64>() / 5f64.sqrt();
        let total: f64 = (0..t).map(|j| score(j).exp()).sum();
        for c in 0..d {
            let expected = (0..t).map(|j| score(j).exp() * f64::from(v.get([j, c]))).sum::<f64>() / total;
            assert!((f64::from(o.get([i, c])) - expected).abs() < 1e-5, "{i} {c}");
        }
    }
}

#[test]
fn gemm_of_half_precision_accumulates_in_f32() {
    let a = Tensor::from_fn([10, 6], |[i, j]| f16::from_f32(value(i, j)));
    let b = Tensor::from_fn([6, 11], |[i, j]| f16::from_f32(value(i, j)));
    let mut c = Tensor::zeros([10, 11]);
    scope(|| gemm(&a, &b, &mut c));
    for i in 0..10 {
        for j in 0..11 {
            let expected: f64 = (0..6).map(|k| a.get([i, k]).to_f64() * b.get([k, j]).to_f64()).sum();
            assert!((f64::from(c.get([i, j])) - expected).abs() < 1e-5);
        }
    }
}

#[test]
fn whole_tensors_scalars_and_tiles_mix() {
    let a = Tensor::full([2, 3], 3.0f32);
    let row = Tensor::from_vec(vec![1.0f32, 2.0, 3.0], [1, 3]);
    let mut out = Tensor::<f32, 2>::zeros([2, 3]);
    out.set(2.0 * (&a + &row) - 1.0 / a.load_all() + (1.0 + &a).sqrt() * -&a);
    let expected = |r: f32| 2.0 * (3.0 + r) - 1.0 / 3.0 + -6.0;
    assert_eq!(out.rows(1, 1).to_vec(), [expected(1.0), expected(2.0), expected(3.0)]);
    let mask = a.gt(2.0) & !row.lt(2.0).broadcast([2, 3]);
    out.set(mask.select(&a, 0.0));
    assert_eq!(out.rows(0, 1).to_vec(), [0.0, 3.0, 3.0]);
    let shifted = 1i32 << Tile::iota([1, 3], 1, 0i32);
    assert_eq!(shifted.to_vec(), [1, 2, 4]);
}
