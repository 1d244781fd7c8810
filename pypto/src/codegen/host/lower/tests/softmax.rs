//! Softmax: the shape that fusion is made for.

use super::kernels::softmax;
use super::run::{cpu_seconds, prepare};
use crate::codegen::host::lir::print_module;
use crate::ops::math::MathFn;

fn reference(x: &[f32], n: usize) -> Vec<f32> {
    let tree = |acc: &mut [f32; 32], op: fn(f32, f32) -> f32| {
        for h in [16, 8, 4, 2, 1] {
            (0..h).for_each(|i| acc[i] = op(acc[i], acc[i + h]));
        }
        acc[0]
    };
    let mut out = Vec::new();
    for row in x.chunks(n) {
        let mut acc = [f32::NEG_INFINITY; 32];
        row.iter().enumerate().for_each(|(j, &v)| acc[j % 32] = acc[j % 32].max(v));
        let max = tree(&mut acc, f32::max);
        let e: Vec<f32> = row.iter().map(|v| MathFn::Exp.eval(v - max)).collect();
        let mut acc = [0f32; 32];
        e.iter().enumerate().for_each(|(j, &v)| acc[j % 32] += v);
        let sum = tree(&mut acc, |a, b| a + b);
        out.extend(e.iter().map(|v| v / sum));
    }
    out
}

#[test]
fn softmax_is_exact_on_ragged_shapes() {
    for (m, n, tile) in [(1, 1, 4), (5, 7, 2), (64, 64, 16), (7, 33, 4), (3, 1000, 64), (33, 31, 32), (8, 257, 8)] {
        let kernel = prepare(&softmax(m, n, tile));
        let x: Vec<f32> = (0..m * n).map(|i| ((i * 7919 % 1000) as f32 - 500.0) * 0.01).collect();
        let mut y = vec![0f32; x.len()];
        let status = kernel.call(&[x.as_ptr() as u64, y.as_mut_ptr() as u64], &mut Vec::new());
        assert_eq!(status, 0);
        let want = reference(&x, n as usize);
        for i in 0..x.len() {
            assert_eq!(y[i].to_bits(), want[i].to_bits(), "{m}x{n} at {i}\n{}", print_module(&kernel.lowered.module));
        }
    }
}

/// Run with `--ignored --nocapture` in release: prints microseconds.
#[test]
#[ignore = "a measurement"]
fn softmax_speed() {
    for (m, n) in [(64i64, 1024i64), (4096, 1024), (64, 128)] {
        let start = cpu_seconds();
        let kernel = prepare(&softmax(m, n, 64));
        let compile = (cpu_seconds() - start) * 1e3;
        let x: Vec<f32> = (0..m * n).map(|i| ((i * 7919 % 1000) as f32 - 500.0) * 0.01).collect();
        let mut y = vec![0f32; x.len()];
        let time = kernel.best(&[x.as_ptr() as u64, y.as_mut_ptr() as u64], 200) * 1e6;
        println!("softmax {m}x{n}: {time:.2} us, compiled in {compile:.1} ms");
    }
}

/// Prints the code of softmax, for reading.
#[test]
#[ignore = "a dump"]
fn softmax_code() {
    let lowered = super::super::lower(&softmax(64, 1024, 64), crate::codegen::host::cpu::Target::host()).unwrap();
    println!("{}", print_module(&lowered.module));
    println!("{}", crate::codegen::host::compile::compile_assembly(&lowered.module).unwrap());
}
