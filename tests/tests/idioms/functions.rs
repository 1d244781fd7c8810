//! Functions that kernels call, structs of tensors, early returns, outputs.

use pypto::prelude::*;

use crate::{check, f, finish, z};
pub mod helpers {
    use pypto::prelude::*;
    #[pypto::function(inline)]
    pub fn gelu(x: Tile<f32>) -> Tile<f32> {
        0.5 * x * (1.0 + (x * 0.70710678).erf())
    }
    #[pypto::function(inline)]
    pub fn mean_and_rstd(x: Tile<f32>, n: i64, eps: f32) -> (Tile<f32>, Tile<f32>) {
        let mean = x.row_sum() / n as f32;
        let d = x - mean;
        let var = (d * d).row_sum() / n as f32;
        (mean, (var + eps).rsqrt())
    }
    #[pypto::function(inline)]
    pub fn scale<T: Element>(x: Tile<T>, s: T) -> Tile<T> {
        x * s
    }
    #[pypto::function(inline)]
    pub fn is_even(i: i64) -> bool {
        i % 2 == 0
    }
    #[pypto::function(inline)]
    pub fn clamp_index(i: i64, n: i64) -> i64 {
        i.max(0).min(n - 1)
    }
    #[pypto::function]
    pub fn add_into(x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
        y.set(x + y.load_all());
    }
}
use helpers::{mean_and_rstd, scale as times};

#[pypto::jit(meta(TM = 4))]
fn layer_norm(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(1, N)] g: &Tensor<f32, 2>,
    eps: f32,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let (mean, rstd) = mean_and_rstd(t, N, eps);
        y.store(at, (t - mean) * rstd * g);
    }
}
#[pypto::jit]
fn uses_paths(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    y.set(times(helpers::gelu(x.load_all()), 2.0));
}
#[pypto::jit]
fn generic_kernel<T: Element>(
    #[shape(M, N)] x: &Tensor<T, 2>,
    s: T,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<T, 2>,
) {
    y.set(times(x.load_all(), s));
}
#[pypto::jit]
fn bool_helper(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in 0..M {
        let row = x.tile([helpers::clamp_index(i + 1, M), 0], [1, N]);
        let v = if helpers::is_even(i) { row } else { -row };
        y.store([i, 0], v);
    }
}
#[pypto::function(incore)]
fn up(#[shape(M, K)] x: &Tensor<f32, 2>, w: &Tensor<f32, 2>, #[out] h: &mut Tensor<f32, 2>) {
    h.set(matmul(x, w).relu());
}
#[pypto::function(incore)]
fn down(h: &Tensor<f32, 2>, w: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    y.set(matmul(h, w));
}
#[pypto::jit(orchestration)]
fn ffn(
    #[shape(M, K)] x: &Tensor<f32, 2>,
    #[shape(K, F)] w1: &Tensor<f32, 2>,
    #[shape(F, K)] w2: &Tensor<f32, 2>,
    #[out]
    #[shape(M, K)]
    y: &mut Tensor<f32, 2>,
) {
    let mut h = Tensor::<f32, 2>::temp([M, F]);
    #[task(t0)]
    up(x, w1, &mut h);
    #[task(after = [t0])]
    down(&h, w2, y);
}
// natural: chunks of rows by a function that returns a tensor
#[pypto::function]
fn squared(#[shape(M, N)] x: &Tensor<f32, 2>) -> Tensor<f32, 2> {
    let mut y = Tensor::temp([M, N]);
    y.set(x * x);
    y
}
#[pypto::jit]
fn calls_returning(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let s = squared(x);
    y.set(&s + 1.0);
}
#[pypto::jit]
fn chunked(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(0.0);
    for i in (0..M).step_by(4) {
        helpers::add_into(&x.rows(i, 4), &mut y.rows_mut(i, 4));
    }
}
#[pypto::jit]
fn two_outputs(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, 1)]
    hi: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, 1)]
    lo: &mut Tensor<f32, 2>,
) {
    hi.set(x.row_max());
    lo.set(x.row_min());
}
#[pypto::jit]
fn in_place(#[shape(M, N)] y: &mut Tensor<f32, 2>) {
    y.set(&*y + 1.0);
}
#[pypto::jit]
fn add_in_place(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    *y += x;
}
#[pypto::jit]
fn kernel_calls_kernel(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    uses_paths(x, y);
}
#[pypto::jit]
fn dynamic_batch(
    #[shape(dyn B, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn B, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([B, N], [8, N]) {
        y.store(at, x.load(at).exp());
    }
}
// early return
#[pypto::jit]
fn early_return(n: i64, #[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    if n == 0 {
        return;
    }
    y.set(x * 2.0);
}
#[pypto::function(inline)]
fn sign(x: f32) -> f32 {
    if x < 0.0 {
        return -1.0;
    }
    if x > 0.0 { 1.0 } else { 0.0 }
}
#[pypto::jit]
fn uses_sign(
    s: f32,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x * sign(s));
}

#[derive(pypto::Args)]
pub struct Linear<'a> {
    #[shape(K, N)]
    w: &'a Tensor<f32, 2>,
    #[shape(1, N)]
    b: &'a Tensor<f32, 2>,
    scale: f32,
}
#[pypto::function(inline)]
fn linear(x: Tile<f32>, l: &Linear) -> Tile<f32> {
    (matmul(x, l.w) + l.b) * l.scale
}
#[pypto::jit]
fn with_struct(
    #[shape(M, K)] x: &Tensor<f32, 2>,
    l: &Linear<'_>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(linear(x.load_all(), l));
}

#[pypto::jit]
fn either_way(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    if n < 0 {
        y.set(0.0);
        return;
    } else if n == 0 {
        y.set(x);
        return;
    }
    let t = x * n as f32;
    y.set(t);
}
#[pypto::jit]
fn view_in_place(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for i in range(0, M, 2) {
        *y.rows_mut(i, 2) += &x.rows(i, 2);
    }
    *y *= 0.5;
}

#[test]
fn functions_of_every_kind() {
    let mut failures = Vec::new();
    check!(failures, layer_norm, [&f(1, [10, 33]), &f(2, [1, 33]), 1e-5], y = z([10, 33]));
    check!(failures, uses_paths, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, generic_kernel::<f32>, [&f(1, [10, 33]), 3.0], y = z([10, 33]));
    check!(failures, generic_kernel::<i32>, [&Tensor::full([2, 3], 7i32), 3], y = Tensor::<i32, 2>::zeros([2, 3]));
    check!(failures, bool_helper, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, ffn, [&f(1, [10, 8]), &f(2, [8, 16]), &f(3, [16, 8])], y = z([10, 8]));
    check!(failures, calls_returning, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, chunked, [&f(1, [12, 33])], y = z([12, 33]));
    check!(failures, two_outputs, [&f(1, [10, 33])], hi = z([10, 1]), lo = z([10, 1]));
    check!(failures, in_place, [], y = f(1, [10, 33]));
    check!(failures, add_in_place, [&f(2, [10, 33])], y = f(1, [10, 33]));
    check!(failures, kernel_calls_kernel, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, dynamic_batch, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, early_return, [1i64, &f(1, [10, 33])], y = z([10, 33]));
    check!(failures, early_return, [0i64, &f(1, [10, 33])], y = z([10, 33]));
    check!(failures, uses_sign, [-2.0, &f(1, [10, 33])], y = z([10, 33]));
    let (w, b) = (f(2, [8, 5]), f(3, [1, 5]));
    check!(failures, with_struct, [&f(1, [4, 8]), &Linear { w: &w, b: &b, scale: 0.5 }], y = z([4, 5]));
    for n in [-1i64, 0, 3] {
        check!(failures, either_way, [n, &f(1, [10, 33])], y = z([10, 33]));
    }
    check!(failures, view_in_place, [&f(2, [10, 33])], y = f(1, [10, 33]));
    finish(failures);
}

/// Kernels that a macro makes of their bodies.
macro_rules! kernels {
    ($($name:ident($x:ident, $y:ident) $body:block)*) => { $(
        #[pypto::jit]
        fn $name(#[shape(M, N)] $x: &Tensor<f32, 2>, #[shape(M, N)] $y: &mut Tensor<f32, 2>) $body
    )* };
}

kernels! {
    doubled_by_macro(x, y) { y.set(x * 2.0); }
    rows_by_macro(x, y) {
        for i in 0..4 {
            y.store([i, 0], x.tile([i, 0], [1, 8]) + 1.0);
        }
    }
}

#[test]
fn kernels_made_by_macros() {
    let mut failures = Vec::new();
    check!(failures, doubled_by_macro, [&f(1, [4, 8])], y = z([4, 8]));
    check!(failures, rows_by_macro, [&f(1, [4, 8])], y = z([4, 8]));
    finish(failures);
}
