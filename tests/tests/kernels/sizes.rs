//! One artifact for all sizes: compiled once for small arguments, called with others, it gives the bits of an eager run.

use pypto::config::RunConfig;
use pypto::kernels;
use pypto::prelude::*;

use crate::every_way::{bits, tame};

/// `compiled!(kernel, [inputs], y = contents, ..)`: the kernel for arguments like these.
macro_rules! compiled {
    ($kernel:expr, [$($input:expr),*], $($out:ident = $init:expr),+) => {{
        $(let $out = $init;)+
        let config = RunConfig::new().with_cache(false).with_threads(2);
        $kernel.compile(&($($input,)* $(&$out,)+), &config).unwrap_or_else(|e| panic!("{e}"))
    }};
}

/// `agrees!(compiled, kernel, [inputs], y = contents, ..)`: the artifact gives what an eager run gives.
macro_rules! agrees {
    ($compiled:expr, $kernel:expr, [$($input:expr),*], $($out:ident = $init:expr),+) => {{
        $(let mut $out = $init;)+
        $kernel.eager(($($input,)* $(&mut $out,)+));
        let expected = vec![$(bits(&$out)),+];
        $(let mut $out = $init;)+
        $compiled.call(($($input,)* $(&mut $out,)+)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(vec![$(bits(&$out)),+], expected);
    }};
}

/// Rows around tiles of 16 and 64.
const ROWS: [i64; 9] = [0, 1, 2, 15, 16, 17, 63, 65, 130];

fn matrix(m: i64, n: i64) -> Tensor<f32, 2> {
    tame(7, [m, n])
}

fn targets(m: i64, classes: i64) -> Tensor<i32, 2> {
    Tensor::from_fn([m, 1], |[i, _]| if i % 5 == 4 { -1 } else { (i * 7 % classes) as i32 })
}

#[test]
fn rows_of_any_number() {
    let zeros = |m, n| Tensor::<f32, 2>::zeros([m, n]);
    let softmax = compiled!(kernels::softmax::<f32>, [&matrix(2, 13)], y = zeros(2, 13));
    let loss = compiled!(kernels::cross_entropy::<f32>, [&matrix(2, 13), &targets(2, 13)], y = zeros(2, 1));
    let experts = |m| Tensor::<i32, 2>::zeros([m, 3]);
    let w = matrix(10, 13);
    let gate = compiled!(kernels::moe_gate::<f32>, [&matrix(2, 13), &w], e = experts(2), p = zeros(2, 3));
    for m in ROWS {
        let x = matrix(m, 13);
        agrees!(softmax, kernels::softmax::<f32>, [&x], y = zeros(m, 13));
        agrees!(loss, kernels::cross_entropy::<f32>, [&x, &targets(m, 13)], y = zeros(m, 1));
        agrees!(gate, kernels::moe_gate::<f32>, [&x, &w], e = experts(m), p = zeros(m, 3));
    }
}

#[test]
fn quantized_layers_of_any_number_of_rows() {
    let integers = |m: i64, n: i64| Tensor::<i8, 2>::from_fn([m, n], |[i, j]| (i * 37 + j * 101) as i8);
    let (w, w_scale) = (integers(70, 33), matrix(1, 70));
    let zeros = |m| Tensor::<f32, 2>::zeros([m, 70]);
    let kernel = kernels::w8a8_linear::<f32>;
    let linear = compiled!(kernel, [&integers(2, 33), &matrix(2, 1), &w, &w_scale], y = zeros(2));
    for m in ROWS {
        agrees!(linear, kernel, [&integers(m, 33), &matrix(m, 1), &w, &w_scale], y = zeros(m));
    }
}

#[test]
fn attention_of_any_number_of_sequences_queries_and_keys() {
    let kernel = kernels::attention::<f32>.with(meta! { BQ: 16, BK: 8, CAUSAL: 1 });
    let tensor = |salt, [b, heads, n]: [i64; 3]| tame::<f32, 4>(salt, [b, heads, n, 5]);
    let zeros = |b, s| Tensor::<f32, 4>::zeros([b, 4, s, 5]);
    let lengths = |b, l| Tensor::<i32, 1>::from_fn([b], |[i]| ((l + i) % (l + 1)) as i32);
    let (k, v) = (tensor(2, [1, 2, 3]), tensor(3, [1, 2, 3]));
    let compiled = compiled!(kernel, [&tensor(1, [1, 4, 2]), &k, &v, &lengths(1, 3)], o = zeros(1, 2));
    for [b, s, l] in [[0, 1, 1], [1, 0, 4], [2, 3, 0], [1, 1, 1], [3, 17, 21], [2, 16, 8], [1, 1, 65], [2, 33, 9]] {
        let (q, k, v) = (tensor(1, [b, 4, s]), tensor(2, [b, 2, l]), tensor(3, [b, 2, l]));
        agrees!(compiled, kernel, [&q, &k, &v, &lengths(b, l)], o = zeros(b, s));
    }
}

#[test]
fn one_query_of_any_number() {
    let kernel = kernels::attention_decode::<f32>;
    let cache = |salt, b, l| tame::<f32, 4>(salt, [b, 2, l, 6]);
    let lengths = |b, l: i64| Tensor::<i32, 1>::from_fn([b], |[i]| (i * 7 % (l + 1)) as i32);
    let q = |b| tame::<f32, 3>(1, [b, 4, 6]);
    let zeros = |b| Tensor::<f32, 3>::zeros([b, 4, 6]);
    let compiled = compiled!(kernel, [&q(1), &cache(2, 1, 3), &cache(3, 1, 3), &lengths(1, 3)], o = zeros(1));
    for [b, l] in [[0, 1], [3, 0], [1, 300], [9, 140]] {
        agrees!(compiled, kernel, [&q(b), &cache(2, b, l), &cache(3, b, l), &lengths(b, l)], o = zeros(b));
    }
}

#[test]
fn pages_of_any_number() {
    let kernel = kernels::paged_attention::<f32>;
    let pages = |salt, p| tame::<f32, 4>(salt, [p, 2, 4, 6]);
    let table = |b, n, p: i64| Tensor::<i32, 2>::from_fn([b, n], |[i, j]| ((i * 5 + j * 3) % p) as i32);
    let lengths = |b, n: i64| Tensor::<i32, 1>::from_fn([b], |[i]| (i * 7 % (4 * n + 1)) as i32);
    let q = |b| tame::<f32, 3>(1, [b, 4, 6]);
    let zeros = |b| Tensor::<f32, 3>::zeros([b, 4, 6]);
    let compiled =
        compiled!(kernel, [&q(1), &pages(2, 1), &pages(3, 1), &table(1, 1, 1), &lengths(1, 1)], o = zeros(1));
    for [b, n, p] in [[0, 1, 1], [1, 3, 2], [5, 2, 9], [9, 7, 20]] {
        let (k, v) = (pages(2, p), pages(3, p));
        agrees!(compiled, kernel, [&q(b), &k, &v, &table(b, n, p), &lengths(b, n)], o = zeros(b));
    }
}
