//! A call that does next to nothing: what remains is the way to the kernel.

use std::rc::Rc;

use pypto::jit::Result;
use pypto::prelude::*;

use crate::inputs::normal;
use crate::workload::{Prepared, Work, Workload, prepared};

pub fn workloads() -> Vec<Workload> {
    let work = Work::elements(64, 64);
    vec![Workload { name: "warm call, 64 elements", work, tolerance: 1e-6, prepare: warm_call }]
}

#[pypto::jit]
fn affine(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x * 2.0 + 1.0);
}

/// By the function itself, as users call it; so small a call runs on the calling thread.
fn warm_call(_threads: usize) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([64], 1)), Tensor::zeros([64]));
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 1>| affine(&x, y).map(drop);
    Ok(prepared(y, 1, call, move |_| input.as_slice().iter().map(|v| f64::from(*v) * 2.0 + 1.0).collect()))
}
