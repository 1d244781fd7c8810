//! Products, and kernels that are split into parts for the two units.

use super::kernels::{PLANNERS, random};
use super::{build, simulate, texts};
use crate::codegen::ascend::dialect::Core;
use crate::codegen::ascend::{AscendKernel, Planner};
use crate::prelude::*;
use crate::target;

#[crate::jit(meta(TM = 128, TN = 256, TK = 256))]
fn matmul_tiled(
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

#[crate::jit]
pub(super) fn matmul_whole(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(matmul(a, b));
}

#[crate::function(inline)]
fn gelu(x: Tile<f32>) -> Tile<f32> {
    0.5 * x * (1.0 + (x * std::f32::consts::FRAC_1_SQRT_2).erf())
}

#[crate::jit]
fn ffn(
    #[shape(M, D)] x: &Tensor<f32, 2>,
    #[shape(D, F)] w1: &Tensor<f32, 2>,
    #[shape(1, F)] b1: &Tensor<f32, 2>,
    #[shape(F, D)] w2: &Tensor<f32, 2>,
    #[out]
    #[shape(M, D)]
    y: &mut Tensor<f32, 2>,
) {
    let hidden = gelu(matmul(x, w1) + b1);
    y.set(matmul(hidden, w2) + x);
}

#[crate::jit(meta(BQ = 64, BK = 64, CAUSAL = 0))]
fn attention(
    #[shape(H, S, D)] q: &Tensor<f32, 3>,
    #[shape(H, T, D)] k: &Tensor<f32, 3>,
    #[shape(H, T, D)] v: &Tensor<f32, 3>,
    #[out]
    #[shape(H, S, D)]
    o: &mut Tensor<f32, 3>,
) {
    let scale = 1.0 / (D as f32).sqrt();
    for at in tiles([H, S], [1, BQ]) {
        let (h, i) = (at.offset(0), at.offset(1));
        let qi = q.at(h).tile([i, 0], [BQ, D]) * scale;
        let mut m = Tile::full([BQ, 1], f32::NEG_INFINITY);
        let mut l = Tile::zeros([BQ, 1]);
        let mut acc = Tile::zeros([BQ, D]);
        let end = if CAUSAL == 1 { T.min(i + BQ) } else { T };
        for j in range(0, end, BK) {
            let mut s = matmul(qi, k.at(h).tile([j, 0], [BK, D]).t());
            if CAUSAL == 1 {
                let query = Tile::<i32>::iota([BQ, 1], 0, i as i32);
                let key = Tile::<i32>::iota([1, BK], 1, j as i32);
                s = query.ge(key).select(s, f32::NEG_INFINITY);
            }
            let m_new = m.max(s.row_max());
            let p = (s - m_new).exp();
            let fix = (m - m_new).exp();
            l = l * fix + p.row_sum();
            acc = acc * fix + matmul(p, v.at(h).tile([j, 0], [BK, D]));
            m = m_new;
        }
        o.at_mut(h).store([i, 0], acc / l);
    }
}

/// The largest difference, relative to the largest result: sums of products cancel.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    let largest = b.iter().fold(1e-6f32, |m, x| m.max(x.abs()));
    a.iter().zip(b).map(|(x, y)| (x - y).abs() / largest).fold(0.0, f32::max)
}

#[test]
fn products_on_both_targets() {
    for (m, k, n) in [(64, 64, 64), (256, 256, 256), (257, 300, 129), (1, 64, 3)] {
        let (a, b) = (random([m, k], 1), random([k, n], 2));
        let mut expected = Tensor::zeros([m, n]);
        matmul_whole(&a, &b, &mut expected).unwrap();
        for target in target::ALL {
            for planner in PLANNERS {
                let mut c = Tensor::<f32, 2>::zeros([m, n]);
                let artifact = build(&matmul_whole, &(&a, &b, &c), target, planner).unwrap();
                assert!(artifact.kernels.iter().all(|kernel| kernel.core == Core::Cube));
                simulate(&artifact, (&a, &b, &mut c));
                assert!(difference(c.as_slice(), expected.as_slice()) < 1e-5, "{m}x{k}x{n} {}", texts(&artifact));
            }
            let mut c = Tensor::<f32, 2>::zeros([m, n]);
            let artifact = build(&matmul_tiled, &(&a, &b, &c), target, Planner::Packed).unwrap();
            simulate(&artifact, (&a, &b, &mut c));
            assert!(difference(c.as_slice(), expected.as_slice()) < 1e-5, "{m}x{k}x{n} {}", texts(&artifact));
        }
    }
}

#[test]
fn products_and_vector_work_alternate() {
    let (m, d, f) = (130, 64, 256);
    let (x, w1, b1, w2) = (random([m, d], 1), random([d, f], 2), random([1, f], 3), random([f, d], 4));
    let mut expected = Tensor::zeros([m, d]);
    ffn(&x, &w1, &b1, &w2, &mut expected).unwrap();
    for target in target::ALL {
        let mut y = Tensor::<f32, 2>::zeros([m, d]);
        let artifact = build(&ffn, &(&x, &w1, &b1, &w2, &y), target, Planner::Packed).unwrap();
        let cores: Vec<Core> = artifact.kernels.iter().map(|kernel| kernel.core).collect();
        assert!(cores.contains(&Core::Cube) && cores.contains(&Core::Vector));
        simulate(&artifact, (&x, &w1, &b1, &w2, &mut y));
        assert!(difference(y.as_slice(), expected.as_slice()) < 1e-5, "{}", texts(&artifact));
    }
}

#[test]
fn attention_on_both_targets() {
    for ([h, s, t, d], causal) in [([2, 128, 128, 64], 0), ([1, 100, 77, 32], 0), ([2, 131, 131, 48], 1)] {
        let (q, k, v) = (random([h, s, d], 1), random([h, t, d], 2), random([h, t, d], 3));
        let mut expected = Tensor::zeros([h, s, d]);
        attention.with(meta! { CAUSAL: causal })(&q, &k, &v, &mut expected).unwrap();
        for target in target::ALL {
            let mut o = Tensor::<f32, 3>::zeros([h, s, d]);
            let samples = (&q, &k, &v, &o);
            let key = attention.with(meta! { CAUSAL: causal }).key(&samples).unwrap();
            let artifact = super::build_key(attention.ir(), &key, target, Planner::Packed).unwrap();
            simulate(&artifact, (&q, &k, &v, &mut o));
            assert!(difference(o.as_slice(), expected.as_slice()) < 1e-5, "{h}x{s}x{t}x{d} {}", texts(&artifact));
        }
    }
}

/// Blocks with which online softmax has needed 198,144 of the 188,416 bytes of the vector buffer elsewhere.
#[test]
fn attention_of_large_blocks_fits() {
    let (q, k, v) = (random([1, 128, 128], 1), random([1, 256, 128], 2), random([1, 256, 128], 3));
    let mut expected = Tensor::zeros([1, 128, 128]);
    attention.with(meta! { BQ: 64, BK: 128 })(&q, &k, &v, &mut expected).unwrap();
    for planner in PLANNERS {
        let mut o = Tensor::<f32, 3>::zeros([1, 128, 128]);
        let key = attention.with(meta! { BQ: 64, BK: 128 }).key(&(&q, &k, &v, &o)).unwrap();
        let artifact = super::build_key(attention.ir(), &key, &target::A2A3, planner).unwrap();
        let used = artifact.kernels.iter().filter_map(|kernel| kernel.plan.used.get(&target::Space::Vec));
        assert!(used.max().is_some_and(|most| *most <= 188_416), "{}", texts(&artifact));
        let whole = |kernel: &&AscendKernel| kernel.text.contains("rows=64, cols=128");
        assert!(artifact.kernels.iter().any(|kernel| whole(&kernel)), "blocks were cut: {}", texts(&artifact));
        simulate(&artifact, (&q, &k, &v, &mut o));
        assert!(difference(o.as_slice(), expected.as_slice()) < 1e-5, "{}", texts(&artifact));
    }
}
