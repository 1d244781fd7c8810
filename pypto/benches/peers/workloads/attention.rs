//! Attention of 8 heads by the library's kernel: all queries of a sequence, with and without a causal mask, and one query.

use std::rc::Rc;

use pypto::jit::Result;
use pypto::kernels;
use pypto::prelude::*;

use super::normalization::softmax_f64;
use crate::inputs::normal;
use crate::workload::{Prepared, Work, Workload, on, prepared};

const HEADS: i64 = 8;
pub const DEPTH: i64 = 64;

pub fn workloads() -> Vec<Workload> {
    let case = |name, queries: i64, keys: i64, share: f64, prepare| {
        let size = 4.0 * (HEADS * DEPTH) as f64;
        let flops = share * 4.0 * (HEADS * queries * keys * DEPTH) as f64;
        let work = Work::new(flops, size * (queries + 2 * keys) as f64, size * queries as f64);
        Workload { name, work, tolerance: 5e-6, prepare }
    };
    vec![
        case("attention 8 x 1024 x 64", 1024, 1024, 1.0, |t| attention(t, HEADS, [1024, 1024], false)),
        case("attention 8 x 1024 x 64 causal", 1024, 1024, 0.5, |t| attention(t, HEADS, [1024, 1024], true)),
        case("attention decode 8 x 4096 x 64", 1, 4096, 1.0, |t| decode(t, 4096)),
    ]
}

pub fn attention(threads: usize, heads: i64, [queries, keys]: [i64; 2], causal: bool) -> Result<Prepared> {
    let q = Rc::new(normal([1, heads, queries, DEPTH], 1));
    let [k, v] = [2, 3].map(|seed| Rc::new(normal([1, heads, keys, DEPTH], seed)));
    let lengths = Tensor::from_vec(vec![keys as i32], [1]);
    let o = Tensor::zeros([1, heads, queries, DEPTH]);
    let (q1, k1, v1) = (q.clone(), k.clone(), v.clone());
    let samples = (&*q, &*k, &*v, &lengths, &o);
    let compiled = if causal {
        kernels::attention::<f32>.with(meta! { CAUSAL: 1 }).compile(&samples, &on(threads))?
    } else {
        kernels::attention::<f32>.compile(&samples, &on(threads))?
    };
    let call = move |o: &mut Tensor<f32, 4>| compiled.call((&*q, &*k, &*v, &lengths, o));
    let reference = move |row: usize| {
        let (head, query) = (row as i64 / queries, row as i64 % queries);
        let seen = if causal { query + 1 } else { keys };
        reference_row(&q1, &k1, &v1, head, query, seen)
    };
    Ok(prepared(o, (heads * queries) as usize, call, reference))
}

fn decode(threads: usize, keys: i64) -> Result<Prepared> {
    let q = Rc::new(normal([1, HEADS, DEPTH], 1));
    let [k, v] = [2, 3].map(|seed| Rc::new(normal([1, HEADS, keys, DEPTH], seed)));
    let lengths = Tensor::from_vec(vec![keys as i32], [1]);
    let o = Tensor::zeros([1, HEADS, DEPTH]);
    let compiled = kernels::attention_decode::<f32>.compile(&(&*q, &*k, &*v, &lengths, &o), &on(threads))?;
    let (q1, k1, v1) = (Tensor::from_vec(q.to_vec(), [1, HEADS, 1, DEPTH]), k.clone(), v.clone());
    let call = move |o: &mut Tensor<f32, 3>| compiled.call((&*q, &*k, &*v, &lengths, o));
    let reference = move |row: usize| reference_row(&q1, &k1, &v1, row as i64, 0, keys);
    Ok(prepared(o, HEADS as usize, call, reference))
}

/// What one query gets of the first `seen` keys of its head.
fn reference_row(
    q: &Tensor<f32, 4>,
    k: &Tensor<f32, 4>,
    v: &Tensor<f32, 4>,
    head: i64,
    query: i64,
    seen: i64,
) -> Vec<f64> {
    let depth = DEPTH as usize;
    let at = |x: &Tensor<f32, 4>, position: i64| -> Vec<f64> {
        let start = (head * x.dim(2) + position) as usize * depth;
        x.as_slice()[start..][..depth].iter().map(|v| f64::from(*v)).collect()
    };
    let own = at(q, query);
    let score = |key| own.iter().zip(at(k, key)).map(|(a, b)| a * b).sum::<f64>() / (DEPTH as f64).sqrt();
    let weights = softmax_f64(&(0..seen).map(score).collect::<Vec<_>>());
    let mut sums = vec![0.0; depth];
    for (key, weight) in weights.iter().enumerate() {
        sums.iter_mut().zip(at(v, key as i64)).for_each(|(sum, value)| *sum += weight * value);
    }
    sums
}
