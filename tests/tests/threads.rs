//! Eight threads that compile, call, register and close, all at once: no deadlock, the right numbers, and nothing is kept.
//!
//! What is kept is counted, by the allocator of this program and in the system's list of its mappings. The first round fills
//! caches and pools, which have limits; the rounds after it must leave what it left.

#[path = "execute/kernels.rs"]
mod kernels;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use pypto::CompiledProgram;
use pypto::config::RunOptions;
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use pypto::runtime::worker::{ChipWorker, Worker};

use kernels::{compiled, five_times};

const THREADS: usize = 8;
const TURNS: usize = 200;
/// Rounds after the first.
const ROUNDS: usize = 3;
/// Bytes that pools and caches may still grow by: far less than one lost word for each turn of these rounds.
const SLACK: isize = 32 << 10;

/// Bytes that are allocated.
static LIVE: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Mappings of code that come from no file: kernels that are loaded. `None` where the system has no such list.
fn loaded_kernels() -> Option<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let is_loaded = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.get(1).is_some_and(|access| access.contains('x')) && fields.len() == 5
    };
    Some(maps.lines().filter(is_loaded).count())
}

fn filled(rows: i64, value: f32) -> DynamicTensor {
    DynamicTensor::from_vec(vec![value; rows as usize * 16], &[rows, 16]).unwrap()
}

/// One turn of one thread; what it does follows from its number.
fn turn(number: usize, worker: &ChipWorker, program: &CompiledProgram) {
    let value = (number % 97) as f32;
    let expected = filled(8, 5.0 * value);
    match number % 5 {
        0 => {
            let rows = 1 + (number % 7) as i64;
            let x = Tensor::<f32, 2>::full([rows, 16], value);
            let mut y = Tensor::zeros([rows, 16]);
            five_times(&x, &mut y).unwrap();
            assert_eq!(DynamicTensor::from(&y), filled(rows, 5.0 * value));
        }
        1 => assert_eq!(program.call((&filled(8, value),)).unwrap(), [expected]),
        2 => {
            let handle = worker.register(program).unwrap();
            assert_eq!(handle.call((&filled(8, value),)).unwrap(), [expected]);
        }
        3 => {
            let own = ChipWorker::new(RunOptions::default()).unwrap();
            let x = own.upload(&filled(8, value)).unwrap();
            assert_eq!(own.run(program, (&x,)).unwrap(), [expected]);
            own.close();
        }
        _ => {
            let (rows, x) = (1 + (number % 3) as i64, Tensor::<f32, 2>::meta([1 + (number % 3) as i64, 16]));
            let compiled = five_times.compile(&(&x, &x), &RunConfig::new()).unwrap();
            assert_eq!(compiled.artifact().call((&filled(rows, value),)).unwrap(), [filled(rows, 5.0 * value)]);
        }
    }
}

#[test]
fn threads_do_not_disturb_one_another() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(&directory.path().join("a"));
    let worker = ChipWorker::new(RunOptions::default()).unwrap();
    round(&worker, &program);
    let (bytes, kernels) = (LIVE.load(Ordering::Relaxed), loaded_kernels());
    (0..ROUNDS).for_each(|_| round(&worker, &program));
    let more = LIVE.load(Ordering::Relaxed) - bytes;
    assert!(more < SLACK, "{more} bytes more than after the first round");
    assert_eq!(loaded_kernels(), kernels, "code that stays loaded");
}

fn round(worker: &ChipWorker, program: &CompiledProgram) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || (0..TURNS).for_each(|number| turn(thread * 31 + number, worker, program)));
        }
    });
    assert_eq!((worker.registered(), worker.allocated()), (0, (0, 0)));
}
