//! The handles of kernels: for every number of parameters, and with other values of `meta(..)` parameters.

use pypto::prelude::*;

/// No parameters: what it gives, it returns.
#[pypto::jit(meta(N = 3))]
fn ramp() -> Tensor<f32, 1> {
    let mut y = Tensor::temp([N]);
    for i in 0..N {
        y.put([i], i as f32 + 0.5);
    }
    y
}

#[test]
fn kernels_without_parameters_have_handles() {
    assert_eq!(ramp().unwrap().to_vec(), [0.5, 1.5, 2.5]);
    assert_eq!(ramp.eager(()).to_vec(), [0.5, 1.5, 2.5]);
    let compiled = ramp.compile(&(), &RunConfig::default()).unwrap();
    assert_eq!(compiled.call(()).unwrap().to_vec(), [0.5, 1.5, 2.5]);
    assert_eq!(ramp.lower(&()).unwrap().name, "ramp");
    assert_eq!(ramp.key(&()).unwrap().kernel(), "ramp");
    assert_eq!(ramp.ir().params.len(), 0);
    assert_eq!(ramp.with(meta! {N: 1})().unwrap().to_vec(), [0.5]);
    assert_eq!(ramp.with(meta! {N: 1}).eager(()).to_vec(), [0.5]);
    assert_eq!(ramp.with(meta! {N: 1}).ir().name.name, "ramp");
}

/// As many parameters as there are handles for.
#[rustfmt::skip]
#[pypto::jit]
fn weighted(
    a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, j: i64, k: i64, l: i64,
    m: i64, n: i64, o: i64, p: i64, q: i64, r: i64, s: i64, t: i64, u: i64, v: i64,
    x: &Tensor<i64, 1>,
    #[out] y: &mut Tensor<i64, 1>,
) {
    let low = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k;
    let high = 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t + 21 * u + 22 * v;
    y.set(x + (low + high));
}

#[test]
#[rustfmt::skip]
fn kernels_with_many_parameters_have_handles() {
    let x = Tensor::from_vec(vec![1i64, -5], [2]);
    let mut y = Tensor::zeros([2]);
    // The sum of the squares from 1 to 22.
    let expected = [3796, 3790];
    macro_rules! arguments {
        ($y:expr) => { (1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64, 15i64,
            16i64, 17i64, 18i64, 19i64, 20i64, 21i64, 22i64, &x, $y) };
    }
    weighted(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, &x, &mut y).unwrap();
    assert_eq!(y.as_slice(), expected);
    y = Tensor::zeros([2]);
    weighted.eager(arguments!(&mut y));
    assert_eq!(y.as_slice(), expected);
    let compiled = weighted.compile(&arguments!(&y), &RunConfig::default()).unwrap();
    y = Tensor::zeros([2]);
    compiled.call(arguments!(&mut y)).unwrap();
    assert_eq!(y.as_slice(), expected);
    assert_eq!(weighted.lower(&arguments!(&y)).unwrap().name, "weighted");
    assert_eq!(weighted.key(&arguments!(&y)).unwrap(), *compiled.key());
    let error = weighted.with(meta! {N: 1}).lower(&arguments!(&y)).unwrap_err();
    assert!(error.to_string().contains("has no meta parameter `N`"), "{error}");
}

#[pypto::jit(meta(STEP = 2))]
fn stepped(#[shape(N)] x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in range(0, N, STEP) {
        y.put([i], x.get([i]));
    }
}

#[test]
fn eager_bodies_see_the_meta_values_that_with_gives() {
    let x = Tensor::from_fn([7], |[i]| i as f32 + 1.0);
    for step in [1, 2, 3, 7] {
        let (mut compiled, mut eager) = (Tensor::zeros([7]), Tensor::zeros([7]));
        stepped.with(meta! {STEP: step})(&x, &mut compiled).unwrap();
        stepped.with(meta! {STEP: step}).eager((&x, &mut eager));
        assert_eq!(compiled.as_slice(), eager.as_slice(), "step {step}");
    }
    let mut y = Tensor::zeros([7]);
    stepped.eager((&x, &mut y));
    assert_eq!(y.as_slice(), [1.0, 0.0, 3.0, 0.0, 5.0, 0.0, 7.0]);
}

#[test]
#[should_panic(expected = "`stepped` has no meta parameter `STAP`")]
fn unknown_meta_values_stop_eager_runs() {
    let x = Tensor::zeros([2]);
    stepped.with(meta! {STAP: 1}).eager((&x, &mut Tensor::zeros([2])));
}
