//! Data that moves: a transpose, a stencil by shifted views, rows by index, and a histogram.

use std::cell::OnceCell;
use std::rc::Rc;

use pypto::jit::Result;
use pypto::prelude::*;

use crate::inputs::{integers, normal, row};
use crate::workload::{Prepared, Work, Workload, on, prepared};

/// Extents of the matrix that is transposed, and of the grid of the stencil.
const T: i64 = 4096;
const G: i64 = 2048;
const SWEEPS: usize = 10;

pub fn workloads() -> Vec<Workload> {
    vec![
        Workload { name: "transpose 4096 x 4096", work: Work::elements(T * T, T * T), tolerance: 0.0, prepare: turned },
        Workload {
            name: "stencil 2048 x 2048, 10 sweeps",
            work: Work { passes: SWEEPS as f64, ..Work::elements(G * G, G * G) },
            tolerance: 2e-6,
            prepare: stencil,
        },
        Workload {
            name: "embedding 512 of 32000 x 768",
            work: Work::elements(512 * 768, 512 * 768),
            tolerance: 0.0,
            prepare: embedding,
        },
        Workload {
            name: "histogram 1M, 256 bins",
            work: Work::elements(1 << 20, 256),
            tolerance: 0.0,
            prepare: histogram,
        },
    ]
}

#[pypto::jit]
fn transpose(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(N, M)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.t());
}

/// One Jacobi step of a five-point stencil; the border of `y` stays.
#[pypto::jit]
fn sweep(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    let inner = [M - 2, N - 2];
    let (middle, above, below) = (x.view([1, 1], inner), x.view([0, 1], inner), x.view([2, 1], inner));
    let (left, right) = (x.view([1, 0], inner), x.view([1, 2], inner));
    let sum = middle.load_all() + above.load_all() + below.load_all() + left.load_all() + right.load_all();
    y.view_mut([1, 1], inner).set(0.2 * sum);
}

#[pypto::jit(meta(TM = 16))]
fn embed(
    #[shape(V, D)] table: &Tensor<f32, 2>,
    #[shape(M, 1)] ids: &Tensor<i32, 2>,
    #[out]
    #[shape(M, D)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, D], [TM, D]) {
        y.store(at, table.gather_rows(ids.tile([at.offset(0), 0], [TM, 1])));
    }
}

#[pypto::jit]
fn count(
    #[shape(N)] x: &Tensor<i32, 1>,
    #[out]
    #[shape(BINS)]
    bins: &mut Tensor<i32, 1>,
) {
    bins.set(0);
    for i in 0..N {
        let bin = x.get([i]) as i64;
        bins.put([bin], bins.get([bin]) + 1);
    }
}

fn turned(threads: usize) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([T, T], 1)), Tensor::zeros([T, T]));
    let compiled = transpose.compile(&(&*x, &y), &on(threads))?;
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, y));
    let reference = move |i| (0..T).map(|j| f64::from(input.get([j, i as i64]))).collect();
    Ok(prepared(y, T as usize, call, reference))
}

fn stencil(threads: usize) -> Result<Prepared> {
    let x = Rc::new(normal([G, G], 1));
    // The border is never written: both buffers get it from the start.
    let (y, mut other) = ((*x).clone(), (*x).clone());
    let compiled = sweep.compile(&(&*x, &y), &on(threads))?;
    let (input, exact) = (x.clone(), OnceCell::new());
    let call = move |y: &mut Tensor<f32, 2>| {
        compiled.call((&*x, &mut other))?;
        for step in 1..SWEEPS {
            if step % 2 == 1 { compiled.call((&other, &mut *y))? } else { compiled.call((&*y, &mut other))? }
        }
        Ok(())
    };
    let reference = move |i: usize| {
        let all: &Vec<f64> = exact.get_or_init(|| stencil_f64(&input));
        all[i * G as usize..][..G as usize].to_vec()
    };
    Ok(prepared(y, G as usize, call, reference))
}

fn stencil_f64(x: &Tensor<f32, 2>) -> Vec<f64> {
    let n = G as usize;
    let mut from: Vec<f64> = x.as_slice().iter().map(|v| f64::from(*v)).collect();
    let mut to = from.clone();
    for _ in 0..SWEEPS {
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let at = i * n + j;
                to[at] = 0.2 * (from[at] + from[at - n] + from[at + n] + from[at - 1] + from[at + 1]);
            }
        }
        std::mem::swap(&mut from, &mut to);
    }
    from
}

fn embedding(threads: usize) -> Result<Prepared> {
    let table = Rc::new(normal([32000, 768], 1));
    let ids = Rc::new(integers([512, 1], 32000, 2));
    let y = Tensor::zeros([512, 768]);
    let compiled = embed.compile(&(&*table, &*ids, &y), &on(threads))?;
    let (rows, chosen) = (table.clone(), ids.clone());
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*table, &*ids, y));
    Ok(prepared(y, 512, call, move |i| row(&rows, chosen.get([i as i64, 0]) as usize)))
}

fn histogram(threads: usize) -> Result<Prepared> {
    let x = Rc::new(integers([1 << 20], 256, 1));
    let bins = Tensor::zeros([256]);
    let compiled = count.compile(&(&*x, &bins), &on(threads))?;
    let input = x.clone();
    let call = move |bins: &mut Tensor<i32, 1>| compiled.call((&*x, bins));
    let reference = move |_| {
        let mut bins = vec![0.0; 256];
        input.as_slice().iter().for_each(|v| bins[*v as usize] += 1.0);
        bins
    };
    Ok(prepared(bins, 1, call, reference))
}
