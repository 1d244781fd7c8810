//! `kernel.tune(..)`: what it chooses, what it drops and why, what it keeps on disk, and what it refuses.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pypto::ir::DType;
use pypto::jit::tune::{Outcome, TuneOrigin};
use pypto::jit::{ErrorKind, TuneError, TuneOptions, stats};
use pypto::prelude::*;

#[pypto::jit(meta(TM = 64))]
fn softmax(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

/// One element after the other: the more of them there are, the longer it takes.
#[pypto::jit(meta(STEP = 1))]
fn some(#[shape(N)] x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in range(0, N, STEP) {
        y.put([i], y.get([i]) + x.get([i]));
    }
}

/// As slow as `ROUNDS` says, whatever it is.
#[pypto::jit(meta(ROUNDS = 1))]
fn repeated(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    static_assert!(ROUNDS != 13, "13 is not wanted");
    for _ in 0..ROUNDS {
        for at in tiles([M, N], [4, N]) {
            y.store(at, x.load(at).exp());
        }
    }
}

#[pypto::jit(meta(TILE = 8))]
fn scaled(x: &Tensor<f32, 2>, #[spec] by: i32) -> Tensor<f32, 2> {
    let mut y = Tensor::temp([x.dim(0), x.dim(1)]);
    for at in tiles([x.dim(0), x.dim(1)], [TILE, 16]) {
        y.store(at, x.load(at) * (by as f32));
    }
    y
}

fn quick() -> TuneOptions {
    TuneOptions::new().with_cache(false).with_time(Duration::from_millis(20))
}

fn ramp(rows: i64, columns: i64) -> Tensor<f32, 2> {
    Tensor::from_fn([rows, columns], |[i, j]| ((i * 7 + j * 3) % 11) as f32 - 5.0)
}

#[test]
fn the_fastest_candidate_is_chosen_and_used() {
    let (x, mut y) = (ramp(64, 256), Tensor::full([64, 256], 7.0f32));
    let tuned = repeated.tune_with(space! { ROUNDS: [40, 1, 20] }, &(&x, &y), &quick()).unwrap();
    assert_eq!(tuned.values().get("ROUNDS"), Some(1));
    assert!(tuned.report().speedup() > 3.0, "{tuned}");
    assert!(y.as_slice().iter().all(|v| *v == 7.0), "what the user holds is not written");
    let text = tuned.to_string();
    assert!(text.starts_with("repeated(x: [64, 256], y: [64, 256]) on "), "{text}");
    assert!(text.contains("times as fast as the first candidate, ROUNDS = 40"), "{text}");
    let chosen = text.lines().find(|line| line.ends_with("chosen")).unwrap();
    assert!(chosen.trim_start().starts_with("ROUNDS = 1 "), "{text}");

    let mut expected = Tensor::zeros([64, 256]);
    repeated(&x, &mut expected).unwrap();
    tuned.call((&x, &mut y)).unwrap();
    assert_eq!(y.as_slice(), expected.as_slice());
    y.set(0.0);
    repeated.with(tuned.meta())(&x, &mut y).unwrap();
    assert_eq!(y.as_slice(), expected.as_slice());
    // Other extents than those that it was tuned for.
    let (x, mut y) = (ramp(5, 3), Tensor::<f32, 2>::zeros([5, 3]));
    tuned.call((&x, &mut y)).unwrap();
    assert_eq!(y.get([4, 2]), x.get([4, 2]).exp());
    let error = tuned.call((&x, &mut Tensor::<f32, 2>::zeros([5, 4]))).unwrap_err();
    assert!(error.to_string().contains("`N` is 3 in `x` and 4 in `y`"), "{error}");
}

#[test]
fn every_combination_is_tried_in_order() {
    let x = TensorSpec::new(DType::F32, [16, 32]);
    let space = space! { TM: [4, 8, 4], };
    let tuned = softmax.tune_with(space, &(x.clone(), x.clone()), &quick()).unwrap();
    let tried: Vec<_> = tuned.report().candidates.iter().map(|c| c.values.get("TM").unwrap()).collect();
    assert_eq!(tried, [4, 8], "a value that comes twice counts once");
    assert_eq!(tuned.report().origin, TuneOrigin::Measured);
    let ran = |outcome: &Outcome| matches!(outcome, Outcome::Measured { best, samples, .. } if !best.is_zero() && *samples > 0);
    assert!(tuned.report().candidates.iter().all(|c| ran(&c.outcome)), "{tuned}");

    let space = pypto::jit::Space::new().set("TILE", [4, 8]).set("by", [3, 3, 3]);
    assert_eq!(space.names().collect::<Vec<_>>(), ["TILE", "by"]);
    let tuned = scaled.tune_with(space, &(x.clone(), 5i32), &quick()).unwrap();
    let texts: Vec<String> = tuned.report().candidates.iter().map(|c| format!("{:?}", c.values)).collect();
    assert_eq!(texts, [r#"MetaValues([("TILE", 4), ("by", 3)])"#, r#"MetaValues([("TILE", 8), ("by", 3)])"#]);
}

#[test]
fn scalars_that_are_part_of_the_key_are_tuned_too() {
    let x = ramp(16, 16);
    // Another factor gives other results: all but the first are dropped.
    let tuned = scaled.tune_with(space! { by: [2, 3, -1] }, &(&x, 9i32), &quick()).unwrap();
    assert_eq!(tuned.values().get("by"), Some(2));
    assert_eq!(tuned.meta(), pypto::jit::MetaValues::new());
    let y = tuned.call((&x, 9i32)).unwrap();
    assert_eq!(y.get([3, 4]), 2.0 * x.get([3, 4]), "the chosen value counts, not the given one");
    let dropped = &tuned.report().candidates[2].outcome;
    assert!(matches!(dropped, Outcome::Differs { reason } if reason.starts_with("result 0: DIFFERS")), "{tuned}");
    assert!(tuned.to_string().contains("dropped, its results differ: result 0: DIFFERS"), "{tuned}");
    // A looser tolerance, and all are right.
    let loose = quick().with_tolerance(0.0, 1e3);
    let tuned = scaled.tune_with(space! { by: [2, 3, -1] }, &(&x, 9i32), &loose).unwrap();
    assert!(tuned.report().candidates.iter().all(|c| c.outcome.best().is_some()), "{tuned}");
}

#[test]
fn what_a_call_keeps_is_given_back_before_each_trial() {
    // `y` is read and written: each trial starts with the contents that were given.
    let (x, mut y) = (Tensor::full([64], 1.0f32), Tensor::full([64], 5.0));
    let tuned = some.tune_with(space! { STEP: [1, 2] }, &(&x, &y), &quick()).unwrap();
    assert_eq!(tuned.values().get("STEP"), Some(1), "a step of 2 leaves elements as they are\n{tuned}");
    assert!(tuned.to_string().contains("y: DIFFERS, f32, 32 of 64 elements"), "{tuned}");
    tuned.call((&x, &mut y)).unwrap();
    assert_eq!(y.to_vec(), [6.0; 64]);
}

#[test]
fn candidates_that_do_not_compile_are_told_and_skipped() {
    let x = ramp(8, 16);
    let tuned = repeated.tune_with(space! { ROUNDS: [13, 2] }, &(&x, &x), &quick()).unwrap();
    assert_eq!(tuned.values().get("ROUNDS"), Some(2));
    let text = tuned.to_string();
    assert!(text.contains("dropped, it fails: PTO0221: 13 is not wanted"), "{text}");

    let error = repeated.tune_with(space! { ROUNDS: [13] }, &(&x, &x), &quick()).unwrap_err();
    let ErrorKind::Tune(TuneError::NoneWorks { kernel, failures }) = error.kind() else { panic!("{error}") };
    assert_eq!((kernel.as_str(), failures.len(), failures[0].0.as_str()), ("repeated", 1, "ROUNDS = 13"));
    assert!(matches!(failures[0].1, ErrorKind::Compile(_)));
    let text = error.to_string();
    assert!(text.starts_with("none of the 1 candidates of `repeated` works\nROUNDS = 13:\nerror[PTO0221]"), "{text}");
}

#[test]
fn spaces_that_mean_nothing_are_refused() {
    let x = ramp(8, 16);
    let refused = |space| softmax.tune_with(space, &(&x, &x), &quick()).unwrap_err();
    let text = |space| refused(space).to_string();
    assert_eq!(
        text(pypto::jit::Space::new()),
        "`softmax` is tuned over nothing: name a parameter and its values, as in `space!{ TM: [16, 32] }`"
    );
    assert_eq!(
        text(space! { TM: [] }),
        "`softmax` is tuned over `TM`, for which there are no values: give at least one"
    );
    assert_eq!(
        text(space! { TN: [1] }),
        "`softmax` has no `meta(..)` parameter and no `#[spec]` scalar `TN`: did you mean `TM`?"
    );
    assert_eq!(
        text(space! { x: [1] }),
        "`softmax` has no `meta(..)` parameter and no `#[spec]` scalar `x`: it has `TM`"
    );
    let error = refused(space! { TM: 1..=300 });
    let ErrorKind::Tune(TuneError::TooMany { count: 300, limit: 256, .. }) = error.kind() else { panic!("{error}") };
    let space = space! { by: [1, 1 << 40] };
    let error = scaled.tune_with(space, &(&x, 1i32), &quick()).unwrap_err();
    assert_eq!(error.to_string(), "`by` of `scaled` is a scalar of type i32, which cannot be 1099511627776");
    let error = softmax.tune_with(space! { TM: [1, 2] }, &(&x, &x), &quick().with_limit(1)).unwrap_err();
    assert!(error.to_string().contains("2 combinations, and the limit is 1"), "{error}");
    // Arguments are refused as by a call.
    let wrong = Tensor::<f32, 2>::zeros([8, 15]);
    let error = softmax.tune_with(space! { TM: [4] }, &(&x, &wrong), &quick()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Call(_)), "{error}");
}

#[pypto::jit(meta(N = 4))]
fn numbers(#[shape(8)] x: &Tensor<f32, 1>, factor: f32) -> Tensor<f32, 1> {
    let mut y = Tensor::temp([8]);
    y.set(x * factor);
    y
}

#[test]
fn what_is_not_known_has_to_be_given() {
    let error = numbers.tune_with(space! { N: [1, 2] }, &(), &quick()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`numbers` is tuned by running it, and nothing tells what `factor` is then: give arguments"
    );
}

#[derive(pypto::Args)]
struct Both {
    #[shape(M, N)]
    a: Tensor<f32, 2>,
    #[shape(M, N)]
    b: Tensor<f32, 2>,
}

#[pypto::jit(meta(LIMIT = 10))]
fn chosen(
    both: &Both,
    #[shape(M, N)] index: &Tensor<i32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    // Made-up numbers would not be as large.
    device_assert!(index.get([0, 0]) > 90, "the contents that are given are used");
    device_assert!(both.b.get([1, 1]) > 100.0, "those of structs, too");
    for at in tiles([M, N], [LIMIT, N]) {
        y.store(at, both.a.load(at) + both.b.load(at));
    }
}

#[test]
fn trials_run_on_the_contents_that_are_given() {
    let both = Both { a: ramp(20, 8), b: Tensor::full([20, 8], 200.0) };
    let (index, y) = (Tensor::full([20, 8], 99), Tensor::<f32, 2>::zeros([20, 8]));
    let tuned = chosen.tune_with(space! { LIMIT: [5, 10] }, &(&both, &index, &y), &quick()).unwrap();
    assert!(tuned.report().candidates.iter().all(|c| c.outcome.best().is_some()), "{tuned}");
    // A check that fails in every candidate is what is told.
    let index = Tensor::full([20, 8], 9);
    let error = chosen.tune_with(space! { LIMIT: [5, 10] }, &(&both, &index, &y), &quick()).unwrap_err();
    assert!(error.to_string().contains("the contents that are given are used"), "{error}");
}

#[test]
fn fixed_values_stay() {
    let x = ramp(16, 16);
    let tuned = scaled.with(meta! { TILE: 4 }).tune_with(space! { by: [2] }, &(&x, 1i32), &quick()).unwrap();
    assert_eq!((tuned.meta().get("TILE"), tuned.values().get("TILE")), (Some(4), None));
}

/// In a process of its own, whose cache nobody else uses: prints where the choice comes from, for each number of rows, and
/// how many kernels were compiled.
#[test]
#[ignore = "the test below runs it"]
fn child() {
    let Ok(rows) = std::env::var("TUNED_ROWS") else { return };
    for rows in rows.split(',').map(|rows| rows.parse().unwrap()) {
        let x = ramp(rows, 64);
        let before = stats();
        let tuned = repeated.tune(space! { ROUNDS: [30, 2, 1] }, &(&x, &x)).unwrap();
        let origin = match &tuned.report().origin {
            TuneOrigin::Measured => "measured".to_owned(),
            TuneOrigin::Disk { measured_for } => measured_for.clone(),
        };
        let after = stats();
        let made = after.compiled + after.loaded - before.compiled - before.loaded;
        println!("tuned {rows}: {} {origin} {made}", tuned.values().get("ROUNDS").unwrap());
    }
}

fn run(cache: &Path, threads: &str, rows: &str) -> Vec<String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("PYPTO_CACHE_DIR", cache)
        .env("PYPTO_CACHE", "on")
        .env("PYPTO_THREADS", threads)
        .env("TUNED_ROWS", rows)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_once("tuned ")).map(|(_, line)| line.to_owned()).collect()
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn choices_are_kept_for_the_next_run() {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path();
    let measured = "1 measured 3".to_owned();
    let of = |rows: i64| format!("1 x: [{rows}, 64], y: [{rows}, 64]");
    assert_eq!(run(cache, "2", "40"), [format!("40: {measured}")]);
    // The same; about as many, which is checked with the first candidate; then known; and of another class.
    let expected = [
        format!("40: {} 0", of(40)),
        format!("41: {} 2", of(40)),
        format!("41: {} 0", of(40)),
        format!("200: {measured}"),
    ];
    assert_eq!(run(cache, "2", "40,41,41,200"), expected);
    // On another number of threads other code runs.
    assert_eq!(run(cache, "1", "40"), [format!("40: {measured}")]);

    // Damaged entries are none.
    for file in files(cache) {
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        std::fs::write(&file, bytes).unwrap();
    }
    assert_eq!(run(cache, "2", "40"), [format!("40: {measured}")]);
    assert_eq!(run(cache, "2", "40"), [format!("40: {} 0", of(40))]);
}
