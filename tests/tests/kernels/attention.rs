//! Attention: ragged, causal, with groups of heads, and with keys in pages.

use pypto::kernels;
use pypto::prelude::*;

use crate::every_way::{Float, near, outputs, tame, wide};

/// What one query of `d` elements gets from keys and values.
fn attended(query: &[f64], keys: &[Vec<f64>], values: &[Vec<f64>]) -> Vec<f64> {
    let d = query.len();
    let score = |key: &Vec<f64>| key.iter().zip(query).map(|(a, b)| a * b).sum::<f64>() / (d as f64).sqrt();
    let weights: Vec<f64> = keys.iter().map(|key| score(key).exp()).collect();
    let sum: f64 = weights.iter().sum();
    (0..d)
        .map(|e| {
            weights.iter().zip(values).map(|(w, v)| w * v[e]).sum::<f64>() / if keys.is_empty() { 1.0 } else { sum }
        })
        .collect()
}

/// Extents of a case: sequences, heads of queries and of keys, queries, keys, size of a head.
struct Case {
    b: i64,
    h: i64,
    g: i64,
    s: i64,
    l: i64,
    d: i64,
    lengths: &'static [i32],
}

fn check<T: Float>(case: Case, causal: bool) {
    let Case { b, h, g, s, l, d, lengths } = case;
    let (q, k, v) = (tame::<T, 4>(1, [b, h, s, d]), tame::<T, 4>(2, [b, g, l, d]), tame::<T, 4>(3, [b, g, l, d]));
    let counts = Tensor::from_vec(lengths.to_vec(), [b]);
    let (queries, keys, values) = (wide(&q), wide(&k), wide(&v));
    let row = |from: &[f64], at: i64| from[(at * d) as usize..((at + 1) * d) as usize].to_vec();
    let mut expected = Vec::new();
    for at in 0..b * h * s {
        let (sequence, head, query) = (at / (h * s), at / s % h, at % s);
        let length = i64::from(lengths[sequence as usize]);
        let seen = if causal { (length - s + query + 1).max(0) } else { length };
        let start = (sequence * g + head / (h / g)) * l;
        let pick = |from: &[f64]| (start..start + seen).map(|key| row(from, key)).collect::<Vec<_>>();
        expected.extend(attended(&row(&queries, at), &pick(&keys), &pick(&values)));
    }
    // Rows lie across the lanes of vectors where a block has enough of them.
    for (rows, columns) in [(16, 8), (64, 64)] {
        let kernel = kernels::attention::<T>.with(meta! { BQ: rows, BK: columns, CAUSAL: i64::from(causal) });
        let (o,) = outputs!(kernel, [&q, &k, &v, &counts], o = Tensor::<T, 4>::zeros([b, h, s, d]));
        near(&o, &expected);
    }
}

#[test]
fn ragged_sequences_and_groups_of_heads() {
    check::<f32>(Case { b: 2, h: 2, g: 1, s: 75, l: 150, d: 32, lengths: &[150, 77] }, false);
    check::<f32>(Case { b: 1, h: 1, g: 1, s: 1, l: 1, d: 1, lengths: &[1] }, false);
    check::<f32>(Case { b: 3, h: 4, g: 2, s: 17, l: 21, d: 5, lengths: &[21, 0, 9] }, false);
    check::<f16>(Case { b: 2, h: 3, g: 1, s: 5, l: 19, d: 16, lengths: &[8, 19] }, false);
    check::<bf16>(Case { b: 2, h: 2, g: 2, s: 18, l: 7, d: 8, lengths: &[7, 3] }, false);
}

#[test]
fn causal() {
    check::<f32>(Case { b: 2, h: 2, g: 2, s: 75, l: 150, d: 64, lengths: &[150, 77] }, true);
    check::<f32>(Case { b: 2, h: 2, g: 1, s: 17, l: 21, d: 5, lengths: &[21, 17] }, true);
    // More queries than keys: the first ones see nothing.
    check::<f32>(Case { b: 2, h: 1, g: 1, s: 19, l: 9, d: 4, lengths: &[9, 2] }, true);
    check::<bf16>(Case { b: 1, h: 4, g: 2, s: 1, l: 33, d: 16, lengths: &[30] }, true);
}

fn check_decode<T: Float>([b, h, g, l, d]: [i64; 5], lengths: &[i32]) {
    let (q, k, v) = (tame::<T, 3>(1, [b, h, d]), tame::<T, 4>(2, [b, g, l, d]), tame::<T, 4>(3, [b, g, l, d]));
    let counts = Tensor::from_vec(lengths.to_vec(), [b]);
    let kernel = kernels::attention_decode::<T>.with(meta! { BK: 8, PARTS: 3 });
    let (o,) = outputs!(kernel, [&q, &k, &v, &counts], o = Tensor::<T, 3>::zeros([b, h, d]));

    let (queries, keys, values) = (wide(&q), wide(&k), wide(&v));
    let row = |from: &[f64], at: i64| from[(at * d) as usize..((at + 1) * d) as usize].to_vec();
    let mut expected = Vec::new();
    for at in 0..b * h {
        let start = (at / h * g + at % h / (h / g)) * l;
        let pick = |from: &[f64]| {
            (start..start + i64::from(lengths[(at / h) as usize])).map(|key| row(from, key)).collect::<Vec<_>>()
        };
        expected.extend(attended(&row(&queries, at), &pick(&keys), &pick(&values)));
    }
    near(&o, &expected);
}

#[test]
fn one_query_and_parts_of_keys() {
    check_decode::<f32>([1, 1, 1, 1, 1], &[1]);
    check_decode::<f32>([3, 4, 2, 60, 16], &[60, 0, 9]);
    check_decode::<bf16>([2, 6, 1, 33, 8], &[33, 17]);
}

fn check_pages<T: Float>([b, h, g, d, page, pages]: [i64; 6], lengths: &[i32]) {
    let columns = lengths.iter().map(|n| (i64::from(*n) + page - 1) / page).max().unwrap_or(0).max(1);
    let (q, k, v) =
        (tame::<T, 3>(1, [b, h, d]), tame::<T, 4>(2, [pages, g, page, d]), tame::<T, 4>(3, [pages, g, page, d]));
    // Entries that no length reaches are not numbers of pages.
    let table = Tensor::from_fn([b, columns], |[sequence, n]| {
        if n * page < i64::from(lengths[sequence as usize]) { ((sequence * 5 + n * 3 + 1) % pages) as i32 } else { -1 }
    });
    let counts = Tensor::from_vec(lengths.to_vec(), [b]);
    let zeros = || Tensor::<T, 3>::zeros([b, h, d]);
    let (o,) = outputs!(kernels::paged_attention::<T>, [&q, &k, &v, &table, &counts], o = zeros());

    let (queries, keys, values) = (wide(&q), wide(&k), wide(&v));
    let row = |from: &[f64], at: i64| from[(at * d) as usize..((at + 1) * d) as usize].to_vec();
    let mut expected = Vec::new();
    for at in 0..b * h {
        let (sequence, group) = (at / h, at % h / (h / g));
        let place = |key: i64| {
            let number = i64::from(table.get([sequence, key / page]));
            (number * g + group) * page + key % page
        };
        let pick = |from: &[f64]| {
            let length = i64::from(lengths[sequence as usize]);
            (0..length).map(|key| row(from, place(key))).collect::<Vec<_>>()
        };
        expected.extend(attended(&row(&queries, at), &pick(&keys), &pick(&values)));
    }
    near(&o, &expected);
}

#[test]
fn keys_in_pages() {
    check_pages::<f32>([3, 4, 2, 5, 4, 9], &[13, 0, 8]);
    check_pages::<f32>([1, 1, 1, 1, 1, 1], &[1]);
    check_pages::<bf16>([2, 8, 2, 16, 16, 7], &[33, 16]);
}

#[test]
fn a_page_that_there_is_not_is_an_error() {
    let (q, cache) = (Tensor::<f32, 3>::zeros([1, 1, 4]), Tensor::<f32, 4>::zeros([2, 1, 4, 4]));
    let (table, lengths) = (Tensor::from_vec(vec![2], [1, 1]), Tensor::from_vec(vec![3], [1]));
    let outcome = kernels::paged_attention(&q, &cache, &cache, &table, &lengths, &mut Tensor::zeros([1, 1, 4]));
    assert!(outcome.unwrap_err().to_string().contains("the table holds numbers of pages"));
    let too_long = Tensor::from_vec(vec![5], [1]);
    let outcome = kernels::paged_attention(&q, &cache, &cache, &table, &too_long, &mut Tensor::zeros([1, 1, 4]));
    assert!(outcome.unwrap_err().to_string().contains("a length counts keys"));
}
