//! The silent hazards of docs/hazards.md: an error, or the right answer, in every mode.

use std::fs;
use std::path::Path;

use pypto::compile::Platform;
use pypto::diagnostics::codes;
use pypto::ir::DType;
use pypto::prelude::*;

/// Both ways in which compiled programs run.
fn platforms() -> [RunConfig; 2] {
    [RunConfig::new(), RunConfig::new().with_platform(Platform::Interpreter)]
}

mod coarse {
    use pypto::prelude::*;

    const SCALE: f32 = 2.0;

    #[pypto::jit]
    pub fn scaled(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
        y.set(x * SCALE);
    }
}

mod fine {
    use pypto::prelude::*;

    const SCALE: f32 = 0.5;

    #[pypto::jit]
    pub fn scaled(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
        y.set(x * SCALE);
    }
}

/// Two kernels with the same tokens and another constant do not share an artifact.
#[test]
fn constants_are_part_of_the_key() {
    let x = Tensor::full([4], 3.0f32);
    let mut y = Tensor::zeros([4]);
    coarse::scaled(&x, &mut y).unwrap();
    assert_eq!(y.to_vec(), [6.0; 4]);
    fine::scaled(&x, &mut y).unwrap();
    assert_eq!(y.to_vec(), [1.5; 4]);
}

#[pypto::jit]
fn times(#[spec] factor: f32, x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    y.set(x * factor);
}

/// Scalars of a specialization are told apart by their bits.
#[test]
fn zeros_of_both_signs_are_two_keys() {
    let x = Tensor::full([3], 1.0f32);
    for factor in [0.0f32, -0.0, 0.0] {
        let mut y = Tensor::zeros([3]);
        times(factor, &x, &mut y).unwrap();
        assert!(y.to_vec().iter().all(|v| v.to_bits() == factor.to_bits()), "{factor}: {y:?}");
    }
}

#[pypto::jit]
fn last_of(n: i64, #[out] y: &mut Tensor<i64, 1>) {
    let mut last = -1;
    for i in 0..n {
        last = i;
    }
    y.set(last);
}

/// After a loop, a variable has the value of the last iteration.
#[test]
fn variables_keep_what_loops_assign() {
    for n in [0, 1, 5] {
        for config in platforms() {
            let mut y = Tensor::<i64, 1>::zeros([1]);
            last_of.compile(&(n, &y), &config).unwrap().call((n, &mut y)).unwrap();
            assert_eq!(y.to_vec(), [n - 1]);
        }
    }
}

#[pypto::jit]
fn guarded(n: i64, #[out] y: &mut Tensor<i64, 1>) {
    y.set(0);
    if n != 0 && 12 / n > 2 {
        y.set(1);
    }
    if n == 0 || 12 % n == 1 {
        y.set(2);
    }
}

/// The right side of `&&` and `||` is evaluated only where it counts: a division by zero behind it does not stop.
#[test]
fn logic_is_short_circuit() {
    for (n, expected) in [(0i64, 2), (3, 1), (12, 0), (11, 2)] {
        for config in platforms() {
            let mut y = Tensor::<i64, 1>::zeros([1]);
            guarded.compile(&(n, &y), &config).unwrap().call((n, &mut y)).unwrap();
            assert_eq!(y.to_vec(), [expected], "n = {n}");
        }
    }
}

#[pypto::function(inline)]
fn shifted(t: Tile<f32, 1>) -> Tile<f32, 1> {
    let scale = 10.0;
    t + scale
}

#[pypto::jit]
fn hygienic(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let scale = 2.0;
    let t = shifted(x.load_all());
    y.set(t * scale);
}

/// Variables of an inline function and of its caller are apart.
#[test]
fn inline_functions_are_hygienic() {
    let x = Tensor::full([2], 1.0f32);
    let mut y = Tensor::zeros([2]);
    hygienic(&x, &mut y).unwrap();
    assert_eq!(y.to_vec(), [22.0; 2]);
}

#[pypto::jit]
fn divided(n: i64, u: u32, #[out] y: &mut Tensor<i64, 1>) {
    y.put([0], n / 2);
    y.put([1], n % 2);
    y.put([2], -7 / 2);
    y.put([3], -7 % 2);
    let mut above = 0;
    if u > 1 {
        above = 1;
    }
    y.put([4], above);
}

/// Constants fold as the operation computes, negative numbers too, and unsigned types compare as such.
#[test]
fn folding_and_execution_agree() {
    for config in platforms() {
        let mut y = Tensor::<i64, 1>::zeros([5]);
        divided.compile(&(-7i64, u32::MAX, &y), &config).unwrap().call((-7i64, u32::MAX, &mut y)).unwrap();
        assert_eq!(y.to_vec(), [-3, -1, -3, -1, 1]);
    }
}

#[pypto::jit]
fn of_both(#[shape(M, N)] x: &Tensor<f32, 2>, n: i64, k: i64, #[out] y: &mut Tensor<f32, 2>) {
    let a = x.load_all().set_valid([M, n]);
    let b = x.load_all().set_valid([M, k]);
    y.set((a + b).row_sum());
}

/// Operands that are valid to different extents give a result that is valid where both are.
#[test]
fn regions_of_operands_meet() {
    let x = Tensor::full([2, 8], 1.0f32);
    for (n, k) in [(3i64, 5i64), (5, 3), (8, 8), (0, 4)] {
        for config in platforms() {
            let mut y = Tensor::<f32, 2>::zeros([2, 1]);
            of_both.compile(&(&x, n, k, &y), &config).unwrap().call((&x, n, k, &mut y)).unwrap();
            assert_eq!(y.to_vec(), [2.0 * n.min(k) as f32; 2], "{n}, {k}");
        }
    }
}

#[pypto::jit(meta(TN = 16))]
fn largest(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let mut best = Tile::full([M, 1], f32::NEG_INFINITY);
    for at in tiles([M, N], [M, TN]) {
        best = best.max(x.load(at).row_max());
    }
    y.set(best);
}

/// The padding of a ragged tile never takes part: the maximum of negative numbers is negative.
#[test]
fn padding_is_not_reduced() {
    let x = Tensor::from_fn([3, 21], |[i, j]| -1.0 - (i + j) as f32);
    for config in platforms() {
        let mut y = Tensor::<f32, 2>::zeros([3, 1]);
        largest.compile(&(&x, &y), &config).unwrap().call((&x, &mut y)).unwrap();
        assert_eq!(y.to_vec(), [-1.0, -2.0, -3.0]);
    }
}

#[pypto::jit]
fn summed(#[shape(M, K)] a: &Tensor<bf16, 2>, #[shape(K, N)] b: &Tensor<bf16, 2>, #[out] y: &mut Tensor<f32, 2>) {
    y.set(matmul(a, b));
}

/// A product of bf16 is of f32: 257 is no bf16.
#[test]
fn products_accumulate_in_f32() {
    let (a, b) = (Tensor::full([1, 257], bf16::ONE), Tensor::full([257, 1], bf16::ONE));
    let mut y = Tensor::zeros([1, 1]);
    summed(&a, &b, &mut y).unwrap();
    assert_eq!(y.to_vec(), [257.0]);
}

#[pypto::jit]
fn narrowed(x: &Tensor<f32, 1>, #[out] y: &mut Tensor<bf16, 1>, #[out] z: &mut Tensor<bf16, 1>) {
    y.set(x.cast::<bf16>());
    z.set(x.cast_with::<bf16>(Round::Round));
}

/// A cast without a mode rounds as IEEE and Rust do, ties to even; half away from zero is asked for by name.
#[test]
fn casts_round_to_nearest_even() {
    let tie = 1.0 + 2f32.powi(-8);
    let x = Tensor::full([1], tie);
    let (mut y, mut z) = (Tensor::zeros([1]), Tensor::zeros([1]));
    narrowed(&x, &mut y, &mut z).unwrap();
    assert_eq!((y.get([0]).to_f32(), z.get([0]).to_f32()), (1.0, 1.0 + 2f32.powi(-7)));
}

#[pypto::function(incore)]
fn doubled(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x * 2.0);
}

#[pypto::function(incore)]
fn cleared(#[shape(N)] x: &mut Tensor<f32, 1>) {
    x.set(0.0);
}

#[pypto::jit(orchestration)]
fn read_then_cleared(
    #[shape(N)] x: &mut Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    doubled(x, y);
    cleared(x);
}

/// A task that overwrites what another reads waits for it.
#[test]
fn writers_wait_for_readers() {
    for _ in 0..20 {
        let (mut x, mut y) = (Tensor::full([1 << 14], 3.0f32), Tensor::zeros([1 << 14]));
        read_then_cleared(&mut x, &mut y).unwrap();
        assert!(y.to_vec().iter().all(|v| *v == 6.0) && x.to_vec().iter().all(|v| *v == 0.0));
    }
}

#[pypto::jit]
fn blocks(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for b in spmd(4) {
        y.store([b * 8, 0], x.tile([b * 8, 0], [16, N]));
    }
}

/// Blocks that write the same rows are an error.
#[test]
fn blocks_are_disjoint() {
    let x = TensorSpec::new(DType::F32, [64, 8]);
    let error = blocks.lower(&(&x, &x)).unwrap_err();
    assert_eq!(error.code(), Some(codes::OVERLAPPING_WRITES), "{error}");
}

#[pypto::function(incore)]
fn decide(x: &Tensor<f32, 1>, #[out] flag: &mut Tensor<i32, 1>) {
    let mut found = 0i32;
    if x.get([0]) > 0.0 {
        found = 1;
    }
    flag.put([0], found);
}

#[pypto::jit(orchestration)]
fn on_demand(#[shape(N)] x: &Tensor<f32, 1>, #[shape(N)] y: &mut Tensor<f32, 1>) {
    let mut flag = Tensor::<i32, 1>::temp([1]);
    decide(x, &mut flag);
    if flag.get([0]) > 0 {
        doubled(x, y);
    }
}

/// A condition on what a task writes waits for the task.
#[test]
fn conditions_wait_for_their_producers() {
    for (first, expected) in [(3.0f32, 6.0f32), (-3.0, 1.0)] {
        let (x, mut y) = (Tensor::full([64], first), Tensor::full([64], 1.0));
        on_demand(&x, &mut y).unwrap();
        assert_eq!(y.to_vec(), [expected; 64]);
    }
}

#[pypto::jit]
fn both_ways(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    y.store([0, 0], x.tile([0, 0], [2, N]));
    y.put([1, 1], 9.0);
    let t = y.tile([0, 0], [2, N]);
    y.put([0, 0], 7.0);
    y.store([2, 0], t);
}

/// Single elements and tiles of one tensor are read and written in the order of the text.
#[test]
fn elements_and_tiles_keep_their_order() {
    let x = Tensor::full([4, 3], 1.0f32);
    for config in platforms() {
        let mut y = Tensor::<f32, 2>::zeros([4, 3]);
        both_ways.compile(&(&x, &y), &config).unwrap().call((&x, &mut y)).unwrap();
        assert_eq!(y.to_vec(), [7.0, 1.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 1.0]);
    }
}

#[pypto::function(incore)]
fn twofold(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [8, N]) {
        y.store(at, x.load(at) * 2.0);
    }
}

#[pypto::jit]
fn nested(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x * 0.0);
    for _a in 0..3 {
        for _b in 0..3 {
            for _c in 0..3 {
                for _d in 0..3 {
                    for _e in 0..3 {
                        for _f in 0..3 {
                            let mut first = Tensor::<f32, 2>::temp([M, N]);
                            let mut second = Tensor::<f32, 2>::temp([M, N]);
                            twofold(x, &mut first);
                            twofold(&first, &mut second);
                            added(&second, y);
                        }
                    }
                }
            }
        }
    }
}

#[pypto::function(incore)]
fn added(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for at in tiles([M, N], [8, N]) {
        y.store(at, y.load(at) + x.load(at));
    }
}

/// Temporaries live as long as they are used, however deep the loops are in which they are made: nothing overflows.
#[test]
fn temporaries_of_deep_loops_do_not_run_out() {
    let x = Tensor::full([16, 8], 1.0f32);
    for config in platforms() {
        let mut y = Tensor::<f32, 2>::zeros([16, 8]);
        nested.compile(&(&x, &y), &config).unwrap().call((&x, &mut y)).unwrap();
        assert_eq!(y.to_vec(), [729.0 * 4.0; 128]);
    }
}

/// Every row of docs/hazards.md names tests that exist.
#[test]
fn the_page_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("docs/hazards.md")).unwrap();
    let table = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let mut count = 0;
    for line in table.filter(|line| !line.starts_with("| #")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, _, _, test] = cells[..] else { panic!("{line}: {} cells", cells.len()) };
        for name in test.split(", ") {
            let name = name.trim_matches('`');
            let (file, name) = name.split_once("::").unwrap_or((name, ""));
            let in_tests = root.join("tests/tests").join(file);
            let path = if in_tests.exists() { in_tests } else { root.join(file) };
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            // A file without a test's name is one whose text rustc, the macros or the compiler reject.
            let shown = !name.is_empty() || path.with_extension("stderr").exists() || text.contains("#[test]");
            assert!(shown, "{file} shows nothing");
            assert!(name.is_empty() || text.contains(&format!("fn {name}()")), "{file} has no test `{name}`");
        }
        count += 1;
    }
    assert!(count > 35, "{count} rows");
}
