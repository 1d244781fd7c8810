//! Artifacts for Ascend: builds are byte-identical, times are virtual and equal, hints tell what costs time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use pypto::config::{DfxOptions, Platform, RunOptions, SwimlaneLevel};
use pypto::prelude::*;
use pypto::runtime::benchmark::{BenchmarkOptions, Metric, benchmark};
use pypto_examples::random;
use pypto_tests::examples::{ffn, flash_attention, softmax};

/// Where a process that a test starts builds.
const BUILD: &str = "PYPTO_TEST_BUILD";

/// Builds a program whose kernels are for both units, with the program after every pass.
fn build(directory: &Path, threads: usize) {
    let (q, o) = (Tensor::<f32, 3>::meta([2, 100, 64]), Tensor::<f32, 3>::meta([2, 100, 64]));
    for platform in [Platform::A2a3, Platform::A5Sim] {
        let config = RunConfig::builder()
            .platform(platform)
            .threads(threads)
            .cache(false)
            .dump_passes(pypto::config::PassDumpLevel::Explicit);
        let config = config.build().unwrap().with_output_dir(directory.join(platform.name()));
        flash_attention::flash_attention.compile(&(&q, &q, &q, &o), &config).unwrap();
    }
}

/// Every file below a directory by its relative path.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                all.insert(path.strip_prefix(directory).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (files(a), files(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (path, bytes) in &a {
        assert!(b[path] == *bytes, "{} differs", path.display());
    }
    assert!(a.keys().filter(|path| path.extension().is_some_and(|end| end == "pto")).count() > 4);
}

/// In other directories, with other numbers of threads, several at once, in another process from another place.
#[test]
fn builds_are_byte_identical() {
    if let Some(directory) = std::env::var_os(BUILD) {
        return build(Path::new(&directory), 3);
    }
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    build(&at("first"), 1);
    std::thread::scope(|scope| {
        scope.spawn(|| build(&at("second"), 2));
        scope.spawn(|| build(&at("a/third"), 16));
    });
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "builds_are_byte_identical"])
        .env(BUILD, at("another"))
        .current_dir(place.path())
        .status()
        .unwrap();
    assert!(status.success());
    for other in ["second", "a/third", "another"] {
        assert_same(&at("first"), &at(other));
    }
}

#[test]
fn benchmarks_of_simulators_have_virtual_times() {
    let (x, mut y) = (random([512, 128], 1), Tensor::<f32, 2>::zeros([512, 128]));
    let mut medians = Vec::new();
    for platform in [Platform::A2a3Sim, Platform::A5Sim] {
        let config = RunConfig::new().with_platform(platform);
        let program = softmax::softmax.compile(&(&x, &y), &config).unwrap().artifact().clone();
        let options = BenchmarkOptions { rounds: 3, warmup: 1, ..BenchmarkOptions::default() };
        let mut run = || benchmark(&program, (&x, &mut y), &options).unwrap();
        let (first, second) = (run(), run());
        assert_eq!(first.rounds, second.rounds);
        assert!(first.rounds.iter().all(|round| *round == first.rounds[0]));
        let round = &first.rounds[0];
        assert!(round.device_us > 0.0 && round.device_us <= round.host_us && round.host_us < 1e3, "{round:?}");
        // 8 blocks of 64 rows, one on each core.
        assert_eq!(round.tasks.iter().map(|task| task.pieces).collect::<Vec<_>>(), [8]);
        medians.push(first.percentile(Metric::Device, 50.0));
    }
    assert_ne!(medians[0], medians[1], "the targets have costs of their own");
}

#[test]
fn swimlanes_of_simulators_are_equal() {
    let place = tempfile::tempdir().unwrap();
    let (w1, w2) = (random([64, 96], 2), random([96, 64], 3));
    let (b1, b2) = (random([1, 96], 4), random([1, 64], 5));
    let (x, mut y) = (random([40, 64], 1), Tensor::<f32, 2>::zeros([40, 64]));
    let config = RunConfig::new().with_platform(Platform::A2a3Sim).with_output_dir(place.path().join("ffn"));
    let program = ffn::ffn.compile(&(&x, &w1, &b1, &w2, &b2, &y), &config).unwrap().artifact().clone();
    let dfx = DfxOptions {
        enable_chip_swimlane: Some(SwimlaneLevel::Dispatch),
        enable_dep_gen: Some(true),
        enable_scope_stats: Some(true),
        ..DfxOptions::default()
    };
    let mut run = || {
        let options = RunOptions { dfx, ..RunOptions::default() };
        program.call_with((&x, &w1, &b1, &w2, &b2, &mut y), options).unwrap();
        files(&place.path().join("ffn/dfx_outputs"))
    };
    let first = run();
    assert_eq!(first, run());
    let read = |name: &str| -> serde_json::Value { serde_json::from_slice(&first[Path::new(name)]).unwrap() };
    let records = read("chip_swimlane_records.json");
    assert_eq!(records["clock"], "virtual");
    let (tasks, edges) = (records["tasks"].as_array().unwrap(), records["edges"].as_array().unwrap());
    assert!(tasks.len() >= 4 && edges.len() >= 3, "{records}");
    // A task becomes ready when what it waits for has ended.
    assert!(tasks.iter().skip(1).all(|task| task["ready_ns"].as_u64().unwrap() > 0), "{records}");
    let trace = read("swimlane.trace.json").to_string();
    assert!(trace.contains("\"aic 0\"") && trace.contains("\"aiv 0\""), "{trace}");
}

#[pypto::jit(meta(ROWS = 2))]
fn in_small_steps(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut doubled = Tensor::<f32, 2>::temp([M, N]);
    let mut sum = Tile::<f32>::zeros([ROWS, N]);
    for i in range(0, M, ROWS) {
        sum += x.tile([i, 0], [ROWS, N]).exp();
        doubled.store([i, 0], sum);
    }
    for at in tiles([M, N], [64, N]) {
        y.store(at, doubled.load(at) * 2.0);
    }
}

#[test]
fn hints_tell_what_costs_time() {
    let place = tempfile::tempdir().unwrap();
    let hints = |name: &str| std::fs::read_to_string(place.path().join(name).join("report/perf_hints.log")).unwrap();
    let config = |name: &str| RunConfig::new().with_platform(Platform::A2a3).with_output_dir(place.path().join(name));
    let (x, y) = (Tensor::<f32, 2>::meta([128, 256]), Tensor::<f32, 2>::meta([128, 256]));
    softmax::softmax.compile(&(&x, &y), &config("softmax")).unwrap();
    let text = hints("softmax");
    assert!(text.contains("[perf_hint PH004] idle cores: `softmax_0` has 2 pieces of "), "{text}");
    assert!(text.contains("examples/kernels/softmax.rs:13:"), "{text}");

    let (x, y) = (Tensor::<f32, 2>::meta([512, 64]), Tensor::<f32, 2>::meta([512, 64]));
    in_small_steps.compile(&(&x, &y), &config("steps")).unwrap();
    let text = hints("steps");
    assert!(text.contains("[perf_hint PH005] small tiles: `in_small_steps_0` transfers 512 bytes at a time"), "{text}");
    assert!(text.contains("[perf_hint PH006] round trip: `doubled` goes through global memory"), "{text}");
    assert!(text.lines().all(|line| line.contains("ascend_artifacts.rs:")), "{text}");
}
