//! What the tests of `#[pypto::jit(check(..))]` do for `pypto warm`: they leave kernels on disk that calls of other
//! processes find. Each part runs in a process of its own, for variables are read once.

use std::path::Path;
use std::process::{Command, Output};

use pypto::jit::stats;
use pypto::jit::warmed::{WarmState, Warmed};
use pypto::prelude::*;

#[pypto::jit(check(x = [16, 40], y = [16, 40], T = f16), check(x = [4, 4], y = [4, 4], T = f32))]
fn halved<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    for at in tiles([M, N], [8, N]) {
        y.store(at, (x.load(at).cast::<f32>() * 0.5).cast::<T>());
    }
}

/// Of each program for itself.
#[pypto::jit(check(y = [4]))]
fn counted(
    #[out]
    #[shape(4)]
    y: &mut Tensor<f32, 1>,
) {
    let n = comptime!(std::mem::size_of::<u64>() as i64);
    y.set(Tile::full([4], 1.0f32) * n as f32);
}

/// The test binary, which runs the tests whose names contain `filter`.
fn run(filter: &str, cache: &Path, journal: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(filter).arg("--nocapture").env("PYPTO_CACHE_DIR", cache);
    if filter == "_lowers" {
        command.env("PYPTO_WARM", journal)
    } else {
        command.env("PYPTO_CALL_WARMED", "1")
    };
    command.output().unwrap()
}

#[test]
fn calls_of_other_processes_find_what_was_warmed() {
    let place = tempfile::tempdir().unwrap();
    let (cache, journal) = (place.path().join("cache"), place.path().join("journal"));
    for round in 0..2 {
        let output = run("_lowers", &cache, &journal);
        assert!(output.status.success(), "{output:?}");
        let kernels = Warmed::read(&journal).unwrap();
        std::fs::remove_file(&journal).unwrap();
        let state = |name: &str| &kernels.iter().find(|kernel| kernel.kernel == name).expect(name).state;
        assert!(matches!(state("counted(y: [4])"), WarmState::NotKept(reason) if reason.contains("comptime!")));
        for name in ["halved<f16>(x: [dyn, 40], y: [dyn, 40])", "halved<f32>(x: [dyn, 4], y: [dyn, 4])"] {
            match state(name) {
                // Without machine code there is nothing to keep.
                WarmState::NotKept(reason) => return assert!(reason.contains("interpreter"), "{reason}"),
                state => assert_eq!(state == &WarmState::Compiled, round == 0, "{name}: {state:?}"),
            }
        }
    }
    let output = run("calls_load_and_compile_nothing", &cache, &journal);
    assert!(output.status.success(), "{output:?}");
}

/// Means something in the process that the test above starts.
#[test]
fn calls_load_and_compile_nothing() {
    if std::env::var_os("PYPTO_CALL_WARMED").is_none() {
        return;
    }
    let (x, mut y) = (Tensor::full([24, 40], f16::from_f32(3.0)), Tensor::zeros([24, 40]));
    halved(&x, &mut y).unwrap();
    assert_eq!(y.get([23, 39]).to_f32(), 1.5);
    assert_eq!((stats().loaded, stats().compiled), (1, 0));
}

#[test]
fn a_cache_that_cannot_be_written_keeps_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (blocked, journal) = (place.path().join("file"), place.path().join("journal"));
    std::fs::write(&blocked, "").unwrap();
    assert!(run("_lowers", &blocked, &journal).status.success());
    let kernels = Warmed::read(&journal).unwrap();
    assert!(!kernels.is_empty());
    assert!(kernels.iter().all(|kernel| matches!(kernel.state, WarmState::NotKept(_))), "{kernels:?}");
}
