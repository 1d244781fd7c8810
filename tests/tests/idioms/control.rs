//! Loops, branches, `match`, and the arithmetic of scalars.

use pypto::prelude::*;

use crate::{check, f, finish, z};
#[pypto::jit]
fn inclusive(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in 0..=M - 1 {
        y.store([i, 0], x.tile([i, 0], [1, N]) + i as f32);
    }
}
#[pypto::jit]
fn reversed(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut sum = Tile::zeros([1, N]);
    for i in (0..M).rev() {
        sum += x.tile([i, 0], [1, N]);
        y.store([i, 0], sum);
    }
}
#[pypto::jit]
fn over_an_array(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut t = x.load_all();
    for s in [1.0, 2.0, 3.0] {
        t = t * s + 1.0;
    }
    y.set(t);
}
#[pypto::jit]
fn i32_loop(
    #[shape(M, N)] x: &Tensor<i32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<i32, 2>,
) {
    let mut t = x.load_all();
    for k in 0..4i32 {
        t = t + k;
    }
    y.set(t);
}
#[pypto::jit]
fn usize_loop(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let w = [0.25, 0.5, 1.0];
    let mut t = x.load_all();
    for k in 0..3 {
        t = t + w[k];
    }
    y.set(t);
}
#[pypto::jit]
fn array_len(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let w = [0.25, 0.5, 1.0];
    let mut t = x.load_all();
    for k in 0..w.len() {
        t = t * w[k];
    }
    y.set(t);
}
#[pypto::jit]
fn matches(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let t = x.load_all();
    let v = match n {
        0 => t,
        1 | 2 => t.exp(),
        3..=5 => t * 2.0,
        k if k < 0 => -t,
        _ => t.abs(),
    };
    y.set(v);
}
#[pypto::jit]
fn exclusive_pattern(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let s = match n {
        0..3 => 1.0,
        3.. => 2.0,
        _ => 3.0,
    };
    y.set(x * s);
}
#[pypto::jit]
fn while_halving(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut k = n;
    let mut t = x.load_all();
    while k > 1 && k < 1000 {
        t = t * 0.5;
        k /= 2;
    }
    y.set(t);
}
#[pypto::jit]
fn newton(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [4, N]) {
        let a = x.load(at).abs() + 1.0;
        let mut r = a;
        let mut step = 0;
        loop {
            let next = 0.5 * (r + a / r);
            let change = (next - r).abs().row_max().col_max().get([0, 0]);
            r = next;
            step += 1;
            if change < 1e-6 || step == 20 {
                break;
            }
        }
        y.store(at, r);
    }
}
#[pypto::jit]
fn labelled(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, 1)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(-1.0);
    'rows: for i in 0..M {
        for j in 0..N {
            let v = x.get([i, j]);
            if v < -0.9 {
                continue 'rows;
            }
            if v > 0.99 {
                break 'rows;
            }
            y.put([i, 0], v);
        }
    }
}
#[pypto::jit]
fn scalar_math(
    s: f32,
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let a = s.abs().sqrt().max(0.1).min(3.0);
    let b = n.abs().max(1).min(100) as f32;
    let c = s.floor() + s.ceil() + s.recip();
    let d = (n % 3 + n / 3 - (n << 2) + (n >> 1) + (n ^ 5) + (n & 6) + (n | 1)) as f32;
    y.set(x * a + b + c + d);
}
#[pypto::jit]
fn bool_logic(
    a: bool,
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let odd = n & 1 == 1;
    let c = a && !odd || n > 10 && n < 20;
    let d = a as i32 + odd as i32;
    y.set(if c != a { x.load_all() } else { x * d as f32 });
}
#[pypto::jit]
fn late_init(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let s;
    if n > 0 {
        s = 1.0;
    } else {
        s = 2.0;
    }
    let (mut a, mut b) = (0, 1);
    for _ in 0..n {
        (a, b) = (b, a + b);
    }
    y.set(x * s + a as f32);
}
#[pypto::jit]
fn parallel_rows(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in parallel(0..M) {
        y.store([i, 0], x.tile([i, 0], [1, N]).exp());
    }
}
#[pypto::jit]
fn parallel_tiles(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in parallel(tiles([M, N], [4, 8])) {
        y.store(at, x.load(at).exp());
    }
}
#[pypto::jit]
fn spmd_blocks(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let rows = ceil_div(M, 3);
    for b in spmd(3) {
        y.store([b * rows, 0], x.tile([b * rows, 0], [rows, N]).exp());
    }
}
#[pypto::jit]
fn pipelined(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    let mut acc = Tile::zeros([M, N]);
    for k in pipeline(range(0, K, 8), 2) {
        acc = acc.mma(a.tile([0, k], [M, 8]), b.tile([k, 0], [8, N]));
    }
    c.set(acc);
}
#[pypto::jit]
fn unrolled(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut acc = [Tile::<f32>::zeros([4, N]); 2];
    for i in unroll(0..M / 4) {
        acc[(i % 2) as usize] += x.tile([i * 4, 0], [4, N]);
    }
    for i in unroll(0..M / 4) {
        y.store([i * 4, 0], acc[(i % 2) as usize]);
    }
}
#[pypto::jit]
fn if_let_tuple(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let (lo, hi) = if n > 2 { (0.0, 1.0) } else { (-1.0, n as f32) };
    y.set(x.max(lo).min(hi));
}
#[pypto::jit]
fn grid_loop(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for (i, j) in grid(ceil_div(M, 4), ceil_div(N, 8)) {
        y.store([i * 4, j * 8], x.tile([i * 4, j * 8], [4, 8]) + 1.0);
    }
}
#[pypto::jit]
fn step_by_extent(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    const T: usize = 4;
    for i in (0..M).step_by(T) {
        y.store([i, 0], x.tile([i, 0], [4, N]) + 1.0);
    }
}
#[pypto::jit]
fn countdown(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut i = M - 1;
    while i >= 0 {
        y.store([i, 0], x.tile([i, 0], [1, N]));
        i -= 1;
    }
}
#[pypto::jit]
fn enumerated(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let weights = [0.25, 0.5, 1.0];
    let mut t = x.load_all();
    for (i, w) in weights.iter().enumerate() {
        t = t * *w + i as f32;
    }
    y.set(t);
}
#[pypto::jit]
fn found(limit: f32, #[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for i in 0..M {
        for j in 0..N {
            if x.get([i, j]) > limit {
                y.put([i, j], 1.0);
                return;
            }
        }
    }
    y.put([0, 0], -1.0);
}
#[pypto::jit]
fn inclusive_steps(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut t = x.load_all();
    for k in (0..=n).step_by(2) {
        t += k as f32;
    }
    for k in (0..n).rev().step_by(3) {
        t = t * 0.5 + k as f32;
    }
    y.set(t);
}

#[test]
fn control_of_every_kind() {
    let mut failures = Vec::new();
    let x = f(1, [10, 33]);
    check!(failures, inclusive, [&x], y = z([10, 33]));
    check!(failures, reversed, [&x], y = z([10, 33]));
    check!(failures, over_an_array, [&x], y = z([10, 33]));
    check!(failures, i32_loop, [&Tensor::full([2, 3], 5i32)], y = Tensor::<i32, 2>::zeros([2, 3]));
    check!(failures, usize_loop, [&x], y = z([10, 33]));
    check!(failures, array_len, [&x], y = z([10, 33]));
    for n in [-3i64, 0, 2, 4, 9] {
        check!(failures, matches, [n, &x], y = z([10, 33]));
        check!(failures, exclusive_pattern, [n, &x], y = z([10, 33]));
        check!(failures, while_halving, [n * 9, &x], y = z([10, 33]));
        check!(failures, late_init, [n, &x], y = z([10, 33]));
        check!(failures, if_let_tuple, [n, &x], y = z([10, 33]));
    }
    check!(failures, newton, [&x], y = z([10, 33]));
    check!(failures, labelled, [&x], y = z([10, 1]));
    check!(failures, scalar_math, [-1.7, 9i64, &x], y = z([10, 33]));
    check!(failures, bool_logic, [true, 11i64, &x], y = z([10, 33]));
    check!(failures, parallel_rows, [&x], y = z([10, 33]));
    check!(failures, parallel_tiles, [&x], y = z([10, 33]));
    check!(failures, spmd_blocks, [&x], y = z([10, 33]));
    check!(failures, pipelined, [&x, &f(2, [33, 5])], y = z([10, 5]));
    check!(failures, unrolled, [&f(1, [12, 33])], y = z([12, 33]));
    check!(failures, grid_loop, [&x], y = z([10, 33]));
    check!(failures, step_by_extent, [&x], y = z([10, 33]));
    check!(failures, countdown, [&x], y = z([10, 33]));
    check!(failures, enumerated, [&x], y = z([10, 33]));
    for limit in [-2.0, 0.9, 2.0] {
        check!(failures, found, [limit, &x], y = z([10, 33]));
    }
    for n in [0i64, 1, 7] {
        check!(failures, inclusive_steps, [n, &x], y = z([10, 33]));
    }
    finish(failures);
}
