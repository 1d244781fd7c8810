//! Control flow: loops with carried variables, `while`, `if` as statement and expression, known and run-time conditions.

use pypto::prelude::*;

use crate::{agree, sample};

#[pypto::jit]
pub fn collatz(limit: i64, start: i64, #[out] y: &mut Tensor<i64, 1>) {
    let mut n = start;
    let mut steps = 0;
    while n != 1 && steps < limit {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    y.put([0], steps);
    y.put([1], n);
}

#[test]
fn while_loops_carry_scalars() {
    for start in [1i64, 6, 27] {
        agree!(collatz(50i64, start; i64, [2]));
    }
}

#[pypto::jit]
pub fn branches(n: i64, x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let t = x.load_all();
    let mut acc = t;
    let scale;
    if n > 2 {
        acc = acc * 2.0;
        scale = 0.5;
    } else if n == 1 {
        acc = acc.max(0.0);
        scale = 1.5;
    } else {
        scale = 3.0;
    }
    let shifted = if n % 2 == 0 { acc + 1.0 } else { acc - t.row_sum() };
    y.set(shifted * scale);
}

#[test]
fn branches_merge_what_they_assign() {
    let x = sample([3, 4]);
    for n in 0..4i64 {
        agree!(branches(n, &x; f32, [3, 4]));
    }
}

#[pypto::jit(meta(FAST = 1))]
pub fn known(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    if M > 4 && FAST == 1 {
        y.set(x * 2.0);
    } else {
        y.set(x * 3.0);
    }
}

#[test]
fn known_conditions_take_one_branch() {
    for rows in [2, 8] {
        let x = sample([rows, 3]);
        let program = agree!(known(&x; f32, [rows, 3]));
        assert!(!pypto::ir::text::print(&program, pypto::ir::text::PrintOptions { locations: false }).contains("if("));
    }
}

#[pypto::jit]
pub fn ranges(n: i32, x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let mut pair = (0.0, 1.0);
    for i in (0..n).step_by(2) {
        let (a, b) = pair;
        pair = (b + i as f32, a * 0.5);
    }
    let mut total = 0.0;
    for k in unroll(0..3) {
        total += x.get([k]) * (k + 1) as f32;
    }
    let powers = [1.0, total, total * total];
    for i in 0..x.dim(0) {
        y.put([i], pair.0 + powers[1] + powers[2] - x.get([i]).max(pair.1));
    }
}

#[test]
fn ranges_tuples_and_arrays() {
    let x = sample([5]);
    agree!(ranges(7, &x; f32, [5]));
}

#[pypto::jit]
pub fn integers(a: i32, b: i32, #[out] y: &mut Tensor<i32, 1>) {
    let d = if b != 0 && a / b > 1 { a / b } else { -1 };
    let s = (a << 3) | (b & 5) ^ (a >> 1);
    let wide = a as i64 * 3 - b as i64;
    let narrow = (wide as i8) as i32;
    y.put([0], d);
    y.put([1], s.min(1000).max(b.abs()));
    y.put([2], narrow % 7);
    y.put([3], if a > b || !(a == 3) { 1 } else { 0 });
    y.put([4], (a as f32 * 1.75) as i32);
}

#[test]
fn integer_arithmetic_is_that_of_rust() {
    for (a, b) in [(17, 5), (-17, 5), (3, 0), (100, -7)] {
        agree!(integers(a, b; i32, [5]));
    }
}
