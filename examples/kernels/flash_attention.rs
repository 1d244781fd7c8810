//! Attention without the score matrix: keys and values pass by in blocks while running maxima and sums are carried.
//! Ragged lengths need no code, and the causal form skips the blocks above the diagonal.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, random, report, run, softmax_f64, wide};

#[pypto::jit(meta(BQ = 64, BK = 64, CAUSAL = 0))]
pub fn flash_attention(
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

fn reference(q: &[f64], k: &[f64], v: &[f64], [h, s, t, d]: [usize; 4], causal: bool) -> Vec<f64> {
    let mut out = vec![0.0; h * s * d];
    for row in 0..h * s {
        let (head, i) = (row / s, row % s);
        let mut scores: Vec<f64> = (0..t)
            .map(|j| {
                let dot: f64 = (0..d).map(|e| q[row * d + e] * k[(head * t + j) * d + e]).sum();
                if causal && j > i { f64::NEG_INFINITY } else { dot / (d as f64).sqrt() }
            })
            .collect();
        softmax_f64(&mut scores, t);
        for (j, p) in scores.iter().enumerate() {
            for e in 0..d {
                out[row * d + e] += p * v[(head * t + j) * d + e];
            }
        }
    }
    out
}

fn check([h, s, t, d]: [i64; 4], causal: bool) -> Outcome {
    let (q, k, v) = (random([h, s, d], 20), random([h, t, d], 21), random([h, t, d], 22));
    let mut o = Tensor::zeros([h, s, d]);
    let switch = i64::from(causal);
    let time = best_time(|| run!(flash_attention.with(meta! { CAUSAL: switch }); &q, &k, &v, &mut o))?;

    let extents = [h, s, t, d].map(|n| n as usize);
    let expected = reference(&wide(&q), &wide(&k), &wide(&v), extents, causal);
    let name = format!("flash_attention {h}x{s}x{t}x{d}{}", if causal { " causal" } else { "" });
    report(&name, max_error(&o, &expected), 2e-6, time)
}

pub fn main() -> Outcome {
    check([8, 256, 256, 64], false)?;
    check([8, 256, 256, 64], true)?;
    check([2, 100, 77, 32], false)?;
    check([2, 131, 131, 48], true)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
