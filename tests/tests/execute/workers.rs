//! Workers: dispatches, registrations, tensors, and who may use what.

use pypto::config::{Platform, RunOptions};
use pypto::ir::DType;
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use pypto::runtime::worker::{ChipWorker, Worker};

use crate::{accumulate, compiled};

fn filled(value: f32) -> DynamicTensor {
    DynamicTensor::from_vec(vec![value; 8 * 16], &[8, 16]).unwrap()
}

#[test]
fn dispatches_take_tensors_of_the_worker_and_of_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(&directory.path().join("a"));
    let worker = ChipWorker::new(RunOptions::default()).unwrap();
    let x = worker.upload(&filled(1.5)).unwrap();
    let mut y = worker.alloc_tensor(DType::F32, &[8, 16]).unwrap();
    assert_eq!(worker.allocated(), (2, 2 * 512));
    assert!(worker.run(&program, (&x, &mut y)).unwrap().is_empty());
    assert_eq!(worker.download(&y).unwrap(), filled(7.5));
    assert_eq!(worker.run(&program, (&x,)).unwrap(), [filled(7.5)]);
    assert_eq!(worker.run(&program, (&filled(2.0),)).unwrap(), [filled(10.0)]);
    worker.free(x).unwrap();
    drop(y);
    assert_eq!(worker.allocated(), (0, 0));
}

#[test]
fn a_worker_refuses_what_is_not_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(&directory.path().join("a"));
    let (a, b) = (ChipWorker::new(RunOptions::default()).unwrap(), ChipWorker::new(RunOptions::default()).unwrap());
    let x = a.upload(&filled(1.0)).unwrap();
    let text = b.run(&program, (&x,)).unwrap_err().to_string();
    let owner =
        format!("argument `x` of `five_times` is a tensor of worker {}, and worker {} dispatches it", a.id(), b.id());
    assert!(text.contains(&owner), "{text}");
    let text = program.call((&x,)).unwrap_err().to_string();
    assert!(text.contains("a call without a worker dispatches it"), "{text}");
    let text = b.download(&x).unwrap_err().to_string();
    assert_eq!(text, format!("the tensor belongs to worker {}, not to worker {}", a.id(), b.id()));
    let mut other = a.alloc_tensor(DType::F32, &[4]).unwrap();
    let text = a.copy_to_device(&filled(1.0), &mut other).unwrap_err().to_string();
    assert_eq!(text, "the worker's tensor is f32[4], and the other one f32[8, 16]");
    let text = a.alloc_tensor(DType::F32, &[1 << 40, 1 << 40]).unwrap_err().to_string();
    assert!(text.contains("impossible"), "{text}");
}

#[test]
fn a_closed_worker_refuses_everything() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(&directory.path().join("a"));
    let worker = ChipWorker::new(RunOptions::default()).unwrap();
    let handle = worker.register(&program).unwrap();
    assert_eq!((worker.registered(), handle.program().name()), (1, "five_times"));
    let x = worker.upload(&filled(1.0)).unwrap();
    assert_eq!(handle.call((&x,)).unwrap(), [filled(5.0)]);
    worker.clone().close();
    worker.close();
    let closed = format!("worker {} is closed", worker.id());
    assert_eq!(handle.call((&x,)).unwrap_err().to_string(), closed);
    assert_eq!(worker.run(&program, (&x,)).unwrap_err().to_string(), closed);
    assert_eq!(worker.alloc_tensor(DType::F32, &[1]).unwrap_err().to_string(), closed);
    assert_eq!(worker.register(&program).map(drop).unwrap_err().to_string(), closed);
    handle.unregister();
    assert_eq!(worker.registered(), 0);
}

#[test]
fn platforms_without_a_device_are_refused() {
    let device = RunOptions { platform: Some(Platform::A2a3), ..RunOptions::default() };
    let text = ChipWorker::new(device).map(drop).unwrap_err().to_string();
    assert!(text.starts_with("platform `a2a3` is not a device of this machine"), "{text}");
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(&directory.path().join("a"));
    let interpreter = RunOptions { platform: Some(Platform::Interpreter), ..RunOptions::default() };
    let worker = ChipWorker::new(interpreter).unwrap();
    if program.platform() == Platform::Host {
        let text = worker.register(&program).map(drop).unwrap_err().to_string();
        assert!(text.starts_with("`five_times` was compiled for `host`, and worker"), "{text}");
    }
}

#[test]
fn a_kernel_that_stops_says_with_what_and_leaves_the_worker_usable() {
    let (x, y) = (Tensor::<f32, 1>::meta([4]), Tensor::<f32, 1>::meta([4]));
    let program = accumulate.compile(&(&x, 1i32, &y), &RunConfig::new()).unwrap().artifact().clone();
    let worker = ChipWorker::new(RunOptions::default()).unwrap();
    let x = DynamicTensor::from_vec(vec![1.0f32; 4], &[4]).unwrap();
    let mut y = DynamicTensor::zeros(DType::F32, &[4]).unwrap();
    let text = worker.run(&program, (&x, 0i32, &mut y)).unwrap_err().to_string();
    assert!(text.contains("`accumulate` was called with x = f32[4], n = 0, y = f32[4]"), "{text}");
    assert!(text.contains("main.rs"), "{text}");
    assert_eq!(y.elements::<f32>(), Some(&[0.0; 4][..]));
    worker.run(&program, (&x, 2i32, &mut y)).unwrap();
    assert_eq!(y.elements::<f32>(), Some(&[2.0; 4][..]));
    let late = RunOptions { time_limit_ms: Some(0), ..RunOptions::default() };
    let text = worker.run_with(&program, (&x, 2i32, &mut y), late).unwrap_err().to_string();
    assert!(text.starts_with("the call was stopped: its `time_limit_ms` was over"), "{text}");
    worker.run(&program, (&x, 2i32, &mut y)).unwrap();
}

#[test]
fn threads_share_a_worker() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(&directory.path().join("a"));
    let worker = ChipWorker::new(RunOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (worker, program) = (worker.clone(), &program);
            scope.spawn(move || {
                for round in 0..50 {
                    let value = (thread * 50 + round) as f32;
                    let handle = worker.register(program).unwrap();
                    let x = worker.upload(&filled(value)).unwrap();
                    assert_eq!(handle.call((&x,)).unwrap(), [filled(5.0 * value)]);
                }
            });
        }
    });
    assert_eq!((worker.allocated(), worker.registered()), ((0, 0), 0));
}
