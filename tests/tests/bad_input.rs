//! Wrong and extreme input: a clear error or the right answer, never a panic, never a wrong answer, nothing written
//! outside of a tensor.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pypto::compile::Platform;
use pypto::diagnostics::codes;
use pypto::jit::ErrorKind;
use pypto::prelude::*;

/// Both ways in which compiled programs run.
fn platforms() -> [RunConfig; 2] {
    [RunConfig::new(), RunConfig::new().with_platform(Platform::Interpreter)]
}

fn bits(t: &Tensor<f32, 2>) -> Vec<u32> {
    t.to_vec().iter().map(|v| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() }).collect()
}

fn ramp(m: i64, n: i64) -> Tensor<f32, 2> {
    Tensor::from_fn([m, n], |[i, j]| (i * n + j) as f32)
}

/// What an eager run leaves in `y`; `None` where it panics.
fn eagerly(mut y: Tensor<f32, 2>, body: impl FnOnce(&mut Tensor<f32, 2>)) -> Option<Vec<f32>> {
    catch_unwind(AssertUnwindSafe(|| body(&mut y))).ok().map(|()| y.to_vec())
}

#[pypto::jit(meta(TM = 8, TN = 8))]
fn increased(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, TN]) {
        y.store(at, x.load(at) + 1.0);
    }
}

#[test]
fn meta_values_of_every_size() {
    let x = ramp(5, 7);
    let expected: Vec<f32> = x.to_vec().iter().map(|v| v + 1.0).collect();
    for tile in [1, 3, 1 << 20, 1 << 40] {
        let mut y = Tensor::zeros([5, 7]);
        increased.with(meta! {TM: tile, TN: 4})(&x, &mut y).unwrap();
        assert_eq!(y.to_vec(), expected, "TM = {tile}");
    }
    for tile in [0, -1, i64::MIN, i64::MAX] {
        let mut y = Tensor::zeros([5, 7]);
        let error = increased.with(meta! {TM: tile, TN: 4})(&x, &mut y).unwrap_err();
        assert_eq!(error.code(), Some(codes::PARAMETER_RANGE), "TM = {tile}: {error}");
    }
}

#[pypto::jit(meta(TM = 16))]
fn masked_softmax(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(M, N)] mask: &Tensor<bool, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = select(mask.load(at), x.load(at), f32::NEG_INFINITY);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

#[pypto::jit]
fn column_mean(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(1, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.col_sum() / M as f32);
}

#[test]
fn special_values_and_empty_tensors_agree() {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, 1e-45, f32::MAX, f32::MIN, 1.0, -3.5];
    for (m, n) in [(0, 5), (5, 0), (0, 0), (1, 1), (17, 33), (3, 100)] {
        let x = Tensor::from_fn([m, n], |[i, j]| odd[((i * 7 + j * 3) % 10) as usize]);
        let mask = Tensor::from_fn([m, n], |[i, j]| (i + j) % 3 != 0);
        let (mut a, mut b) = (Tensor::zeros([m, n]), Tensor::zeros([1, n]));
        masked_softmax.eager((&x, &mask, &mut a));
        column_mean.eager((&x, &mut b));
        for config in platforms() {
            let (mut c, mut d) = (Tensor::<f32, 2>::zeros([m, n]), Tensor::<f32, 2>::zeros([1, n]));
            masked_softmax.compile(&(&x, &mask, &c), &config).unwrap().call((&x, &mask, &mut c)).unwrap();
            column_mean.compile(&(&x, &d), &config).unwrap().call((&x, &mut d)).unwrap();
            assert_eq!((bits(&a), bits(&b)), (bits(&c), bits(&d)), "{m} x {n}");
        }
    }
}

#[pypto::jit]
fn put(row: i64, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    y.put([row, 0], 5.0);
}

#[pypto::jit]
fn stored(row: i64, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    y.store([row, 0], Tile::full([2, 2], 5.0));
}

#[pypto::jit]
fn copied(#[shape(M, N)] x: &Tensor<f32, 2>, row: i64, #[shape(2, N)] y: &mut Tensor<f32, 2>) {
    y.set(x.tile([row, 0], [2, N]));
}

const OFFSETS: [i64; 12] = [0, 3, 4, 5, -1, -2, 17, -17, i64::MAX, i64::MIN, 1 << 61, -(1 << 61)];

/// A failed check of an offset stops the kernel before the access: memory around the tensor is as it was.
#[test]
fn writes_stay_inside_whatever_the_offset() {
    let mut memory = vec![1.0f32; 192];
    for row in OFFSETS {
        let expected = [
            eagerly(Tensor::full([4, 4], 1.0), |y| put.eager((row, y))),
            eagerly(Tensor::full([4, 4], 1.0), |y| stored.eager((row, y))),
        ];
        for (config, kernel) in platforms().iter().flat_map(|config| [(config, 0), (config, 1)]) {
            memory.fill(1.0);
            let done = Tensor::with_mut_slice(&mut memory[88..104], [4, 4], |y| match kernel {
                0 => put.compile(&(row, &*y), config).unwrap().call((row, y)).map(drop),
                _ => stored.compile(&(row, &*y), config).unwrap().call((row, y)).map(drop),
            });
            assert_eq!(done.is_ok(), expected[kernel].is_some(), "row {row}: {done:?}");
            assert!(memory[..88].iter().chain(&memory[104..]).all(|v| *v == 1.0), "row {row}: {memory:?}");
            let unchanged = vec![1.0; 16];
            assert_eq!(&memory[88..104], expected[kernel].as_ref().unwrap_or(&unchanged), "row {row}");
        }
    }
}

#[test]
fn reads_stay_inside_whatever_the_offset() {
    let x = ramp(4, 4);
    for row in OFFSETS {
        let expected = eagerly(Tensor::full([2, 4], -9.0), |y| copied.eager((&x, row, y)));
        for config in platforms() {
            let mut y = Tensor::full([2, 4], -9.0);
            let done = copied.compile(&(&x, row, &y), &config).unwrap().call((&x, row, &mut y)).map(drop);
            assert_eq!(done.is_ok(), expected.is_some(), "row {row}: {done:?}");
            assert_eq!(y.to_vec(), expected.clone().unwrap_or(vec![-9.0; 8]), "row {row}");
        }
    }
}

#[pypto::jit]
fn permuted(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(K, 1)] from: &Tensor<i32, 2>,
    #[shape(K, 1)] to: &Tensor<i64, 2>,
    #[shape(P, N)] y: &mut Tensor<f32, 2>,
) {
    y.scatter_rows(to, x.gather_rows(from));
}

#[test]
fn row_indices_outside_are_errors() {
    let x = ramp(4, 3);
    for (from, to) in [(0, 0), (3, 5), (4, 0), (-1, 0), (0, 6), (0, -1), (i32::MIN, 0), (0, i64::MAX), (0, i64::MIN)] {
        let from = Tensor::from_vec(vec![1, from], [2, 1]);
        let to = Tensor::from_vec(vec![2i64, to], [2, 1]);
        let expected = eagerly(Tensor::full([6, 3], 7.0), |y| permuted.eager((&x, &from, &to, y)));
        for config in platforms() {
            let mut y = Tensor::full([6, 3], 7.0);
            let done = permuted.compile(&(&x, &from, &to, &y), &config).unwrap().call((&x, &from, &to, &mut y));
            assert_eq!(done.is_ok(), expected.is_some(), "{done:?}");
            assert!(expected.as_ref().is_none_or(|list| *list == y.to_vec()));
        }
    }
}

#[pypto::jit]
fn scalar_division(
    a: i64,
    b: i64,
    #[out]
    #[shape(1)]
    y: &mut Tensor<i64, 1>,
) {
    y.put([0], a / b + a % b);
}

#[test]
fn divisions_without_result_are_errors() {
    for (a, b, good) in [(7, 2, true), (7, 0, false), (i64::MIN, -1, false), (i64::MIN, 1, true), (-7, -1, true)] {
        for config in platforms() {
            let mut y = Tensor::<i64, 1>::zeros([1]);
            let done = scalar_division.compile(&(a, b, &y), &config).unwrap().call((a, b, &mut y)).map(drop);
            assert_eq!(done.is_ok(), good, "{a} / {b}: {done:?}");
            assert_eq!(y.get([0]), if good { a / b + a % b } else { 0 });
        }
    }
}

#[pypto::jit(meta(R = 0))]
fn sliced(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(2, 2)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.load_all().slice([R, 0], [2, 2]));
}

#[pypto::jit]
fn stepped(step: i64, #[shape(N)] y: &mut Tensor<f32, 1>) {
    for i in range(0, N, step) {
        y.put([i], 1.0);
    }
}

#[test]
fn offsets_and_steps_of_every_size() {
    let (x, y) = (ramp(3, 4), Tensor::<f32, 2>::zeros([2, 2]));
    sliced.with(meta! {R: 1}).lower(&(&x, &y)).unwrap();
    for r in [2, 3, -1, i64::MAX, i64::MIN] {
        let error = sliced.with(meta! {R: r}).lower(&(&x, &y)).map(drop).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Compile(_)), "R = {r}: {error}");
    }
    for step in [1, 4, i64::MAX, 0, -1, i64::MIN] {
        for config in platforms() {
            let mut y = Tensor::<f32, 1>::zeros([5]);
            let done = stepped.compile(&(step, &y), &config).unwrap().call((step, &mut y));
            assert_eq!(done.is_ok(), step > 0, "step {step}");
            let visited = (0..5).map(|i| if step > 0 && i % step == 0 { 1.0 } else { 0.0 }).collect::<Vec<f32>>();
            assert_eq!(y.to_vec(), visited, "step {step}");
        }
    }
}

#[test]
fn calls_within_eager_bodies_on_many_threads() {
    std::thread::scope(|threads| {
        for k in 0..8 {
            threads.spawn(move || {
                for n in 1..12i64 {
                    let x = Tensor::from_fn([n, 9], |[i, j]| (i * j + k) as f32);
                    let (mut y, mut z) = (Tensor::zeros([n, 9]), Tensor::zeros([n, 9]));
                    scope(|| {
                        let doubled = x.load_all() * 2.0;
                        increased(&x, &mut y).unwrap();
                        increased.eager((&x, &mut z));
                        assert_eq!(doubled.to_vec()[0], 2.0 * k as f32);
                    });
                    assert_eq!(y.to_vec(), z.to_vec());
                }
            });
        }
    });
}

#[pypto::jit]
fn limited(
    n: i64,
    most: i64,
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x * n.clamp(0, most) as f32);
}

#[test]
fn limits_of_a_scalar_the_wrong_way_round_stop() {
    let x = Tensor::full([3], 2.0f32);
    let mut y = Tensor::zeros([3]);
    limited(7, 5, &x, &mut y).unwrap();
    assert_eq!(y.to_vec(), [10.0; 3]);
    let error = limited(7, -1, &x, &mut y).unwrap_err().to_string();
    assert!(error.contains("the limits of `clamp` are the wrong way round"), "{error}");
}
