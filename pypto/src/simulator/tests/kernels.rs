//! Kernels of the language on both targets.

use super::{build, simulate, texts};
use crate::codegen::ascend::Planner;
use crate::prelude::*;
use crate::target;

#[crate::jit(meta(TM = 64))]
pub(super) fn softmax(
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

#[crate::jit]
pub(super) fn add(
    #[shape(M, N)] a: &Tensor<f32, 2>,
    #[shape(M, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(a + b);
}

pub(super) fn random<const R: usize>(shape: [i64; R], seed: u64) -> Tensor<f32, R> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    Tensor::from_fn(shape, |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    })
}

pub(super) const PLANNERS: [Planner; 3] = [Planner::FirstFit, Planner::Packed, Planner::External];

/// Largest difference in units of the last place of the larger magnitude.
pub(super) fn difference(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| (x - y).abs() / x.abs().max(y.abs()).max(1e-3)).fold(0.0, f32::max)
}

#[test]
fn add_on_both_targets() {
    for (m, n) in [(64, 64), (128, 128), (100, 77), (2048, 512), (1, 1), (3, 1)] {
        let (a, b) = (random([m, n], 1), random([m, n], 2));
        let mut expected = Tensor::zeros([m, n]);
        add(&a, &b, &mut expected).unwrap();
        for target in target::ALL {
            for planner in PLANNERS {
                let mut c = Tensor::<f32, 2>::zeros([m, n]);
                let artifact = build(&add, &(&a, &b, &c), target, planner).unwrap();
                let time = simulate(&artifact, (&a, &b, &mut c));
                assert_eq!(c.as_slice(), expected.as_slice(), "{m}x{n} {}", texts(&artifact));
                assert!(time.total > 0.0);
            }
        }
    }
}

#[test]
fn softmax_on_both_targets() {
    for (m, n) in [(64, 64), (128, 256), (100, 77), (512, 256), (70, 1000)] {
        let x = random([m, n], 1);
        let mut expected = Tensor::zeros([m, n]);
        softmax(&x, &mut expected).unwrap();
        for target in target::ALL {
            for planner in PLANNERS {
                let mut y = Tensor::<f32, 2>::zeros([m, n]);
                let artifact = build(&softmax, &(&x, &y), target, planner).unwrap();
                simulate(&artifact, (&x, &mut y));
                assert!(difference(y.as_slice(), expected.as_slice()) < 1e-6, "{m}x{n} {}", texts(&artifact));
            }
        }
    }
}

#[crate::jit(meta(TM = 32))]
fn layer_norm(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(1, N)] w: &Tensor<f32, 2>,
    #[shape(1, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let (weight, bias) = (w.tile([0, 0], [1, N]), b.tile([0, 0], [1, N]));
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let centred = t - t.row_sum() * (1.0 / N as f32);
        let variance = (centred * centred).row_sum() * (1.0 / N as f32);
        y.store(at, centred * (variance + 1e-5).rsqrt() * weight + bias);
    }
}

#[crate::jit]
fn functions(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.tanh() + (x * 0.5).erf() * x.sin() + x.cos() * x.sigmoid() + x.floor().max(-0.5));
}

#[test]
fn layer_norm_on_both_targets() {
    for (m, n) in [(32, 64), (100, 77)] {
        let (x, w, b) = (random([m, n], 1), random([1, n], 2), random([1, n], 3));
        let mut expected = Tensor::zeros([m, n]);
        layer_norm(&x, &w, &b, &mut expected).unwrap();
        for target in target::ALL {
            let mut y = Tensor::<f32, 2>::zeros([m, n]);
            let artifact = build(&layer_norm, &(&x, &w, &b, &y), target, Planner::Packed).unwrap();
            simulate(&artifact, (&x, &w, &b, &mut y));
            assert!(difference(y.as_slice(), expected.as_slice()) < 2e-6, "{m}x{n} {}", texts(&artifact));
        }
    }
}

#[test]
fn functions_without_an_instruction() {
    let x = random([40, 50], 1);
    let mut expected = Tensor::zeros([40, 50]);
    functions(&x, &mut expected).unwrap();
    for target in target::ALL {
        let mut y = Tensor::<f32, 2>::zeros([40, 50]);
        let artifact = build(&functions, &(&x, &y), target, Planner::Packed).unwrap();
        simulate(&artifact, (&x, &mut y));
        assert!(difference(y.as_slice(), expected.as_slice()) < 1e-4, "{}", texts(&artifact));
    }
}
