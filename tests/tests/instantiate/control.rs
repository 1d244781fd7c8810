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

#[pypto::jit]
pub fn specialized(
    #[spec] unrolled: i64,
    n: i64,
    #[shape(dyn M)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(dyn M)]
    y: &mut Tensor<f32, 1>,
) {
    assert!(n <= M, "n counts elements of x");
    let mut factor = 1.0f32;
    for _k in unroll(0..unrolled) {
        factor = factor * 2.0;
    }
    for at in tiles([M], [4]) {
        let mut t = x.load(at) * factor;
        if at.offset(0) < n {
            t = t - t.get([0]);
        }
        y.store(at, t);
    }
}

#[test]
fn scalars_of_the_specialization_and_of_the_call() {
    for n in [0i64, 4, 9] {
        let x = sample([9]);
        agree!(specialized(3i64, n, &x; f32, [9]));
    }
}

#[pypto::jit]
pub fn independent(
    #[shape(B, M, N)] x: &Tensor<f32, 3>,
    #[out]
    #[shape(B, M, N)]
    y: &mut Tensor<f32, 3>,
) {
    for b in spmd(B) {
        for i in parallel(range(0, M, 2)) {
            let n = (M - i).min(2);
            let part = x.at(b);
            let rows = part.rows(i, n);
            let mut best = f32::NEG_INFINITY;
            for k in 0..n {
                for c in 0..N {
                    best = best.max(rows.get([k, c]));
                }
            }
            let mut plane = y.at_mut(b);
            plane.store([i, 0], part.tile([i, 0], [2, N]) - best);
        }
    }
}

#[test]
fn independent_iterations() {
    let x = sample([3, 5, 4]);
    agree!(independent(&x; f32, [3, 5, 4]));
}

#[pypto::jit]
pub fn cubes(
    #[shape(A, B, C)] x: &Tensor<f32, 3>,
    #[out]
    #[shape(A, B, C)]
    y: &mut Tensor<f32, 3>,
) {
    let mut seen = Tile::zeros([1, 1]);
    for at in tiles([A, B, C], [2, 3, 4]) {
        let t = x.load(at);
        if at.valid(2) == 4 && at.valid(1) == 3 {
            seen = seen + 1.0;
        }
        y.store(at, t * 2.0 + seen.get([0, 0]));
    }
}

#[test]
fn tiles_of_rank_three_with_a_carried_tile() {
    for shape in [[2, 3, 4], [3, 4, 5], [4, 6, 8]] {
        let x = sample(shape);
        agree!(cubes(&x; f32, shape));
    }
}
