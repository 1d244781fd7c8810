//! Rows in order, and the largest elements of rows.

use std::rc::Rc;

use pypto::jit::Result;
use pypto::prelude::*;

use crate::inputs::{normal, row};
use crate::workload::{Prepared, Work, Workload, on, prepared};

const SIZE: i64 = 1024;
const LARGEST: i64 = 32;

pub fn workloads() -> Vec<Workload> {
    vec![
        Workload {
            name: "sort rows 1024 x 1024",
            work: Work::elements(SIZE * SIZE, SIZE * SIZE),
            tolerance: 0.0,
            prepare: sorted,
        },
        Workload {
            name: "top 32 of rows 1024 x 1024",
            work: Work::elements(SIZE * SIZE, SIZE * LARGEST),
            tolerance: 0.0,
            prepare: largest,
        },
    ]
}

#[pypto::jit(meta(TM = 16))]
fn sort_rows(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        y.store(at, t.gather(t.row_argsort()));
    }
}

#[pypto::jit(meta(TM = 16))]
fn top(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, K)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, K], [TM, K]) {
        let t = x.tile([at.offset(0), 0], [TM, N]);
        y.store(at, t.gather(t.row_argsort().slice([0, 0], [TM, K])));
    }
}

fn falling(mut row: Vec<f64>) -> Vec<f64> {
    row.sort_by(|a, b| b.total_cmp(a));
    row
}

fn sorted(threads: usize) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([SIZE, SIZE], 1)), Tensor::zeros([SIZE, SIZE]));
    let compiled = sort_rows.compile(&(&*x, &y), &on(threads))?;
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, y));
    Ok(prepared(y, SIZE as usize, call, move |i| falling(row(&input, i))))
}

fn largest(threads: usize) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([SIZE, SIZE], 1)), Tensor::zeros([SIZE, LARGEST]));
    let compiled = top.compile(&(&*x, &y), &on(threads))?;
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, y));
    let reference = move |i| {
        let mut row = falling(row(&input, i));
        row.truncate(LARGEST as usize);
        row
    };
    Ok(prepared(y, SIZE as usize, call, reference))
}
