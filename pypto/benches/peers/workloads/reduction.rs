//! Sums of rows and of columns, over a whole tensor.

use std::rc::Rc;

use pypto::jit::Result;
use pypto::prelude::*;

use crate::inputs::{normal, row};
use crate::workload::{Prepared, Work, Workload, on, prepared};

const SIZE: i64 = 4096;

pub fn workloads() -> Vec<Workload> {
    let case = |name, prepare| Workload { name, work: Work::elements(SIZE * SIZE, SIZE), tolerance: 5e-6, prepare };
    vec![case("row_sum 4096 x 4096", rows), case("col_sum 4096 x 4096", columns)]
}

#[pypto::jit]
fn row_sums(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, 1)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.row_sum());
}

#[pypto::jit]
fn column_sums(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(1, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.col_sum());
}

fn rows(threads: usize) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([SIZE, SIZE], 1)), Tensor::zeros([SIZE, 1]));
    let compiled = row_sums.compile(&(&*x, &y), &on(threads))?;
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, y));
    Ok(prepared(y, 1, call, move |_| (0..SIZE as usize).map(|i| row(&input, i).iter().sum()).collect()))
}

fn columns(threads: usize) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([SIZE, SIZE], 1)), Tensor::zeros([1, SIZE]));
    let compiled = column_sums.compile(&(&*x, &y), &on(threads))?;
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, y));
    let reference = move |_| {
        let mut sums = vec![0.0; SIZE as usize];
        for i in 0..SIZE as usize {
            sums.iter_mut().zip(row(&input, i)).for_each(|(sum, value)| *sum += value);
        }
        sums
    };
    Ok(prepared(y, 1, call, reference))
}
