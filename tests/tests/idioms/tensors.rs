//! Tensors of ranks 1 to 4, parts of them, gathers, temporaries, extents of run time.

use pypto::prelude::*;

use crate::{check, f, finish, z};
#[pypto::jit]
fn rank_three(
    #[shape(B, M, N)] x: &Tensor<f32, 3>,
    #[out]
    #[shape(B, M, N)]
    y: &mut Tensor<f32, 3>,
) {
    for b in 0..B {
        let xb = x.at(b);
        let mut yb = y.at_mut(b);
        for at in tiles([M, N], [4, N]) {
            yb.store(at, xb.load(at).exp());
        }
    }
}
#[pypto::jit]
fn rank_four(
    #[shape(B, H, S, D)] x: &Tensor<f32, 4>,
    #[out]
    #[shape(B, S, H, D)]
    y: &mut Tensor<f32, 4>,
) {
    for b in 0..B {
        for h in 0..H {
            let t = x.tile([b, h, 0, 0], [1, 1, S, D]).reshape([1, S, 1, D]);
            y.store([b, 0, h, 0], t);
        }
    }
}
#[pypto::jit]
fn rank_one(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    for at in tiles([N], [16]) {
        y.store(at, x.load(at) * 2.0 + 1.0);
    }
}
#[pypto::jit]
fn batched_matmul(
    #[shape(B, M, K)] a: &Tensor<f32, 3>,
    #[shape(B, K, N)] b: &Tensor<f32, 3>,
    #[out]
    #[shape(B, M, N)]
    c: &mut Tensor<f32, 3>,
) {
    c.set(matmul(a, b));
}
#[pypto::jit]
fn transposed(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(N, K)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(matmul(a, b.t()));
}
#[pypto::jit]
fn method_matmul(
    #[shape(M, K)] a: &Tensor<bf16, 2>,
    #[shape(K, N)] b: &Tensor<bf16, 2>,
    #[shape(1, N)] bias: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<bf16, 2>,
) {
    c.set((a.matmul(b) + bias).relu().cast::<bf16>());
}
#[pypto::jit]
fn int8_matmul(
    #[shape(M, K)] a: &Tensor<i8, 2>,
    #[shape(K, N)] b: &Tensor<i8, 2>,
    #[shape(M, 1)] sa: &Tensor<f32, 2>,
    #[shape(1, N)] sb: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(matmul(a, b).cast::<f32>() * sa * sb);
}
#[pypto::jit]
fn write_at_slot(
    #[shape(T, D)] kv: &Tensor<f32, 2>,
    #[shape(T)] slots: &Tensor<i32, 1>,
    #[shape(S, D)] cache: &mut Tensor<f32, 2>,
) {
    for t in 0..T {
        let slot = slots.get([t]) as i64;
        if slot >= 0 {
            cache.store([slot, 0], kv.tile([t, 0], [1, D]));
        }
    }
}
#[pypto::jit]
fn slot_rows(
    #[shape(T, D)] kv: &Tensor<f32, 2>,
    #[shape(T)] slots: &Tensor<i32, 1>,
    #[shape(S, D)] cache: &mut Tensor<f32, 2>,
) {
    for t in 0..T {
        let slot = slots.get([t]);
        cache.rows_mut(slot as i64, 1).set(kv.rows(t, 1));
    }
}
#[pypto::jit]
fn gathers(
    #[shape(V, D)] table: &Tensor<f32, 2>,
    #[shape(T, 1)] ids: &Tensor<i32, 2>,
    #[out]
    #[shape(T, D)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(table.gather_rows(ids));
}
#[pypto::jit]
fn ragged(
    #[shape(B, S, D)] x: &Tensor<f32, 3>,
    #[shape(B)] lens: &Tensor<i32, 1>,
    #[out]
    #[shape(B, D)]
    y: &mut Tensor<f32, 2>,
) {
    for b in 0..B {
        let n = lens.get([b]) as i64;
        let t = x.at(b).load_all().set_valid([n, D]);
        y.store([b, 0], t.col_sum() / n as f32);
    }
}
#[pypto::jit]
fn temporary(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut h = Tensor::zeros([M, N]);
    for i in range(0, M, 2) {
        h.store([i, 0], x.tile([i, 0], [2, N]).exp());
    }
    y.set(&h / h.row_sum());
}
#[pypto::jit]
fn elementwise_puts(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in 0..M {
        for j in 0..N {
            y.put([i, j], x.get([i, N - 1 - j]) * 2.0);
        }
    }
}
#[pypto::jit]
fn dims_read(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let (m, n) = (x.dim(0), x.dim(1));
    for at in tiles([m, n], [4, n]) {
        y.store(at, x.load(at) + 1.0);
    }
}
#[pypto::jit]
fn padded(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, 64)]
    y: &mut Tensor<f32, 2>,
) {
    let t = x.tile([0, 0], [M, 64]).fillpad(f32::NEG_INFINITY);
    y.set(t);
}
#[pypto::jit]
fn concats(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, _)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.load_all().concat(x, 1));
}
#[pypto::jit]
fn slices(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let t = x.load_all();
    let half = N / 2;
    let (a, b) = (t.slice([0, 0], [M, half]), t.slice([0, half], [M, half]));
    y.set((-b).concat(a, 1));
}
#[pypto::jit]
fn top_k(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, K)]
    v: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, K)]
    i: &mut Tensor<i32, 2>,
) {
    let t = x.load_all();
    let order = t.row_argsort().slice([0, 0], [M, K]);
    v.set(t.gather(order));
    i.set(order);
}
#[pypto::jit]
fn view_of_columns(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let left = x.view([0, 0], [M, 8]);
    y.set(0.0);
    y.view_mut([0, 0], [M, 8]).set(&left * 2.0);
}
#[pypto::jit]
fn dyn_rows(
    #[shape(dyn T, D)] x: &Tensor<f32, 2>,
    #[shape(D, F)] w: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn T, F)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(matmul(x, w));
}
#[pypto::jit]
fn dyn_k(
    #[shape(M, dyn K)] x: &Tensor<f32, 2>,
    #[shape(dyn K, N)] w: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut acc = Tile::zeros([M, N]);
    for k in range(0, K, 16) {
        acc = acc.mma(x.tile([0, k], [M, 16]), w.tile([k, 0], [16, N]));
    }
    y.set(acc);
}
#[pypto::jit]
fn sums_everywhere(
    #[shape(dyn M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, 1)]
    z: &mut Tensor<f32, 2>,
) {
    y.set(x.load_all().col_sum());
    let total = x.row_sum().col_sum();
    z.set(total / M as f32);
}
#[pypto::jit]
fn sums_everywhere_known(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    n: i64,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.rows(0, n).load_all().col_sum() * 0.5);
}
#[pypto::jit]
fn carried_past_long_rows(
    #[shape(dyn M, dyn N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, dyn N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut sum = Tile::<f32>::zeros([1, 1]);
    let mut last = Tile::full([1, 1], 1.0f32);
    for i in 0..M {
        let next = x.rows(i, 1).load_all().row_sum();
        (sum, last) = (sum + next * last, sum);
    }
    if M > 2 {
        sum = sum + x.rows(2, 1).load_all().row_max();
    }
    y.set(x + sum - last);
}
/// Tiles that a loop carries around rows of any length.
#[test]
fn loops_carry_tiles_past_long_rows() {
    let mut failures = Vec::new();
    for (m, n) in [(0, 3), (1, 1), (3, 5), (4, 9001)] {
        check!(failures, carried_past_long_rows, [&f(1, [m, n])], y = z([m, n]));
    }
    finish(failures);
}
/// A value of one row is repeated in every block of rows, of which the last is shorter.
#[test]
fn rows_that_are_repeated_along_many() {
    let mut failures = Vec::new();
    for m in [1, 4, 8192, 10001] {
        check!(failures, sums_everywhere, [&f(1, [m, 8])], y = z([m, 8]), w = z([m, 1]));
        for n in [0, 1] {
            check!(failures, sums_everywhere_known, [&f(1, [m, 8]), n], y = z([m, 8]));
        }
    }
    finish(failures);
}
#[test]
fn tensors_of_every_kind() {
    let mut failures = Vec::new();
    let x = f(1, [10, 33]);
    let i = |v: &[i32]| Tensor::from_vec(v.to_vec(), [v.len() as i64]);
    check!(failures, rank_three, [&f(1, [2, 5, 7])], y = z([2, 5, 7]));
    check!(failures, rank_four, [&f(1, [2, 3, 5, 7])], y = z([2, 5, 3, 7]));
    check!(failures, rank_one, [&f(1, [37])], y = z([37]));
    check!(failures, batched_matmul, [&f(1, [2, 5, 7]), &f(2, [2, 7, 3])], y = z([2, 5, 3]));
    check!(failures, transposed, [&f(1, [5, 7]), &f(2, [3, 7])], y = z([5, 3]));
    let b = |s: [i64; 2]| Tensor::from_fn(s, |[i, j]| bf16::from_f32((i * 3 + j) as f32 * 0.1 - 0.5));
    check!(failures, method_matmul, [&b([5, 7]), &b([7, 3]), &f(2, [1, 3])], y = Tensor::<bf16, 2>::zeros([5, 3]));
    let q = |s: [i64; 2]| Tensor::from_fn(s, |[i, j]| (i * 37 + j * 11) as i8);
    check!(failures, int8_matmul, [&q([5, 70]), &q([70, 3]), &f(1, [5, 1]), &f(2, [1, 3])], y = z([5, 3]));
    check!(failures, write_at_slot, [&f(1, [3, 8]), &i(&[4, -1, 2])], y = z([6, 8]));
    check!(failures, slot_rows, [&f(1, [3, 8]), &i(&[4, 0, 2])], y = z([6, 8]));
    check!(failures, gathers, [&f(1, [9, 8]), &Tensor::from_vec(vec![4i32, 0, 8], [3, 1])], y = z([3, 8]));
    check!(failures, ragged, [&f(1, [3, 6, 8]), &i(&[4, 6, 1])], y = z([3, 8]));
    check!(failures, temporary, [&x], y = z([10, 33]));
    check!(failures, elementwise_puts, [&x], y = z([10, 33]));
    check!(failures, dims_read, [&x], y = z([10, 33]));
    check!(failures, padded, [&x], y = z([10, 64]));
    check!(failures, concats, [&x], y = z([10, 66]));
    check!(failures, slices, [&f(1, [10, 32])], y = z([10, 32]));
    check!(failures, top_k, [&x], v = z([10, 4]), i = Tensor::<i32, 2>::zeros([10, 4]));
    check!(failures, view_of_columns, [&x], y = z([10, 33]));
    check!(failures, dyn_rows, [&x, &f(2, [33, 5])], y = z([10, 5]));
    check!(failures, dyn_k, [&x, &f(2, [33, 5])], y = z([10, 5]));
    check!(failures, rank_three, [&f(1, [0, 5, 7])], y = z([0, 5, 7]));
    check!(failures, dyn_rows, [&f(1, [0, 33]), &f(2, [33, 5])], y = z([0, 5]));
    finish(failures);
}
