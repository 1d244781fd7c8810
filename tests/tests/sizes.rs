//! Large programs: thousands of operations in a kernel, thousands of tasks in a graph, many kernels in a program.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pypto::compile::{Progress, Step, StepKind};
use pypto::prelude::*;

/// Four operations a step.
#[pypto::jit(meta(STEPS = 1))]
fn long(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [8, N]) {
        let first = x.load(at);
        let mut t = first;
        for _ in unroll(0..STEPS) {
            t = (t * 0.5 + first).abs() - 1.0;
        }
        y.store(at, t);
    }
}

fn compile_time(steps: i64) -> Duration {
    let x = Tensor::<f32, 2>::meta([64, 64]);
    let config = RunConfig::new().with_cache(false);
    let once = |_| {
        let start = Instant::now();
        long.with(meta! { STEPS: steps }).compile(&(&x, &x), &config).unwrap();
        start.elapsed()
    };
    (0..3).map(once).min().unwrap()
}

/// Four times as many operations take at most eight times as long: what is quadratic would take sixteen times as long.
#[test]
fn time_to_compile_grows_with_the_number_of_operations() {
    let mut seen = Vec::new();
    // Other processes may take the cores at any time.
    for _ in 0..3 {
        let (short, long) = (compile_time(125), compile_time(500));
        if long < 8 * short {
            return;
        }
        seen.push((short, long));
    }
    panic!("500 and 2,000 operations take {seen:?}");
}

#[test]
fn thousands_of_operations_compute_what_they_say() {
    let (x, mut y, mut eager) =
        (Tensor::from_fn([3, 5], |[i, j]| (i - j) as f32), Tensor::zeros([3, 5]), Tensor::zeros([3, 5]));
    long.with(meta! { STEPS: 500 })(&x, &mut y).unwrap();
    long.with(meta! { STEPS: 500 }).eager((&x, &mut eager));
    assert_eq!(y.as_slice(), eager.as_slice());
}

#[pypto::function(incore)]
fn add_one(#[shape(1, N)] x: &Tensor<f32, 2>, #[shape(1, N)] y: &mut Tensor<f32, 2>) {
    y.set(y.load_all() + x.load_all() + 1.0);
}

/// `ROUNDS * M` tasks: each adds to a row what the row before has.
#[pypto::jit(orchestration, meta(ROUNDS = 1))]
fn many_tasks(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for _ in range(0, ROUNDS, 1) {
        for row in range(0, M, 1) {
            add_one(&x.rows(row, 1), &mut y.rows_mut(row, 1));
        }
    }
}

#[test]
fn ten_thousand_tasks_are_a_graph() {
    let (rows, rounds) = (2500, 4);
    let (x, mut y) = (Tensor::from_fn([rows, 16], |[i, _]| (i % 7) as f32), Tensor::zeros([rows, 16]));
    let start = Instant::now();
    many_tasks.with(meta! { ROUNDS: rounds })(&x, &mut y).unwrap();
    many_tasks.with(meta! { ROUNDS: rounds })(&x, &mut y).unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    for row in 0..rows {
        assert_eq!(y.get([row, 5]), 2.0 * rounds as f32 * ((row % 7) as f32 + 1.0), "row {row}");
    }
}

macro_rules! tasks {
    ($($name:ident = $value:literal),*) => { $(
        #[pypto::function(incore)]
        fn $name(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
            y.set((x * $value).exp());
        }
    )* };
}

tasks!(first = 1.0, second = 2.0, third = 3.0, fourth = 4.0);

#[pypto::jit(orchestration)]
fn four_kernels(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(D, E)] y: &mut Tensor<f32, 2>) {
    static_assert!(D == 4 * M && E == N, "four parts");
    first(x, &mut y.rows_mut(0, M));
    second(x, &mut y.rows_mut(M, M));
    third(x, &mut y.rows_mut(2 * M, M));
    fourth(x, &mut y.rows_mut(3 * M, M));
}

/// Kernels of one program are compiled at the same time: while one is made, another one is.
#[test]
fn kernels_of_a_program_are_compiled_at_the_same_time() {
    #[derive(Default)]
    struct Threads(Mutex<HashSet<ThreadId>>, AtomicUsize);
    impl Progress for Threads {
        fn step(&self, step: Step<'_>) {
            if step.kind == StepKind::Kernel {
                self.0.lock().unwrap().insert(std::thread::current().id());
                self.1.fetch_add(1, Ordering::Relaxed);
                // Long enough that nobody makes all of them before another thread is there.
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
    let (x, y) = (Tensor::<f32, 2>::meta([8, 16]), Tensor::<f32, 2>::meta([32, 16]));
    let program = pypto::jit::program::<four_kernels, _>(&(&x, &y)).unwrap();
    let threads = Arc::new(Threads::default());
    let watcher: Arc<dyn Progress> = threads.clone();
    let options = pypto::CompileOptions { cache: Some(false), ..pypto::CompileOptions::default() };
    pypto::compile::compile_watched(&program, &options, &watcher).unwrap();
    assert_eq!(threads.1.load(Ordering::Relaxed), 4);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    assert!(threads.0.lock().unwrap().len() >= cores.min(2), "{cores} cores, and one thread made all kernels");
}
