//! What code of models does most, as section by section of a decoder has it.

use pypto::prelude::*;

use crate::{check, f, finish, z};
// common idioms of model code, written as a Rust user would
#[pypto::jit(meta(TM = 8))]
fn rms_norm(
    #[shape(T, D)] x: &Tensor<bf16, 2>,
    #[shape(D)] gamma: &Tensor<f32, 1>,
    eps: f32,
    #[out]
    #[shape(T, D)]
    y: &mut Tensor<bf16, 2>,
) {
    let g = gamma.load_all().reshape([1, D]);
    for at in tiles([T, D], [TM, D]) {
        let t = x.load(at).cast::<f32>();
        let ms = (t * t).row_sum() / D as f32;
        y.store(at, (t * (ms + eps).rsqrt() * g).cast());
    }
}
#[pypto::jit]
fn rope(
    #[shape(T, D)] x: &Tensor<f32, 2>,
    #[shape(T, H)] cos: &Tensor<f32, 2>,
    #[shape(T, H)] sin: &Tensor<f32, 2>,
    #[out]
    #[shape(T, D)]
    y: &mut Tensor<f32, 2>,
) {
    static_assert!(D == 2 * H);
    let lo = x.tile([0, 0], [T, H]);
    let hi = x.tile([0, H], [T, H]);
    let (c, s) = (cos.load_all(), sin.load_all());
    y.store([0, 0], lo * c - hi * s);
    y.store([0, H], hi * c + lo * s);
}
#[pypto::jit]
fn quantize(
    #[shape(T, D)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(T, D)]
    q: &mut Tensor<i8, 2>,
    #[out]
    #[shape(T, 1)]
    scale: &mut Tensor<f32, 2>,
) {
    for at in tiles([T, D], [4, D]) {
        let t = x.load(at);
        let amax = t.abs().row_max().max(1e-4);
        let s = amax / 127.0;
        q.store(at, (t / s).cast_with::<i32>(Round::Rint).cast::<f16>().cast_with::<i8>(Round::Trunc));
        scale.store([at.offset(0), 0], s);
    }
}
#[pypto::jit(meta(TK = 16))]
fn k_blocks(
    #[shape(M, K)] a: &Tensor<bf16, 2>,
    #[shape(K, N)] b: &Tensor<bf16, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<bf16, 2>,
) {
    for at in tiles([M, N], [8, 8]) {
        let mut acc = matmul(a.tile([at.offset(0), 0], [8, TK]), b.tile([0, at.offset(1)], [TK, 8]));
        for k in range(TK, K, TK) {
            acc = acc.mma(a.tile([at.offset(0), k], [8, TK]), b.tile([k, at.offset(1)], [TK, 8]));
        }
        c.store(at, acc.cast::<bf16>());
    }
}
#[pypto::jit(meta(BK = 8))]
fn online_attention(
    #[shape(S, D)] q: &Tensor<f32, 2>,
    #[shape(L, D)] k: &Tensor<f32, 2>,
    #[shape(L, D)] v: &Tensor<f32, 2>,
    scale: f32,
    #[out]
    #[shape(S, D)]
    o: &mut Tensor<f32, 2>,
) {
    for at in tiles([S, D], [4, D]) {
        let qt = q.load(at) * scale;
        let mut m = Tile::full([4, 1], f32::NEG_INFINITY);
        let mut l = Tile::zeros([4, 1]);
        let mut acc = Tile::zeros([4, D]);
        for j in (0..L).step_by(8) {
            let s = matmul(qt, k.tile([j, 0], [BK, D]).t());
            let m2 = m.max(s.row_max());
            let p = (s - m2).exp();
            let alpha = (m - m2).exp();
            l = l * alpha + p.row_sum();
            acc = acc * alpha + matmul(p, v.tile([j, 0], [BK, D]));
            m = m2;
        }
        o.store(at, acc / l);
    }
}
#[pypto::jit]
fn causal(
    #[shape(S, D)] q: &Tensor<f32, 2>,
    #[shape(S, D)] k: &Tensor<f32, 2>,
    #[out]
    #[shape(S, S)]
    y: &mut Tensor<f32, 2>,
) {
    let s = matmul(q, k.t());
    let row = Tile::<i32>::iota([S, S], 0, 0);
    let col = Tile::<i32>::iota([S, S], 1, 0);
    let s = select(col.le(row), s, f32::NEG_INFINITY);
    let e = (s - s.row_max()).exp();
    y.set(e / e.row_sum());
}
#[pypto::jit]
fn swiglu(
    #[shape(M, N)] gate: &Tensor<f32, 2>,
    #[shape(M, N)] up: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let g = gate.load_all();
    y.set(g * g.sigmoid() * up);
}
#[pypto::jit]
fn argmax_greedy(
    #[shape(B, V)] logits: &Tensor<f32, 2>,
    #[out]
    #[shape(B, 1)]
    token: &mut Tensor<i32, 2>,
) {
    let mut best = Tile::full([B, 1], f32::NEG_INFINITY);
    let mut index = Tile::<i32>::zeros([B, 1]);
    for c in range(0, V, 16) {
        let t = logits.tile([0, c], [B, 16]);
        let (m, i) = (t.row_max(), t.row_argmax() + c as i32);
        let better = m.gt(best);
        index = select(better, i, index);
        best = best.max(m);
    }
    token.set(index);
}
#[pypto::jit]
fn paged(
    #[shape(P, 4, D)] pages: &Tensor<f32, 3>,
    #[shape(B, L)] table: &Tensor<i32, 2>,
    #[shape(B)] lens: &Tensor<i32, 1>,
    #[out]
    #[shape(B, D)]
    y: &mut Tensor<f32, 2>,
) {
    for b in parallel(0..B) {
        let n = lens.get([b]) as i64;
        let mut sum = Tile::zeros([1, D]);
        for p in 0..ceil_div(n, 4) {
            let page = table.get([b, p]) as i64;
            let rows = (n - p * 4).min(4);
            sum += pages.at(page).load_all().set_valid([rows, D]).col_sum();
        }
        y.store([b, 0], sum);
    }
}
#[pypto::jit]
fn moe(
    #[shape(T, D)] x: &Tensor<f32, 2>,
    #[shape(E, D, D)] w: &Tensor<f32, 3>,
    #[shape(T)] expert: &Tensor<i32, 1>,
    #[out]
    #[shape(T, D)]
    y: &mut Tensor<f32, 2>,
) {
    for t in 0..T {
        let e = expert.get([t]) as i64;
        y.store([t, 0], matmul(x.tile([t, 0], [1, D]), w.at(e)));
    }
}
#[pypto::jit]
fn split_k(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    let mut parts = Tensor::<f32, 3>::temp([4, M, N]);
    let k = K / 4;
    for s in parallel(0..4) {
        parts.at_mut(s).set(matmul(a.view([0, s * k], [M, k]), b.rows(s * k, k)));
    }
    let mut sum = parts.at(0).load_all();
    for s in 1..4 {
        sum += &parts.at(s);
    }
    c.set(sum);
}
#[pypto::jit]
fn gqa(
    #[shape(H, S, D)] q: &Tensor<f32, 3>,
    #[shape(G, S, D)] k: &Tensor<f32, 3>,
    #[out]
    #[shape(H, S, S)]
    y: &mut Tensor<f32, 3>,
) {
    let group = H / G;
    for h in 0..H {
        y.at_mut(h).set(matmul(q.at(h), k.at(h / group).t()));
    }
}
#[pypto::jit]
fn cross_entropy(
    #[shape(T, V)] x: &Tensor<f32, 2>,
    #[shape(T, 1)] target: &Tensor<i32, 2>,
    #[out]
    #[shape(T, 1)]
    loss: &mut Tensor<f32, 2>,
) {
    let t = x.load_all();
    let m = t.row_max();
    let lse = (t - m).exp().row_sum().log() + m;
    loss.set(lse - t.gather(target));
}
#[pypto::jit]
fn rolling(
    #[shape(T, D)] x: &Tensor<f32, 2>,
    #[shape(4, D)] w: &Tensor<f32, 2>,
    #[out]
    #[shape(T, D)]
    y: &mut Tensor<f32, 2>,
) {
    // causal convolution over time
    for t in 0..T {
        let mut acc = Tile::zeros([1, D]);
        for j in 0..4 {
            let src = t + j - 3;
            if src >= 0 {
                acc += x.tile([src, 0], [1, D]) * w.tile([j, 0], [1, D]);
            }
        }
        y.store([t, 0], acc);
    }
}
#[pypto::jit]
fn scan(
    #[shape(T, D)] x: &Tensor<f32, 2>,
    #[shape(1, D)] decay: &Tensor<f32, 2>,
    #[out]
    #[shape(T, D)]
    y: &mut Tensor<f32, 2>,
) {
    let mut state = Tile::zeros([1, D]);
    for t in 0..T {
        state = state * decay + x.tile([t, 0], [1, D]);
        y.store([t, 0], state);
    }
}
#[test]
fn models_of_every_kind() {
    let mut failures = Vec::new();
    let x = f(1, [10, 32]);
    let b = |s: [i64; 2]| Tensor::from_fn(s, |[i, j]| bf16::from_f32((i * 3 + j) as f32 * 0.1 - 0.5));
    check!(failures, rms_norm, [&b([10, 33]), &f(2, [33]), 1e-6], y = Tensor::<bf16, 2>::zeros([10, 33]));
    check!(failures, rope, [&x, &f(2, [10, 16]), &f(3, [10, 16])], y = z([10, 32]));
    check!(failures, quantize, [&x], q = Tensor::<i8, 2>::zeros([10, 32]), s = z([10, 1]));
    check!(failures, k_blocks, [&b([10, 50]), &b([50, 12])], c = Tensor::<bf16, 2>::zeros([10, 12]));
    check!(failures, online_attention, [&f(1, [10, 8]), &f(2, [21, 8]), &f(3, [21, 8]), 0.35], y = z([10, 8]));
    check!(failures, causal, [&f(1, [10, 8]), &f(2, [10, 8])], y = z([10, 10]));
    check!(failures, swiglu, [&x, &f(2, [10, 32])], y = z([10, 32]));
    check!(failures, argmax_greedy, [&f(1, [3, 70])], y = Tensor::<i32, 2>::zeros([3, 1]));
    check!(
        failures,
        paged,
        [&f(1, [6, 4, 8]), &Tensor::from_vec(vec![3i32, 1, 0, 5, 2, 4], [2, 3]), &Tensor::from_vec(vec![9i32, 4], [2])],
        y = z([2, 8])
    );
    check!(
        failures,
        moe,
        [&f(1, [5, 8]), &f(2, [3, 8, 8]), &Tensor::from_vec(vec![2i32, 0, 1, 1, 2], [5])],
        y = z([5, 8])
    );
    check!(failures, split_k, [&f(1, [5, 32]), &f(2, [32, 7])], y = z([5, 7]));
    check!(failures, gqa, [&f(1, [4, 5, 8]), &f(2, [2, 5, 8])], y = z([4, 5, 5]));
    check!(failures, cross_entropy, [&f(1, [5, 9]), &Tensor::from_vec(vec![2i32, 0, 1, 8, 2], [5, 1])], y = z([5, 1]));
    check!(failures, rolling, [&f(1, [9, 8]), &f(2, [4, 8])], y = z([9, 8]));
    check!(failures, scan, [&f(1, [9, 8]), &f(2, [1, 8])], y = z([9, 8]));
    finish(failures);
}
