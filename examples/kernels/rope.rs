//! Rotary position embedding: each head's features are pairs, the first and the second half, turned by an angle that grows
//! with the position. The tables of cosines and sines are made once for all heads.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, random, report, run, wide};

#[pypto::jit(meta(TS = 64))]
pub fn rope(
    #[shape(H, S, D)] x: &Tensor<f32, 3>,
    #[shape(S, E)] cos: &Tensor<f32, 2>,
    #[shape(S, E)] sin: &Tensor<f32, 2>,
    #[out]
    #[shape(H, S, D)]
    y: &mut Tensor<f32, 3>,
) {
    for at in tiles([H, S], [1, TS]) {
        let (h, i) = (at.offset(0), at.offset(1));
        let (c, s) = (cos.tile([i, 0], [TS, E]), sin.tile([i, 0], [TS, E]));
        let pairs = x.at(h).tile([i, 0], [TS, D]);
        let (a, b) = (pairs.slice([0, 0], [TS, E]), pairs.slice([0, E], [TS, E]));
        y.at_mut(h).store([i, 0], (a * c - b * s).concat(b * c + a * s, 1));
    }
}

/// The angle of a pair at a position.
fn angle(position: usize, pair: usize, pairs: usize) -> f64 {
    position as f64 / 10_000f64.powf(pair as f64 / pairs as f64)
}

/// Cosines and sines for positions and pairs.
pub fn tables(positions: i64, pairs: i64) -> [Tensor<f32, 2>; 2] {
    let table = |f: fn(f64) -> f64| {
        Tensor::from_fn([positions, pairs], |[p, e]| f(angle(p as usize, e as usize, pairs as usize)) as f32)
    };
    [table(f64::cos), table(f64::sin)]
}

fn reference(x: &[f64], s: usize, d: usize) -> Vec<f64> {
    let half = d / 2;
    let mut y = x.to_vec();
    for (row, out) in y.chunks_mut(d).enumerate() {
        for e in 0..half {
            let (sin, cos) = angle(row % s, e, half).sin_cos();
            let (a, b) = (x[row * d + e], x[row * d + half + e]);
            (out[e], out[half + e]) = (a * cos - b * sin, b * cos + a * sin);
        }
    }
    y
}

fn check(h: i64, s: i64, d: i64) -> Outcome {
    let x = random([h, s, d], 23);
    let [cos, sin] = tables(s, d / 2);
    let mut y = Tensor::zeros([h, s, d]);
    let time = best_time(|| run!(rope; &x, &cos, &sin, &mut y))?;
    let expected = reference(&wide(&x), s as usize, d as usize);
    report(&format!("rope {h}x{s}x{d}"), max_error(&y, &expected), 1e-6, time)
}

pub fn main() -> Outcome {
    check(12, 256, 64)?;
    check(3, 77, 48)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
