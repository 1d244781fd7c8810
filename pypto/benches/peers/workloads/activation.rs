//! Element by element: activations of the library, and a chain over a whole tensor.

use std::rc::Rc;

use pypto::jit::Result;
use pypto::kernels;
use pypto::prelude::*;

use super::product::gelu_tanh_f64;
use crate::inputs::{normal, row};
use crate::workload::{Prepared, Work, Workload, on, prepared};

pub fn workloads() -> Vec<Workload> {
    let elements = |name, read: i64, count: i64, prepare| Workload {
        name,
        work: Work::elements(read * count, count),
        tolerance: 1e-6,
        prepare,
    };
    vec![
        elements("gelu_tanh 1M", 1, 1 << 20, |t| gelu(t, 1024)),
        elements("gelu_tanh 64K", 1, 1 << 16, |t| gelu(t, 64)),
        elements("swiglu 1M", 2, 1 << 20, |t| swiglu(t, 1024)),
        elements("swiglu 64K", 2, 1 << 16, |t| swiglu(t, 64)),
        elements("chain 32K", 1, 1 << 15, |t| chain_of_ops(t, 1 << 15)),
    ]
}

/// Factor and summand of the chain.
const A: f32 = 1.5;
const B: f32 = 0.25;

/// Ten operations an element.
#[pypto::jit]
pub fn chain(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    let t = x * A + B;
    y.set((-(t * t)).exp() * x.tanh() + x.abs().sqrt());
}

pub fn chain_f64(x: f64) -> f64 {
    let t = x * f64::from(A) + f64::from(B);
    (-t * t).exp() * x.tanh() + x.abs().sqrt()
}

fn gelu(threads: usize, rows: i64) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([rows, 1024], 1)), Tensor::zeros([rows, 1024]));
    let compiled = kernels::gelu_tanh::<f32>.compile(&(&*x, &y), &on(threads))?;
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, y));
    Ok(prepared(y, rows as usize, call, move |i| row(&input, i).into_iter().map(gelu_tanh_f64).collect()))
}

fn swiglu(threads: usize, rows: i64) -> Result<Prepared> {
    let (gate, up) = (Rc::new(normal([rows, 1024], 1)), Rc::new(normal([rows, 1024], 2)));
    let y = Tensor::zeros([rows, 1024]);
    let compiled = kernels::swiglu::<f32>.compile(&(&*gate, &*up, &y), &on(threads))?;
    let (a, b) = (gate.clone(), up.clone());
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*gate, &*up, y));
    let reference = move |i| row(&a, i).iter().zip(row(&b, i)).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
    Ok(prepared(y, rows as usize, call, reference))
}

pub fn chain_of_ops(threads: usize, n: i64) -> Result<Prepared> {
    let (x, y) = (Rc::new(normal([n], 1)), Tensor::zeros([n]));
    let compiled = chain.compile(&(&*x, &y), &on(threads))?;
    let input = x.clone();
    let call = move |y: &mut Tensor<f32, 1>| compiled.call((&*x, y));
    Ok(prepared(y, 1, call, move |_| input.as_slice().iter().map(|v| chain_f64(f64::from(*v))).collect()))
}
