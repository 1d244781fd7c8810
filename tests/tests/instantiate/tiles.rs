//! Tiles: loads and stores with ragged edges, elementwise operations, layout, products.

use pypto::prelude::*;

use crate::{agree, sample};

#[pypto::jit(meta(TM = 4))]
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

#[pypto::jit(meta(TM = 4))]
pub fn softmax_dynamic(
    #[shape(dyn M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

#[test]
fn ragged_rows() {
    for rows in [0, 1, 3, 4, 5, 8, 11] {
        let x = sample([rows, 7]);
        agree!(softmax(&x; f32, [rows, 7]));
        agree!(softmax_dynamic(&x; f32, [rows, 7]));
    }
}

#[pypto::jit(meta(BQ = 4, BK = 4))]
pub fn attention(
    #[shape(S, D)] q: &Tensor<f32, 2>,
    #[shape(T, D)] k: &Tensor<f32, 2>,
    #[shape(T, D)] v: &Tensor<f32, 2>,
    #[out]
    #[shape(S, D)]
    o: &mut Tensor<f32, 2>,
) {
    let scale = 1.0 / (D as f32).sqrt();
    for i in parallel(range(0, S, BQ)) {
        let qi = q.tile([i, 0], [BQ, D]);
        let mut m = Tile::full([BQ, 1], f32::NEG_INFINITY);
        let mut l = Tile::zeros([BQ, 1]);
        let mut acc = Tile::zeros([BQ, D]);
        for j in range(0, T, BK) {
            let s = matmul(qi, k.tile([j, 0], [BK, D]).t()) * scale;
            let m_new = m.max(s.row_max());
            let p = (s - m_new).exp();
            let fix = (m - m_new).exp();
            l = l * fix + p.row_sum();
            acc *= fix;
            acc = acc.mma(p, v.tile([j, 0], [BK, D]));
            m = m_new;
        }
        o.store([i, 0], acc / l);
    }
}

#[test]
fn valid_extents_are_carried_through_loops() {
    for (s, t) in [(4, 4), (8, 8), (7, 9), (1, 2), (9, 3)] {
        let (q, k, v) = (sample([s, 5]), sample([t, 5]), sample([t, 5]));
        agree!(attention(&q, &k, &v; f32, [s, 5]));
    }
}

#[pypto::jit]
pub fn elementwise(a: &Tensor<f32, 2>, b: &Tensor<f32, 2>, n: i32, #[out] y: &mut Tensor<f32, 2>) {
    let x = a.load_all();
    let r = b.tile([0, 0], [1, 6]);
    let p = (x * 2.0 - 1.0 / (r.abs() + 1.0)).max(0.25).min(r.tanh());
    let mask = x.gt(0.0) & !r.lt(-1.0).broadcast([5, 6]);
    let q = mask.select(p, -p.sqrt().recip()) + select(r.ge(0.5), 1.0, 2.0);
    let bits = (q.cast_with::<i32>(Round::Floor) << 2) ^ n;
    let wide = bits.cast::<f32>() % 7.0 + x.cast::<f16>().cast::<f32>() + x.sigmoid() - x.erf() * x.sin().cos();
    y.set(wide + (q.floor() - q.ceil()).relu());
}

#[test]
fn elementwise_operations() {
    let (a, b) = (sample([5, 6]), sample([1, 6]));
    agree!(elementwise(&a, &b, 3; f32, [5, 6]));
}

#[pypto::jit]
pub fn layouts(#[shape(M, N)] x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    for at in tiles([M, N], [4, 4]) {
        let t = x.load(at).fillpad(-1.0);
        let s = t.slice([1, 0], [2, 4]).reshape([4, 2]);
        let u = t.assemble([0, 2], s).t();
        let v = u.set_valid([at.valid(1), 3]);
        let w = v.concat(Tile::zeros([4, 4]), 0).slice([0, 0], [4, 4]);
        y.store([at.offset(1), at.offset(0)], w + v.row_sum() + v.col_max());
    }
}

#[test]
fn layout_operations() {
    let x = sample([8, 8]);
    agree!(layouts(&x; f32, [8, 8]));
}

#[pypto::jit]
pub fn reductions(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    for at in tiles([M, N], [4, 16]) {
        let t = x.load(at);
        let args = (t.row_argmax() + t.row_argmin()).cast::<f32>() + t.col_argmax().cast::<f32>();
        let sums = t.row_sum() + t.row_prod() + t.row_min() + t.col_sum() * t.col_prod() - t.col_min();
        y.store(at, t + args + sums);
    }
}

#[test]
fn reductions_see_only_what_is_valid() {
    let x = sample([10, 13]);
    agree!(reductions(&x; f32, [10, 13]));
}

#[pypto::jit(meta(TM = 4, TN = 8, TK = 4))]
pub fn gemm(
    #[shape(M, K)] a: &Tensor<f16, 2>,
    #[shape(K, N)] b: &Tensor<f16, 2>,
    bias: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    for (i, j) in grid(ceil_div(M, TM), ceil_div(N, TN)) {
        let mut acc = Tile::zeros([TM, TN]);
        for k in pipeline(range(0, K, TK), 2) {
            acc = acc.mma(a.tile([i * TM, k], [TM, TK]), b.tile([k, j * TN], [TK, TN]));
        }
        let first =
            matmul_bias(a.tile([i * TM, 0], [TM, TK]), b.tile([0, j * TN], [TK, TN]), bias.tile([0, j * TN], [1, TN]));
        c.store([i * TM, j * TN], acc + first);
    }
}

#[test]
fn products_accumulate() {
    for (m, k, n) in [(8, 8, 8), (7, 6, 11), (1, 3, 2)] {
        let a = Tensor::from_fn([m, k], |[i, j]| f16::from_f32((i * 3 + j) as f32 / 4.0 - 1.0));
        let b = Tensor::from_fn([k, n], |[i, j]| f16::from_f32((i - j) as f32 / 2.0));
        let bias = sample([1, n]);
        agree!(gemm(&a, &b, &bias; f32, [m, n]));
    }
}

#[pypto::jit]
pub fn batched(a: &Tensor<f32, 3>, b: &Tensor<f32, 3>, #[out] c: &mut Tensor<f32, 3>) {
    c.set(matmul(a, b.t()));
}

#[test]
fn batched_products_with_a_transposed_operand() {
    let (a, b) = (sample([2, 3, 4]), sample([2, 5, 4]));
    agree!(batched(&a, &b; f32, [2, 3, 5]));
}
