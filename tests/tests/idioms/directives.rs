//! Assertions, checkpoints, programs, entries.

use pypto::prelude::*;

use crate::{check, f, finish, z};
#[pypto::jit]
fn formatted_assert(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    assert!(n > 0, "n is {n}, but must be positive");
    assert_eq!(M % 2, 0);
    debug_assert!(N > 1);
    y.set(x * n as f32);
}
#[pypto::jit]
fn static_checks(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    static_assert!(M % 2 == 0, "rows come in pairs");
    static_print!("{M} x {N}");
    checkpoint!(x, "input");
    let t = x.exp();
    checkpoint!(t, "exponential");
    y.set(t);
}
#[pypto::program]
mod pipeline_program {
    use pypto::prelude::*;
    #[pypto::function(incore)]
    pub fn first(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
        y.set(x.exp());
    }
    #[pypto::jit(orchestration)]
    pub fn whole(
        #[shape(M, N)] x: &Tensor<f32, 2>,
        #[out]
        #[shape(M, N)]
        y: &mut Tensor<f32, 2>,
    ) {
        first(x, y);
    }
}
use pipeline_program::whole;
#[pypto::jit(host)]
fn host_entry(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    whole(x, y);
}
#[pypto::jit]
fn conditional_task(
    #[shape(1)] flag: &Tensor<i32, 1>,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(M, N)] y: &mut Tensor<f32, 2>,
) {
    if flag.get([0]) > 0 {
        y.set(x * 2.0);
    }
}
#[test]
fn directives_of_every_kind() {
    let mut failures = Vec::new();
    let x = f(1, [10, 33]);
    check!(failures, formatted_assert, [3i64, &x], y = z([10, 33]));
    check!(failures, static_checks, [&x], y = z([10, 33]));
    check!(failures, whole, [&x], y = z([10, 33]));
    check!(failures, host_entry, [&x], y = z([10, 33]));
    check!(failures, conditional_task, [&Tensor::full([1], 1i32), &x], y = z([10, 33]));
    finish(failures);
}
