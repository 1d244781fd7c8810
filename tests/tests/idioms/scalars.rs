//! Methods of scalars: those of Rust's numbers, with its results to the last bit.

use pypto::prelude::*;

use crate::{check, finish, z};

const FLOATS: [f32; 28] = [
    0.0,
    -0.0,
    0.3,
    -0.3,
    0.5,
    -0.5,
    0.49999997,
    -0.49999997,
    1.5,
    -1.5,
    2.5,
    -2.5,
    3.7,
    -3.7,
    8388607.5,
    -8388607.5,
    16777217.0,
    4e9,
    -4e9,
    1e-40,
    -1e-40,
    1e38,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    7.0,
];

/// Every pair of the numbers.
fn pairs<T: Element>(numbers: &[T]) -> (Tensor<T, 1>, Tensor<T, 1>) {
    let all = || numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b)));
    let count = (numbers.len() * numbers.len()) as i64;
    let of = |pick: fn((T, T)) -> T| Tensor::from_vec(all().map(pick).collect(), [count]);
    (of(|pair| pair.0), of(|pair| pair.1))
}

#[pypto::jit]
fn float_methods(#[shape(N)] x: &Tensor<f32, 1>, #[shape(N, 14)] y: &mut Tensor<f32, 2>) {
    for i in 0..N {
        let a = x.get([i]);
        y.put([i, 0], a.trunc());
        y.put([i, 1], a.round());
        y.put([i, 2], a.round_ties_even());
        y.put([i, 3], a.floor() + a.ceil());
        y.put([i, 4], a.fract());
        y.put([i, 5], a.signum());
        y.put([i, 6], a.abs().sqrt());
        y.put([i, 7], a.recip());
        y.put([i, 8], a.to_degrees());
        y.put([i, 9], a.to_radians());
        y.put([i, 10], a.powi(2) + a.powi(1) + a.powi(0));
        y.put([i, 11], if a.is_nan() { 1.0 } else { 0.0 });
        y.put([i, 12], if a.is_finite() { 1.0 } else { 0.0 });
        y.put([i, 13], if a.is_infinite() { 1.0 } else { 0.0 });
    }
}

#[pypto::jit]
fn float_pairs(#[shape(N)] x: &Tensor<f32, 1>, #[shape(N)] w: &Tensor<f32, 1>, #[shape(N, 6)] y: &mut Tensor<f32, 2>) {
    for i in 0..N {
        let (a, b) = (x.get([i]), w.get([i]));
        y.put([i, 0], a.rem_euclid(b));
        y.put([i, 1], a.div_euclid(b));
        y.put([i, 2], a % b);
        y.put([i, 3], f32::max(a, b));
        y.put([i, 4], a.min(b));
        y.put([i, 5], a.clamp(-1.0, 2.0));
    }
}

#[test]
fn methods_of_floats() {
    let mut failures = Vec::new();
    let n = FLOATS.len() as i64;
    let x = Tensor::from_vec(FLOATS.to_vec(), [n]);
    check!(failures, float_methods, [&x], y = z([n, 14]));
    let (a, b) = pairs(&FLOATS);
    check!(failures, float_pairs, [&a, &b], y = z([n * n, 6]));
    finish(failures);
}

#[pypto::jit]
fn signed_pairs(#[shape(N)] x: &Tensor<i64, 1>, #[shape(N)] w: &Tensor<i64, 1>, #[shape(N, 9)] y: &mut Tensor<i64, 2>) {
    for i in 0..N {
        let (a, b) = (x.get([i]), w.get([i]));
        y.put([i, 0], a.rem_euclid(b));
        y.put([i, 1], a.div_euclid(b));
        y.put([i, 2], a.signum());
        y.put([i, 3], a.wrapping_mul(b).wrapping_add(a).wrapping_sub(b));
        y.put([i, 4], if a.is_negative() { -1 } else { 1 });
        y.put([i, 5], if a.is_positive() { 1 } else { -1 });
        y.put([i, 6], (a % 10).pow(3) + (a % 3).pow(0) + (a % 9).pow(1));
        y.put([i, 7], (a % 4).pow((b % 5).abs() as u32));
        y.put([i, 8], i64::min(a, b).max(3));
    }
}

#[pypto::jit]
fn unsigned_pairs(
    #[shape(N)] x: &Tensor<u16, 1>,
    #[shape(N)] w: &Tensor<u16, 1>,
    #[shape(N, 6)] y: &mut Tensor<u16, 2>,
) {
    for i in 0..N {
        let (a, b) = (x.get([i]), w.get([i]));
        y.put([i, 0], a.rem_euclid(b));
        y.put([i, 1], a.div_euclid(b));
        y.put([i, 2], a.div_ceil(b));
        y.put([i, 3], (a / 2).next_multiple_of(b / 2 + 1));
        y.put([i, 4], a.abs_diff(b));
        y.put([i, 5], (a % 7).pow(4).wrapping_mul(b));
    }
}

#[pypto::jit]
fn narrow_pairs(#[shape(N)] x: &Tensor<i8, 1>, #[shape(N)] w: &Tensor<i8, 1>, #[shape(N, 4)] y: &mut Tensor<i8, 2>) {
    for i in 0..N {
        let (a, b) = (x.get([i]), w.get([i]));
        y.put([i, 0], a.rem_euclid(b));
        y.put([i, 1], a.div_euclid(b));
        y.put([i, 2], a.wrapping_add(b).wrapping_mul(3));
        y.put([i, 3], (a % 3).pow(b.max(0) as u32 % 5));
    }
}

#[test]
fn methods_of_integers() {
    let mut failures = Vec::new();
    let numbers = [-9_000_000_000, -100, -7, -3, -2, 1, 2, 3, 5, 7, 64, 9_000_000_001, i64::MAX];
    let (a, b) = pairs(&numbers);
    check!(failures, signed_pairs, [&a, &b], y = Tensor::<i64, 2>::zeros([169, 9]));
    let (a, b) = pairs(&[1u16, 2, 3, 7, 8, 100, 255, 256, 60_000, u16::MAX]);
    check!(failures, unsigned_pairs, [&a, &b], y = Tensor::<u16, 2>::zeros([100, 6]));
    let (a, b) = pairs(&[-127i8, -100, -5, -3, -2, 1, 2, 3, 4, 5, 126, 127]);
    check!(failures, narrow_pairs, [&a, &b], y = Tensor::<i8, 2>::zeros([144, 4]));
    finish(failures);
}

#[pypto::jit]
fn of_constants(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    let [rows, columns] = x.dims();
    let tile = x.load_all();
    let [again, _] = tile.dims();
    let a = (rows - 9).rem_euclid(4) + (rows - 9).div_euclid(4) + columns.pow(2) + again;
    let b = i64::MAX.wrapping_add(M) as f32;
    let limit: i64 = i64::MAX;
    let c = 5i64.rem_euclid(limit) + (M - 100).signum();
    y.set(tile * (a as f32) + b + c as f32 + (M as u32).div_ceil(4) as f32 + (N as f32).sqrt().round());
}

#[test]
fn methods_of_constants_are_computed_at_specialization() {
    let mut failures = Vec::new();
    check!(failures, of_constants, [&crate::f(1, [6, 10])], y = z([6, 10]));
    finish(failures);
}

#[pypto::jit]
fn through_tiles(
    s: f32,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let factor = Tile::full([1, 1], -s).exp().get([0, 0]);
    y.set(x * factor + Tile::full([1, 1], s).log());
}

#[test]
fn functions_of_scalars_go_through_tiles() {
    let mut failures = Vec::new();
    check!(failures, through_tiles, [1.7f32, &crate::f(2, [5, 9])], y = z([5, 9]));
    finish(failures);
}

#[pypto::jit]
fn rounded_tiles(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(4, N)] y: &mut Tensor<f32, 2>) {
    let t = x.load_all();
    y.rows_mut(0, 1).set(t.round());
    y.rows_mut(1, 1).set(t.trunc());
    y.rows_mut(2, 1).set(x.round_ties_even());
    y.rows_mut(3, 1).set((x * 0.5).round().trunc());
}

#[test]
fn tiles_round_as_rust_rounds() {
    let mut failures = Vec::new();
    let n = FLOATS.len() as i64;
    let x = Tensor::from_vec(FLOATS.to_vec(), [1, n]);
    check!(failures, rounded_tiles, [&x], y = z([4, n]));
    finish(failures);
    let mut y = z([4, n]);
    rounded_tiles(&x, &mut y).unwrap();
    for (i, a) in FLOATS.iter().enumerate() {
        let got: Vec<u32> = (0..3).map(|row| y.get([row, i as i64]).to_bits()).collect();
        let want = [a.round(), a.trunc(), a.round_ties_even()].map(f32::to_bits);
        assert!(a.is_nan() || got == want, "{a}: {got:x?} instead of {want:x?}");
    }
}
