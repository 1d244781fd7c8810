//! What running kernels show: lines that they print and values at checkpoints are the same in every mode.

use pypto::config::Platform;
use pypto::ir::report::observer::{printed, recorded};
use pypto::ir::report::{Report, file};
use pypto::prelude::*;

#[pypto::jit(meta(TM = 4))]
fn softmax(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        checkpoint!(e, "exponentials");
        let sum = e.row_sum();
        checkpoint!(sum, "sum");
        checkpoint!(at.offset(0), "row");
        y.store(at, e / sum);
    }
}

/// Large values, which become tensors; tensors; a view; half precision; dynamic extents.
#[pypto::jit]
fn whole(
    #[shape(dyn M, N)] x: &Tensor<f16, 2>,
    factor: f16,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f16, 2>,
) {
    checkpoint!(factor, "factor");
    let t = (x + factor).exp();
    checkpoint!(t, "t");
    y.set(t * factor);
    checkpoint!(y, "y");
    checkpoint!(y.rows(1, 2), "rows");
    checkpoint!(x.t(), "transposed");
}

#[pypto::function(incore)]
fn twice(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [1, N]) {
        let t = x.load(at) * 2.0;
        println!("row {} of {M}: {t:?}", at.offset(0));
        y.store(at, t);
    }
}

#[pypto::jit(orchestration)]
fn graph(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    n: i64,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    print!("n = {n:>4}, ");
    println!("half {:.3} {:?} {}", 0.5 * 3.0f32, n > 2, -1i32);
    let mut between = Tensor::<f32, 2>::temp([M, N]);
    twice(x, &mut between);
    if n > 2 {
        println!("{{again}}");
        twice(&between, y);
    } else {
        twice(x, y);
    }
    println!("{y:?}");
    println!();
}

/// Where programs run.
const EVERYWHERE: [Platform; 4] = [Platform::Interpreter, Platform::Host, Platform::A2a3Sim, Platform::A5Sim];

fn config(platform: Platform) -> RunConfig {
    RunConfig::builder().platform(platform).checkpoints(true).cache(false).build().unwrap()
}

/// The same values at the same places.
fn assert_equal(a: &[Report], b: &[Report]) {
    let names = |all: &[Report]| all.iter().map(|r| r.text.clone()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b));
    for (a, b) in a.iter().zip(b) {
        assert_eq!((a.loc.line, a.loc.file), (b.loc.line, b.loc.file), "{}", a.text);
        assert_eq!(a.values[0].extents(), b.values[0].extents(), "{}", a.text);
        assert_eq!(a.values[0].elements(), b.values[0].elements(), "{}", a.text);
    }
}

#[test]
fn checkpoints_of_tiles_are_equal_in_every_mode() {
    let x = Tensor::from_fn([203, 37], |[i, j]| ((i * 7 + j * 3) % 11) as f32);
    let mut y = Tensor::zeros([203, 37]);
    let ((), eager) = recorded(|| softmax.eager((&x, &mut y)));
    assert_eq!(eager.len(), 3 * 51);
    for platform in EVERYWHERE {
        let compiled = softmax.compile(&(&x, &y), &config(platform)).unwrap();
        let (outcome, reports) = recorded(|| compiled.call((&x, &mut y)));
        outcome.unwrap();
        assert_equal(&eager, &reports);
        assert!(reports[0].origin.starts_with("`exp` in line "), "{}", reports[0].origin);
    }
    // A plain call that is recorded, and one that is not.
    let (outcome, reports) = recorded(|| softmax(&x, &mut y));
    outcome.unwrap();
    assert_equal(&eager, &reports);
    softmax(&x, &mut y).unwrap();
    let (first, second) = (recorded(|| softmax.key(&(&x, &y))).0.unwrap(), softmax.key(&(&x, &y)).unwrap());
    assert!(first != second && first.changes_from(&second)[0].to_string() == "checkpoints false -> true");
}

#[test]
fn checkpoints_of_whole_tensors_are_equal_in_every_mode() {
    let x = Tensor::from_fn([97, 513], |[i, j]| f16::from_f32(((i + j) % 5) as f32 * 0.25));
    let factor = f16::from_f32(0.3);
    let mut y = Tensor::zeros([97, 513]);
    let ((), eager) = recorded(|| whole.eager((&x, factor, &mut y)));
    assert_eq!(eager.len(), 5);
    for platform in [Platform::Interpreter, Platform::Host] {
        let compiled = whole.compile(&(&x, factor, &y), &config(platform)).unwrap();
        let (outcome, reports) = recorded(|| compiled.call((&x, factor, &mut y)));
        outcome.unwrap();
        assert_equal(&eager, &reports);
    }
}

/// A device would have to hand values over while it runs.
#[test]
fn devices_are_refused() {
    let x = Tensor::<f32, 2>::zeros([8, 8]);
    let error = softmax.compile(&(&x, &x), &config(Platform::A2a3)).err().unwrap().to_string();
    assert!(error.contains("a device `a2a3` has no `checkpoint`"), "{error}");
    let off = RunConfig::builder().platform(Platform::A2a3).build().unwrap();
    assert!(softmax.compile(&(&x, &x), &off).is_ok());
    let error = graph.compile(&(&x, 3i64, &x), &off).err().unwrap().to_string();
    assert!(error.contains("has no `print`"), "{error}");
}

#[test]
fn without_the_option_nothing_is_compiled() {
    let x = Tensor::<f32, 2>::zeros([8, 8]);
    let y = x.clone();
    let text = |program| pypto::ir::text::print(&program, pypto::ir::text::PrintOptions { locations: false });
    let without = text(softmax.lower(&(&x, &y)).unwrap());
    let with = text(recorded(|| softmax.lower(&(&x, &y))).0.unwrap());
    assert!(!without.contains("checkpoint") && with.contains("checkpoint("), "{without}\n{with}");
    let off = RunConfig::builder().checkpoints(false).build().unwrap();
    let compiled = softmax.compile(&(&x, &y), &off).unwrap();
    let (outcome, reports) = recorded(|| compiled.call((&x, &mut y.clone())));
    outcome.unwrap();
    assert!(reports.is_empty());
}

#[test]
fn lines_are_printed_in_program_order() {
    let x = Tensor::from_fn([3, 2], |[i, j]| (i * 2 + j) as f32);
    let mut y = Tensor::<f32, 2>::zeros([3, 2]);
    let row = |i: i64, factor: f32| {
        let first = (i * 2) as f32;
        format!("row {i} of 3: Tile<f32>[1, 2] [{:?}, {:?}]\n", first * factor, (first + 1.0) * factor)
    };
    let rows = |factor: f32| (0..3).map(|i| row(i, factor)).collect::<String>();
    let expected = format!(
        "n =    3, half 1.500 true -1\n{}{{again}}\n{}Tensor<f32>[3, 2] [0.0, 4.0, 8.0, 12.0, 16.0, 20.0]\n\n",
        rows(2.0),
        rows(4.0)
    );
    for platform in EVERYWHERE {
        let config = RunConfig::builder().platform(platform).cache(false).build().unwrap();
        let compiled = graph.compile(&(&x, 3i64, &y), &config).unwrap();
        // The second call finds the schedule of the first.
        for _ in 0..2 {
            let (outcome, text) = printed(|| compiled.call((&x, 3i64, &mut y)));
            outcome.unwrap();
            assert_eq!(text, expected);
        }
    }
}

#[pypto::jit]
fn stops(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    for i in 0..N {
        println!("at {i}");
        assert!(x.get([i]) < 2.0, "small");
        y.put([i], x.get([i]));
    }
}

#[test]
fn what_was_printed_before_a_failure_is_seen() {
    let x = Tensor::from_fn([5], |[i]| i as f32);
    let (outcome, text) = printed(|| stops(&x, &mut Tensor::zeros([5])).map(drop));
    assert!(outcome.unwrap_err().to_string().contains("small"));
    assert_eq!(text, "at 0\nat 1\nat 2\n");
}

/// An artifact with a directory keeps the checkpoints of its last call itself.
#[test]
fn artifacts_keep_their_checkpoints() {
    let place = tempfile::tempdir().unwrap();
    let x = Tensor::from_fn([6, 8], |[i, j]| (i * j) as f32);
    let mut y = Tensor::zeros([6, 8]);
    for (platform, name) in [(Platform::Host, "host"), (Platform::A5Sim, "a5sim")] {
        let directory = place.path().join(name);
        let compiled = softmax.compile(&(&x, &y), &config(platform).with_output_dir(&directory)).unwrap();
        compiled.call((&x, &mut y)).unwrap();
        let kept = file::read_recording(&directory.join("dfx_outputs/checkpoints.safetensors")).unwrap();
        assert_equal(&recorded(|| softmax.eager((&x, &mut y))).1, &kept);
        let again = pypto::CompiledProgram::from_dir(&directory).unwrap();
        let (outcome, reports) = recorded(|| again.call((&x, &mut y)));
        outcome.unwrap();
        assert_equal(&kept, &reports);
    }
}

#[test]
fn recordings_come_back_from_files() {
    let x = Tensor::from_fn([6, 8], |[i, j]| (i * j) as f32);
    let mut y = Tensor::zeros([6, 8]);
    let (outcome, reports) = recorded(|| softmax(&x, &mut y));
    outcome.unwrap();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.safetensors");
    file::write_recording(&path, &reports).unwrap();
    assert_equal(&reports, &file::read_recording(&path).unwrap());
    assert_eq!(file::read_recording(&path).unwrap()[0].origin, reports[0].origin);
    let bytes = std::fs::read(&path).unwrap();
    for end in 0..bytes.len() {
        std::fs::write(&path, &bytes[..end]).unwrap();
        assert!(file::read_recording(&path).is_err(), "{end}");
    }
}

#[pypto::jit]
fn rows(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in parallel(0..M) {
        checkpoint!(i, "row");
        y.store([i, 0], x.tile([i, 0], [1, N]) * 2.0);
    }
}

/// The order in which eager runs of a child process took the iterations, and what they wrote.
fn eager_order(order: &str) -> (Vec<i64>, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_runs_eagerly", "--ignored"])
        .env("PYPTO_EAGER", order)
        .env("PYPTO_CHECKPOINTS", place.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let calls = file::read_recordings(place.path()).unwrap();
    let index = |report: &Report| match &report.values[0] {
        pypto::ir::report::Shown::Scalar(scalar) => scalar.index().unwrap(),
        other => panic!("{other:?}"),
    };
    let [eager, compiled, other] = &calls[..] else { panic!("{} calls", calls.len()) };
    assert_eq!(compiled.iter().map(index).collect::<Vec<_>>(), (0..16).collect::<Vec<_>>(), "compiled runs keep it");
    (eager.iter().map(index).collect(), other.iter().map(|report| report.text.clone()).collect())
}

/// Run by `eager_order` in a process of its own, because the environment is read once.
#[test]
#[ignore = "a child of another test"]
fn child_runs_eagerly() {
    let x = Tensor::from_fn([16, 4], |[i, j]| (i * j) as f32);
    let (mut y, mut z) = (Tensor::zeros([16, 4]), Tensor::zeros([16, 4]));
    rows.eager((&x, &mut y));
    rows(&x, &mut z).unwrap();
    assert_eq!(y, z);
    softmax.eager((&x, &mut z));
}

/// `PYPTO_EAGER` changes the order of independent iterations and nothing else; `PYPTO_CHECKPOINTS` keeps a file for each call
/// and each eager run.
#[test]
fn eager_runs_take_independent_iterations_in_any_order() {
    let ascending: Vec<i64> = (0..16).collect();
    let (forward, names) = eager_order("forward");
    assert_eq!(forward, ascending);
    assert_eq!(names[..4], ["exponentials", "sum", "row", "exponentials"]);
    assert_eq!(eager_order("reverse").0, ascending.iter().rev().copied().collect::<Vec<_>>());
    let (mut shuffled, _) = eager_order("shuffle");
    assert_ne!(shuffled, ascending);
    shuffled.sort_unstable();
    assert_eq!(shuffled, ascending);
}
