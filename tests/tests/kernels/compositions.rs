//! Operations of the original that are written as compositions here, as docs/support-matrix.md writes them, against formulas on
//! single elements.

use pypto::kernels;
use pypto::prelude::*;

use crate::every_way::{outputs, tame};

/// The elements of a matrix from a formula on row and column.
fn from<T: Element>(shape: [i64; 2], element: impl Fn(i64, i64) -> T) -> Tensor<T, 2> {
    Tensor::from_fn(shape, |[i, j]| element(i, j))
}

#[pypto::jit]
fn triangles(
    diagonal: i32,
    #[out]
    #[shape(M, N)]
    lower: &mut Tensor<i32, 2>,
    #[out]
    #[shape(M, N)]
    upper: &mut Tensor<i32, 2>,
    #[out]
    #[shape(1, N)]
    falling: &mut Tensor<i32, 2>,
) {
    let row = Tile::<i32>::iota([M, N], 0, 0);
    let column = Tile::<i32>::iota([M, N], 1, 0);
    lower.set(select((row + diagonal).ge(column), 1i32, 0));
    upper.set(select((row + diagonal).le(column), 1i32, 0));
    falling.set(diagonal - Tile::<i32>::iota([1, N], 1, 0));
}

#[test]
fn triangles_and_falling_ranges() {
    for (shape, diagonal) in [([5, 7], 0), ([9, 4], 2), ([1, 33], -3)] {
        let zeros = || Tensor::<i32, 2>::zeros(shape);
        let row = Tensor::<i32, 2>::zeros([1, shape[1]]);
        let (lower, upper, falling) =
            outputs!(triangles, [diagonal], lower = zeros(), upper = zeros(), falling = row.clone());
        let side = |keep: fn(i64, i64) -> bool| from(shape, |i, j| i32::from(keep(i + i64::from(diagonal), j)));
        assert_eq!(lower.to_vec(), side(|row, column| column <= row).to_vec());
        assert_eq!(upper.to_vec(), side(|row, column| column >= row).to_vec());
        assert_eq!(falling.to_vec(), (0..shape[1] as i32).map(|j| diagonal - j).collect::<Vec<_>>());
    }
}

/// Rows by an index that may lie outside: at the edge instead, counted round, or zeros.
#[pypto::jit]
fn rows_by_policy(
    #[shape(ROWS, D)] x: &Tensor<f32, 2>,
    #[shape(N, 1)] index: &Tensor<i32, 2>,
    #[out]
    #[shape(N, D)]
    clamped: &mut Tensor<f32, 2>,
    #[out]
    #[shape(N, D)]
    wrapped: &mut Tensor<f32, 2>,
    #[out]
    #[shape(N, D)]
    zeroed: &mut Tensor<f32, 2>,
) {
    let rows = ROWS as i32;
    let i = index.load_all();
    clamped.set(x.gather_rows(i.max(0).min(rows - 1)));
    wrapped.set(x.gather_rows((i % rows + rows) % rows));
    let inside = i.ge(0) & i.lt(rows);
    zeroed.set(select(inside, x.gather_rows(select(inside, i, 0)), 0.0));
}

/// The same of elements of a row.
#[pypto::jit]
fn elements_by_policy(
    #[shape(M, D)] x: &Tensor<f32, 2>,
    #[shape(M, N)] index: &Tensor<i32, 2>,
    #[out]
    #[shape(M, N)]
    clamped: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    wrapped: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    zeroed: &mut Tensor<f32, 2>,
) {
    let columns = D as i32;
    let (t, i) = (x.load_all(), index.load_all());
    clamped.set(t.gather(i.max(0).min(columns - 1)));
    wrapped.set(t.gather((i % columns + columns) % columns));
    let inside = i.ge(0) & i.lt(columns);
    zeroed.set(select(inside, t.gather(select(inside, i, 0)), 0.0));
}

#[test]
fn indices_outside_by_every_policy() {
    for [rows, d, n] in [[1, 1, 3], [7, 5, 19], [4, 33, 12]] {
        let x = tame::<f32, 2>(1, [rows, d]);
        let index = from([n, 1], |i, _| (i * 5 - 9) as i32);
        let zeros = || Tensor::<f32, 2>::zeros([n, d]);
        let (clamped, wrapped, zeroed) =
            outputs!(rows_by_policy, [&x, &index], clamped = zeros(), wrapped = zeros(), zeroed = zeros());
        for (i, j) in (0..n).flat_map(|i| (0..d).map(move |j| (i, j))) {
            let at = i64::from(index.get([i, 0]));
            assert_eq!(clamped.get([i, j]), x.get([at.clamp(0, rows - 1), j]));
            assert_eq!(wrapped.get([i, j]), x.get([at.rem_euclid(rows), j]));
            assert_eq!(zeroed.get([i, j]), if (0..rows).contains(&at) { x.get([at, j]) } else { 0.0 });
        }
        let index = from([rows, n], |i, j| (i * 3 + j * 5 - 11) as i32);
        let zeros = || Tensor::<f32, 2>::zeros([rows, n]);
        let (clamped, wrapped, zeroed) =
            outputs!(elements_by_policy, [&x, &index], clamped = zeros(), wrapped = zeros(), zeroed = zeros());
        for (i, j) in (0..rows).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let at = i64::from(index.get([i, j]));
            assert_eq!(clamped.get([i, j]), x.get([i, at.clamp(0, d - 1)]));
            assert_eq!(wrapped.get([i, j]), x.get([i, at.rem_euclid(d)]));
            assert_eq!(zeroed.get([i, j]), if (0..d).contains(&at) { x.get([i, at]) } else { 0.0 });
        }
    }
}

/// Rows of a cache in pages: row `i` of a sequence is row `i % PAGE` of page `table[i / PAGE]`.
#[pypto::jit(meta(PAGE = 4))]
fn paged_rows<T: Element>(
    #[shape(ROWS, D)] cache: &Tensor<T, 2>,
    #[shape(PAGES, 1)] table: &Tensor<i32, 2>,
    #[shape(dyn N, 1)] index: &Tensor<i32, 2>,
    #[out]
    #[shape(dyn N, D)]
    y: &mut Tensor<T, 2>,
) {
    for i in range(0, N, 8) {
        let row = index.tile([i, 0], [8, 1]);
        let page = table.gather_rows(row / PAGE as i32);
        y.store([i, 0], cache.gather_rows(page * PAGE as i32 + row % PAGE as i32));
    }
}

#[test]
fn rows_in_pages() {
    let cache = tame::<bf16, 2>(1, [20, 6]);
    let table = Tensor::from_vec(vec![3, 0, 4, 1], [4, 1]);
    for n in [0, 1, 8, 21] {
        let index = from([n, 1], |i, _| ((i * 7 + 2) % 16) as i32);
        let (y,) = outputs!(paged_rows::<bf16>, [&cache, &table, &index], y = Tensor::<bf16, 2>::zeros([n, 6]));
        for (i, j) in (0..n).flat_map(|i| (0..6).map(move |j| (i, j))) {
            let row = i64::from(index.get([i, 0]));
            let place = i64::from(table.get([row / 4, 0])) * 4 + row % 4;
            assert_eq!(y.get([i, j]), cache.get([place, j]));
        }
    }
}

/// The first two dimensions exchanged, and the first with the last.
#[pypto::jit]
fn other_transposes(
    #[shape(A, B, C)] x: &Tensor<f32, 3>,
    #[out]
    #[shape(B, A, C)]
    first: &mut Tensor<f32, 3>,
    #[out]
    #[shape(C, B, A)]
    outer: &mut Tensor<f32, 3>,
) {
    for a in 0..A {
        let matrix = x.at(a).load_all();
        first.store([0, a, 0], matrix.reshape([B, 1, C]));
        outer.store([0, 0, a], matrix.t().reshape([C, B, 1]));
    }
}

#[test]
fn transposes_of_other_axes() {
    for [a, b, c] in [[1, 1, 1], [3, 5, 7], [4, 2, 33]] {
        let x = tame::<f32, 3>(1, [a, b, c]);
        let (first, outer) = outputs!(
            other_transposes,
            [&x],
            first = Tensor::<f32, 3>::zeros([b, a, c]),
            outer = Tensor::<f32, 3>::zeros([c, b, a])
        );
        for (i, j, k) in (0..a).flat_map(|i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k)))) {
            assert_eq!(first.get([j, i, k]), x.get([i, j, k]));
            assert_eq!(outer.get([k, j, i]), x.get([i, j, k]));
        }
    }
}

/// Columns by stride, columns that a condition holds for, and columns put back.
#[pypto::jit]
fn columns(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, HALF)]
    even: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    spread: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    found: &mut Tensor<i32, 2>,
    #[out]
    #[shape(M, 1)]
    count: &mut Tensor<i32, 2>,
) {
    static_assert!(HALF * 2 == N);
    let t = x.load_all();
    let places = Tile::<i32>::iota([1, HALF], 1, 0) * 2;
    let half = t.gather(places);
    even.set(half);
    spread.set(Tile::full([M, N], -1.0).scatter(places, half));
    let mask = t.gt(0.25);
    found.set(mask.row_argsort());
    count.set(mask.cast::<i32>().row_sum());
}

#[test]
fn columns_by_mask_and_by_comparison() {
    for [m, n] in [[1, 2], [5, 34], [9, 130]] {
        let x = tame::<f32, 2>(1, [m, n]);
        let (even, spread, found, count) = outputs!(
            columns,
            [&x],
            even = Tensor::<f32, 2>::zeros([m, n / 2]),
            spread = Tensor::<f32, 2>::zeros([m, n]),
            found = Tensor::<i32, 2>::zeros([m, n]),
            count = Tensor::<i32, 2>::zeros([m, 1])
        );
        for i in 0..m {
            let holds: Vec<i32> = (0..n).filter(|j| x.get([i, *j]) > 0.25).map(|j| j as i32).collect();
            assert_eq!(count.get([i, 0]) as usize, holds.len());
            assert_eq!((0..holds.len() as i64).map(|k| found.get([i, k])).collect::<Vec<_>>(), holds);
            for j in 0..n {
                assert_eq!(spread.get([i, j]), if j % 2 == 0 { x.get([i, j]) } else { -1.0 });
            }
            assert!((0..n / 2).all(|j| even.get([i, j]) == x.get([i, 2 * j])));
        }
    }
}

/// Two operands with other valid parts: where only one has an element, that one counts.
#[pypto::jit]
fn partial(
    #[shape(M, N)] a: &Tensor<f32, 2>,
    #[shape(M, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    sum: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    product: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    largest: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, WIDE)]
    expanded: &mut Tensor<f32, 2>,
) {
    let (p, q) = (a.load_all().set_valid([M, N - 1]), b.load_all().set_valid([M - 1, N]));
    sum.set(p.fillpad(0.0) + q.fillpad(0.0));
    product.set(p.fillpad(1.0) * q.fillpad(1.0));
    largest.set(p.fillpad(f32::NEG_INFINITY).max(q.fillpad(f32::NEG_INFINITY)));
    expanded.set(Tile::full([M, WIDE], 9.0).assemble([0, 0], a.load_all()));
}

#[test]
fn partial_combinations() {
    for [m, n] in [[2, 3], [7, 33]] {
        let (a, b) = (tame::<f32, 2>(1, [m, n]), tame::<f32, 2>(2, [m, n]));
        let zeros = || Tensor::<f32, 2>::zeros([m, n]);
        let (sum, product, largest, expanded) = outputs!(
            partial,
            [&a, &b],
            sum = zeros(),
            product = zeros(),
            largest = zeros(),
            expanded = Tensor::<f32, 2>::zeros([m, n + 3])
        );
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let (x, y) = (a.get([i, j]), b.get([i, j]));
            let [s, p, l] = match (j < n - 1, i < m - 1) {
                (true, true) => [x + y, x * y, x.max(y)],
                (true, false) => [x; 3],
                (false, true) => [y; 3],
                (false, false) => [0.0, 1.0, f32::NEG_INFINITY],
            };
            assert_eq!([sum.get([i, j]), product.get([i, j]), largest.get([i, j])], [s, p, l]);
            assert_eq!(expanded.get([i, j]), x);
        }
        assert!((0..m).all(|i| (n..n + 3).all(|j| expanded.get([i, j]) == 9.0)));
    }
}

/// Remainder with the divisor's sign, leaky ReLU with a number and with a tile, differences under an exponential.
#[pypto::jit]
fn arithmetic(
    #[shape(M, N)] a: &Tensor<f32, 2>,
    #[shape(M, N)] b: &Tensor<f32, 2>,
    #[shape(M, 1)] v: &Tensor<f32, 2>,
    #[shape(1, N)] w: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    remainder: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    leaky: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    parametric: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    by_row: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    by_column: &mut Tensor<f32, 2>,
) {
    let (x, y) = (a.load_all(), b.load_all());
    remainder.set(x - (x / y).floor() * y);
    leaky.set(select(x.gt(0.0), x, x * 0.125));
    parametric.set(select(x.gt(0.0), x, x * y));
    by_row.set((x - v.load_all()).exp());
    by_column.set((x - w.load_all()).exp());
}

#[test]
fn remainders_slopes_and_exponentials_of_differences() {
    for [m, n] in [[1, 1], [5, 37]] {
        let (a, b) = (tame::<f32, 2>(1, [m, n]), from([m, n], |i, j| 0.5 + ((i + j) % 3) as f32));
        let (v, w) = (tame::<f32, 2>(3, [m, 1]), tame::<f32, 2>(4, [1, n]));
        let zeros = || Tensor::<f32, 2>::zeros([m, n]);
        let (remainder, leaky, parametric, by_row, by_column) = outputs!(
            arithmetic,
            [&a, &b, &v, &w],
            remainder = zeros(),
            leaky = zeros(),
            parametric = zeros(),
            by_row = zeros(),
            by_column = zeros()
        );
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let (x, y) = (f64::from(a.get([i, j])), f64::from(b.get([i, j])));
            let near = |got: f32, want: f64| assert!((f64::from(got) - want).abs() <= 1e-6 * want.abs().max(1.0));
            near(remainder.get([i, j]), x.rem_euclid(y));
            near(leaky.get([i, j]), if x > 0.0 { x } else { x / 8.0 });
            near(parametric.get([i, j]), if x > 0.0 { x } else { x * y });
            near(by_row.get([i, j]), (x - f64::from(v.get([i, 0]))).exp());
            near(by_column.get([i, j]), (x - f64::from(w.get([0, j]))).exp());
        }
    }
}

/// What stands in for atomic additions: partial results in a tensor of their own, added in order.
#[pypto::jit]
fn added_in_order(
    #[shape(dyn M, N)] x: &Tensor<f32, 2>,
    #[shape(dyn M, 1)] bucket: &Tensor<i32, 2>,
    #[shape(BUCKETS, N)] y: &mut Tensor<f32, 2>,
) {
    for i in 0..M {
        let at = bucket.get([i, 0]) as i64;
        y.store([at, 0], y.tile([at, 0], [1, N]) + x.tile([i, 0], [1, N]));
    }
}

#[test]
fn sums_into_rows_that_data_name() {
    for m in [0, 1, 23] {
        let x = tame::<f32, 2>(1, [m, 5]);
        let bucket = from([m, 1], |i, _| (i * i % 3) as i32);
        let (y,) = outputs!(added_in_order, [&x, &bucket], y = Tensor::<f32, 2>::zeros([3, 5]));
        let mut want = Tensor::<f32, 2>::zeros([3, 5]);
        for (i, j) in (0..m).flat_map(|i| (0..5).map(move |j| (i, j))) {
            let at = [i64::from(bucket.get([i, 0])), j];
            want.put(at, want.get(at) + x.get([i, j]));
        }
        assert_eq!(y.to_vec(), want.to_vec());
    }
}

#[pypto::jit]
fn codes(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(M, N)] n: &Tensor<i8, 2>,
    #[out]
    #[shape(M, N)]
    scale: &mut Tensor<u8, 2>,
    #[out]
    #[shape(M, N)]
    code: &mut Tensor<u8, 2>,
) {
    scale.set(kernels::inline::e8m0_encode(x.load_all()));
    code.set(kernels::inline::i4_encode(n.load_all()));
}

#[test]
fn scales_and_short_integers_are_encoded() {
    let x = from([64, 64], |i, j| f32::from_bits(((64 * i + j) as u32).wrapping_mul(1_048_583)));
    let n = from([64, 64], |i, j| (64 * i + j) as i8);
    let bytes = || Tensor::<u8, 2>::zeros([64, 64]);
    let (scale, code) = outputs!(codes, [&x, &n], scale = bytes(), code = bytes());
    for (i, j) in (0..64).flat_map(|i| (0..64).map(move |j| (i, j))) {
        let (x, got) = (f64::from(x.get([i, j])).abs(), i32::from(scale.get([i, j])));
        let want = (0..255).rev().find(|code| 2f64.powi(code - 127) <= x).unwrap_or(0);
        assert_eq!(got, if x.is_nan() { 255 } else { want }, "{x}");
        let n = n.get([i, j]).clamp(-8, 7);
        assert_eq!(code.get([i, j]), n as u8 & 15);
    }
}
