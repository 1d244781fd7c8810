//! One step of decoding: each sequence has one new query for every head, and keys and values that lie in pages anywhere
//! in a cache. A table says which pages a sequence has, another how many positions of them are filled.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, random, report, run, softmax_f64, wide};

#[pypto::jit]
pub fn paged_attention(
    #[shape(B, H, D)] q: &Tensor<f32, 3>,
    #[shape(P, L, D)] k_pages: &Tensor<f32, 3>,
    #[shape(P, L, D)] v_pages: &Tensor<f32, 3>,
    #[shape(B, T)] table: &Tensor<i32, 2>,
    #[shape(B)] lengths: &Tensor<i32, 1>,
    #[out]
    #[shape(B, H, D)]
    o: &mut Tensor<f32, 3>,
) {
    let scale = 1.0 / (D as f32).sqrt();
    for b in 0..B {
        let length = lengths.get([b]) as i64;
        let queries = q.at(b).load_all() * scale;
        let mut m = Tile::full([H, 1], f32::NEG_INFINITY);
        let mut l = Tile::zeros([H, 1]);
        let mut acc = Tile::zeros([H, D]);
        for i in 0..ceil_div(length, L) {
            let page = table.get([b, i]) as i64;
            let scores = matmul(queries, k_pages.at(page).load_all().t());
            let position = Tile::<i32>::iota([1, L], 1, (i * L) as i32);
            let scores = position.lt(length as i32).select(scores, f32::NEG_INFINITY);
            let m_new = m.max(scores.row_max());
            let p = (scores - m_new).exp();
            let fix = (m - m_new).exp();
            l = l * fix + p.row_sum();
            acc = acc * fix + matmul(p, v_pages.at(page).load_all());
            m = m_new;
        }
        o.at_mut(b).set(acc / l);
    }
}

/// Where the pages of each sequence are, given out in no order, none twice.
pub fn page_table(lengths: &[i64], page: i64) -> (Tensor<i32, 2>, i64) {
    let most = lengths.iter().map(|n| (n + page - 1) / page).max().unwrap_or(0);
    let sequences = lengths.len() as i64;
    let pages = most * sequences;
    // Backwards, sequence by sequence in turn.
    (Tensor::from_fn([sequences, most], |[b, i]| (pages - 1 - i * sequences - b) as i32), pages)
}

struct Cache {
    k: Vec<f64>,
    v: Vec<f64>,
    table: Vec<i32>,
    page: usize,
}

fn reference(q: &[f64], cache: &Cache, lengths: &[i64], h: usize, d: usize) -> Vec<f64> {
    let mut out = vec![0.0; q.len()];
    let most = cache.table.len() / lengths.len();
    for row in 0..lengths.len() * h {
        let sequence = row / h;
        // The row of the cache that holds a position.
        let place = |j: usize| cache.table[sequence * most + j / cache.page] as usize * cache.page + j % cache.page;
        let length = lengths[sequence] as usize;
        let dot = |j: usize| (0..d).map(|e| q[row * d + e] * cache.k[place(j) * d + e]).sum::<f64>();
        let mut scores: Vec<f64> = (0..length).map(|j| dot(j) / (d as f64).sqrt()).collect();
        softmax_f64(&mut scores, length);
        for (j, p) in scores.iter().enumerate() {
            for e in 0..d {
                out[row * d + e] += p * cache.v[place(j) * d + e];
            }
        }
    }
    out
}

fn check(lengths: &[i64], [h, d, page]: [i64; 3]) -> Outcome {
    let b = lengths.len() as i64;
    let (table, pages) = page_table(lengths, page);
    let (q, k, v) = (random([b, h, d], 26), random([pages, page, d], 27), random([pages, page, d], 28));
    let filled = Tensor::from_fn([b], |[i]| lengths[i as usize] as i32);
    let mut o = Tensor::zeros([b, h, d]);
    let time = best_time(|| run!(paged_attention; &q, &k, &v, &table, &filled, &mut o))?;

    let cache = Cache { k: wide(&k), v: wide(&v), table: table.to_vec(), page: page as usize };
    let expected = reference(&wide(&q), &cache, lengths, h as usize, d as usize);
    let name = format!("paged attention, {b} sequences, {h} heads of {d}, pages of {page}");
    report(&name, max_error(&o, &expected), 2e-6, time)
}

pub fn main() -> Outcome {
    check(&[200, 17, 64, 129], [16, 64, 64])?;
    check(&[1, 50, 33], [5, 48, 16])
}

#[test]
fn checks_itself() {
    main().unwrap();
}
