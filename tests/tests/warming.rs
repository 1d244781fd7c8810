//! Kernels that are compiled ahead are found by the calls that come. One test: the counters are those of the process.

use pypto::ir::DType;
use pypto::jit::{TensorSpec, stats};
use pypto::prelude::*;

#[pypto::jit(meta(T = 8))]
fn halved<E: Element>(
    #[shape(dyn M, N)] x: &Tensor<E, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<E, 2>,
) {
    for at in tiles([M, N], [T, N]) {
        y.store(at, (x.load(at).cast::<f32>() * 0.5).cast::<E>());
    }
}

#[pypto::jit]
fn raised(
    #[shape(4)] x: &Tensor<f32, 1>,
    #[spec] by: i64,
    #[out]
    #[shape(4)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x + by as f32);
}

#[test]
fn calls_find_what_was_warmed() {
    let wide = TensorSpec::new(DType::F32, [16, 40]);
    let short = TensorSpec::new(DType::F16, [16, 40]);
    let four = TensorSpec::new(DType::F32, [4]);
    pypto::warm([
        halved::<f32>.for_arguments(&(wide.clone(), wide.clone())),
        halved::<f16>.for_arguments(&(short.clone(), short)),
        halved::<f32>.with(meta! {T: 4}).for_arguments(&(wide.clone(), wide.clone())),
        raised.for_arguments(&(four.clone(), 3i64, four)),
    ])
    .unwrap();
    // Again: there is nothing to do.
    let before = stats();
    halved::<f32>.warm(&(wide.clone(), wide.clone())).unwrap();
    halved::<f32>.with(meta! {T: 4}).warm(&(wide.clone(), wide)).unwrap();

    // Another number of rows is the same variant: it is `dyn`.
    let (x, mut y) = (Tensor::full([24, 40], 3.0f32), Tensor::zeros([24, 40]));
    halved(&x, &mut y).unwrap();
    assert_eq!(y.get([23, 39]), 1.5);
    halved.with(meta! {T: 4})(&x, &mut y).unwrap();
    let (x, mut y) = (Tensor::full([16, 40], f16::from_f32(3.0)), Tensor::zeros([16, 40]));
    halved(&x, &mut y).unwrap();
    let (x, mut y) = (Tensor::full([4], 1.0f32), Tensor::zeros([4]));
    raised(&x, 3, &mut y).unwrap();
    assert_eq!(y.to_vec(), [4.0; 4]);

    let after = stats();
    assert_eq!((after.compiled, after.loaded), (before.compiled, before.loaded));

    // Arguments that do not fit are told as a call tells them.
    let wrong = TensorSpec::new(DType::F32, [5]);
    let error = raised.warm(&(wrong.clone(), 3i64, wrong)).unwrap_err();
    assert!(error.to_string().contains("dimension 0 of `x` must be 4, got 5"), "{error}");
}
