//! Eight threads that compile, call, register and close, all at once.

use pypto::CompiledProgram;
use pypto::config::RunOptions;
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use pypto::runtime::worker::{ChipWorker, Worker};

use crate::{compiled, five_times};

const THREADS: usize = 8;
const TURNS: usize = 200;

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
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (worker, program) = (&worker, &program);
            scope.spawn(move || (0..TURNS).for_each(|number| turn(thread * 31 + number, worker, program)));
        }
    });
    assert_eq!((worker.registered(), worker.allocated()), (0, (0, 0)));
}
