//! `break`, `continue`, `loop` and `match`; arrays on core; assertions and computation at specialization. Eager runs, the
//! interpreter and compiled code agree.

use pypto::frontend::{ArgumentSpec, Specialization, instantiate};
use pypto::ir::DType;
use pypto::prelude::*;

use crate::{agree, sample};

/// As [`agree`], and compiled.
macro_rules! all_agree {
    ($kernel:ident($($input:expr),*; $ty:ty, $shape:expr)) => {{
        let mut expected = Tensor::<$ty, _>::zeros($shape);
        let mut found = expected.clone();
        $kernel.eager(($($input,)* &mut expected));
        $kernel($($input,)* &mut found).unwrap();
        assert_eq!(crate::bits(&expected), crate::bits(&found), "compiled");
        agree!($kernel($($input),*; $ty, $shape))
    }};
}

#[pypto::jit]
pub fn early_exits(n: i64, limit: i64, x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let mut total = 0.0;
    let mut seen = 0;
    for i in 0..n {
        let value = x.get([i]);
        if value < 0.0 {
            continue;
        }
        seen += 1;
        if value > 1.0 {
            if seen > limit {
                break;
            }
            total += 100.0;
        } else if i % 5 == 4 {
            continue;
        }
        total += value;
    }
    y.put([0], total);
    y.put([1], seen as f32);
}

#[test]
fn loops_are_left_early() {
    let x = sample([24]);
    for n in [0i64, 1, 5, 24] {
        for limit in [0i64, 2, 100] {
            all_agree!(early_exits(n, limit, &x; f32, [2]));
        }
    }
}

#[pypto::jit]
pub fn nested(n: i64, #[out] y: &mut Tensor<i64, 1>) {
    let mut count = 0;
    let mut steps = 0;
    for i in 0..n {
        let mut j = 0;
        while j < n {
            j += 1;
            if j == i {
                continue;
            }
            if j > 2 * i + 1 {
                break;
            }
            count += i * j;
        }
        if count > 200 {
            break;
        }
        steps += 1;
    }
    let mut k = n;
    loop {
        if k <= 1 {
            break;
        }
        k = if k % 2 == 0 { k / 2 } else { 3 * k + 1 };
        steps += 1;
    }
    y.put([0], count);
    y.put([1], steps);
}

#[test]
fn loops_within_loops_have_exits_of_their_own() {
    for n in [0i64, 1, 3, 7, 12] {
        all_agree!(nested(n; i64, [2]));
    }
}

/// The variables that the rest of an iteration assigns are tiles, and the loop is over places.
#[pypto::jit]
pub fn tiles_left_early(
    limit: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(1, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut best = Tile::full([1, N], f32::NEG_INFINITY);
    for at in tiles([M, N], [2, N]) {
        if at.offset(0) == 2 {
            continue;
        }
        let t = x.load(at).fillpad(f32::NEG_INFINITY);
        best = best.max(t.col_max());
        if at.offset(0) >= limit {
            break;
        }
        best = best + 0.25;
    }
    y.set(best);
}

#[test]
fn exits_carry_tiles() {
    let x = sample([9, 4]);
    for limit in [0i64, 4, 100] {
        all_agree!(tiles_left_early(limit, &x; f32, [1, 4]));
    }
}

const LOW: i64 = -1;

#[pypto::jit]
pub fn matches_integers(n: i64, flag: bool, #[out] y: &mut Tensor<i64, 1>) {
    let kind = match n {
        0 => 10,
        1 | 2 => 20,
        3..=5 => 30,
        6..9 => 40,
        LOW => 50,
        i64::MIN..=-100 => 60,
        k if k % 2 == 0 => k * 100,
        k => k,
    };
    let mut sign = 1;
    match flag {
        true => sign = -1,
        false if n > 7 => {
            sign = 2;
        }
        false => {}
    }
    let mut rounds = 0;
    for i in 0..n {
        match i {
            2 => continue,
            6 => break,
            _ => {}
        }
        rounds += i;
    }
    y.put([0], kind);
    y.put([1], sign);
    y.put([2], rounds);
}

#[test]
fn matches_take_the_first_arm_that_fits() {
    for n in [-200i64, -100, -3, -2, -1, 0, 1, 2, 3, 5, 6, 8, 9, 10, 11] {
        for flag in [false, true] {
            all_agree!(matches_integers(n, flag; i64, [3]));
        }
    }
}

/// A `match` on what is known leaves one arm.
#[pypto::jit(meta(MODE = 1))]
pub fn modes(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let t = x.load_all();
    y.set(match MODE {
        0 => t,
        1 => t.exp(),
        _ => t * 2.0,
    });
}

#[test]
fn known_matches_leave_one_arm() {
    let x = sample([3, 4]);
    let program = all_agree!(modes(&x; f32, [3, 4]));
    assert!(!pypto::ir::text::print(&program, pypto::ir::text::PrintOptions { locations: false }).contains("if("));
    let mut y = Tensor::zeros([3, 4]);
    modes.with(meta! {MODE: 2})(&x, &mut y).unwrap();
    assert_eq!(y.get([2, 3]), 2.0 * x.get([2, 3]));
}

#[pypto::jit]
pub fn histogram(n: i64, x: &Tensor<i64, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let mut counts = [0.0; 4];
    for i in 0..n {
        let bin = x.get([i]) % 4;
        counts[bin as usize] += 1.0;
    }
    counts[0] = counts[0] * 0.5;
    let (mut low, mut high) = (counts[1], counts[2]);
    if low > high {
        (low, high) = (high, low);
    }
    for k in 0..4 {
        y.put([k], counts[k as usize]);
    }
    y.put([4], low);
    y.put([5], high);
}

#[test]
fn arrays_are_indexed_at_run_time() {
    let x = Tensor::from_fn([40], |[i]| (i * i * 7 + i) % 23);
    for n in [0i64, 1, 13, 40] {
        all_agree!(histogram(n, &x; f32, [6]));
    }
}

#[pypto::jit]
pub fn picks(at: i64, #[out] y: &mut Tensor<i64, 1>) {
    let table = [5, 7, 11];
    y.put([0], table[at as usize]);
}

#[test]
fn indices_outside_stop_the_kernel() {
    all_agree!(picks(2i64; i64, [1]));
    for at in [-1i64, 3] {
        let error = picks(at, &mut Tensor::zeros([1])).unwrap_err().to_string();
        assert!(error.contains(" lies outside the array of 3 elements"), "{error}");
    }
}

/// Not `const`: it runs where the kernel is specialized.
fn divisor(n: i64, limit: i64) -> i64 {
    (1..=limit).rev().find(|d| n % d == 0).unwrap_or(1)
}

const fn doubled(n: i64) -> i64 {
    2 * n
}

const EDGE: i64 = doubled(2) + 1;

#[pypto::jit(meta(LIMIT = 6))]
pub fn computed(
    #[spec] scale: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    static_assert!(N > 0, "there are columns");
    let rows = comptime!(divisor(M, LIMIT));
    let factor = comptime!((doubled(scale) + EDGE) as f32 * 0.5);
    for at in tiles([M, N], [rows, N]) {
        y.store(at, x.load(at) * factor);
    }
    device_assert!(rows <= LIMIT, "divisors are not above the limit");
}

#[test]
fn rust_code_runs_at_specialization() {
    for rows in [6, 7, 8, 10] {
        let x = sample([rows, 3]);
        all_agree!(computed(3i64, &x; f32, [rows, 3]));
    }
    let x = sample([8, 3]);
    let mut y = Tensor::zeros([8, 3]);
    computed.with(meta! {LIMIT: 3})(3, &x, &mut y).unwrap();
    assert_eq!(y.get([7, 2]), 5.5 * x.get([7, 2]));
}

/// The condition is known to be false, on a path that is not.
#[pypto::jit]
pub fn guarded(n: i64, #[shape(M)] x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    if n > 0 {
        assert!(M > 100, "long enough for n");
    }
    y.set(x * 2.0);
}

#[test]
fn assertions_that_are_known_to_fail_stop_where_they_stand() {
    let x = sample([4]);
    all_agree!(guarded(0i64, &x; f32, [4]));
    let error = guarded(1, &x, &mut Tensor::zeros([4])).unwrap_err().to_string();
    assert!(error.contains("long enough for n"), "{error}");
}

#[pypto::jit]
pub fn printing(n: i64, #[shape(M, N)] x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let mut acc = x.load_all();
    // The loop is walked more than once; it prints once.
    for at in tiles([M, N], [2, N]) {
        let part = x.load(at);
        static_print!("{M} x {}, {{}}: {acc:?}, {n}", N);
        acc = acc + part.col_sum();
    }
    for k in unroll(0..2) {
        static_print!("k = {k}");
    }
    y.set(acc);
}

#[test]
fn static_print_tells_what_is_known() {
    use std::sync::Mutex;
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    pypto::frontend::static_print::on_static_print(|line| {
        if line.loc.to_string().contains("exits.rs") {
            LINES.lock().unwrap().push(line.text.clone());
        }
    });
    let x = sample([5, 3]);
    let spec =
        |t: &Tensor<f32, 2>| ArgumentSpec::Tensor { dtype: DType::F32, dims: t.dims().to_vec(), contiguous: true };
    let args = [ArgumentSpec::Scalar { dtype: DType::I64, bits: 4 }, spec(&x), spec(&x)];
    let function = printing.ir();
    instantiate(function, &Specialization::for_call(function, &[], &args, &[]).unwrap()).unwrap();
    assert_eq!(LINES.lock().unwrap().as_slice(), ["5 x 3, {}: tile f32 [5, 3], i64", "k = 0", "k = 1"]);
}

#[pypto::jit]
pub fn labelled(n: i64, #[out] y: &mut Tensor<i64, 1>) {
    let mut count = 0;
    let mut rows = 0;
    'rows: for i in 0..n {
        let mut j = 0;
        while j < n {
            j += 1;
            for k in 0..n {
                if i * j + k == 7 {
                    continue 'rows;
                }
                if i + j + k == 11 {
                    break 'rows;
                }
                if k > j {
                    break;
                }
                count += 1;
            }
            count += 100;
        }
        rows += 1;
    }
    let mut steps = 0;
    'outer: loop {
        loop {
            steps += 1;
            if steps % 3 == 0 {
                continue 'outer;
            }
            if steps > n {
                break 'outer;
            }
        }
    }
    y.put([0], count);
    y.put([1], rows);
    y.put([2], steps);
}

#[test]
fn loops_further_out_are_left() {
    for n in 0..9 {
        all_agree!(labelled(n; i64, [3]));
    }
}
