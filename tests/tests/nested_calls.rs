//! Kernels that call kernels: there is nothing to be done with what such a call returns, so rustc says nothing about it, and a failure
//! is that of the outer call.

#![deny(unused_must_use)]

use pypto::prelude::*;

#[pypto::jit]
fn halved(
    n: i64,
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    assert!(n > 0, "N = {N}: {n} and {} have to be positive, {{n}}", n + 1);
    y.set(x * 0.5);
}

#[pypto::jit]
fn quartered<T: Element>(
    n: i64,
    _ones: &Tensor<T, 1>,
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    let mut t = Tensor::<f32, 1>::temp([N]);
    halved(n, x, &mut t);
    if n > 5 {
        self::halved(n, &t, y);
    } else {
        halved(n, &t, y);
    }
}

#[test]
fn calls_of_kernels_in_kernels_need_no_care() {
    let (x, ones) = (Tensor::from_vec(vec![4.0f32, 8.0, -2.0], [3]), Tensor::<f16, 1>::zeros([1]));
    let (mut eager, mut compiled) = (Tensor::zeros([3]), Tensor::zeros([3]));
    quartered::<f16>.eager((6, &ones, &x, &mut eager));
    quartered(6, &ones, &x, &mut compiled).unwrap();
    assert_eq!((eager.to_vec(), compiled.to_vec()), (vec![1.0, 2.0, -0.5], vec![1.0, 2.0, -0.5]));
}

#[test]
fn a_failure_of_an_inner_kernel_is_one_of_the_outer() {
    let (x, ones) = (Tensor::from_vec(vec![4.0f32, 8.0, -2.0], [3]), Tensor::<f16, 1>::zeros([1]));
    let mut y = Tensor::zeros([3]);
    let error = quartered(0, &ones, &x, &mut y).unwrap_err().to_string();
    assert!(error.contains("N = 3: 0 and 1 have to be positive, {n}"), "{error}");
    assert!(error.contains("was called with n = 0"), "{error}");
    let eager = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        quartered::<f16>.eager((0, &ones, &x, &mut Tensor::zeros([3])));
    }));
    let message = eager.unwrap_err().downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(message.contains("N = 3: 0 and 1 have to be positive, {n}"), "{message}");
}
