//! Dispatches of programs for accelerators, in the simulator: what they record, and their options.

use std::path::Path;

use pypto::CompiledProgram;
use pypto::config::{ArgumentDump, DfxOptions, Platform, RunOptions, SwimlaneLevel};
use pypto::ir::DType;
use pypto::jit::ErrorKind;
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use pypto::runtime::benchmark::{BenchmarkOptions, Metric, benchmark};
use pypto::runtime::worker::ChipWorker;
use serde_json::Value;

use crate::{five_times, read, values_after};

/// `five_times` of 8 x 16 elements for the simulator.
fn simulated(directory: &Path) -> CompiledProgram {
    let x = Tensor::<f32, 2>::meta([8, 16]);
    let config = RunConfig::new().with_platform(Platform::A2a3Sim).with_output_dir(directory);
    five_times.compile(&(&x, &x), &config).unwrap().artifact().clone()
}

fn input() -> DynamicTensor {
    DynamicTensor::from_vec((0..128).map(|i| i as f32).collect(), &[8, 16]).unwrap()
}

#[test]
fn records_are_virtual_and_the_same_in_every_run() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    let (program, x) = (simulated(&directory), input());
    let plain = program.call((&x,)).unwrap();
    let dfx = DfxOptions {
        enable_chip_swimlane: Some(SwimlaneLevel::Full),
        enable_dump_args: Some(ArgumentDump::All),
        enable_dep_gen: Some(true),
        enable_scope_stats: Some(true),
        ..DfxOptions::default()
    };
    let record = || {
        assert_eq!(program.call_with((&x,), RunOptions { dfx, ..RunOptions::default() }).unwrap(), plain);
        read(&directory, "chip_swimlane_records.json")
    };
    let records = record();
    assert_eq!(records, record());
    assert_eq!(records["clock"], "virtual");
    let tasks = records["tasks"].as_array().unwrap().len();
    assert!(tasks >= 3 && !records["spans"].as_array().unwrap().is_empty(), "{records}");
    assert_eq!(records["lanes"][0], "aic 0", "{records}");
    let trace = read(&directory, "swimlane.trace.json");
    let arrows = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "s").count();
    let edges = read(&directory, "deps.json")["edges"].as_array().unwrap().len();
    assert_eq!((arrows, edges), (records["edges"].as_array().unwrap().len(), arrows));
    assert!(edges >= 2, "{records}");
    let stats = std::fs::read_to_string(directory.join("dfx_outputs/scope_stats.jsonl")).unwrap();
    let scope: Value = serde_json::from_str(stats.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&scope["tasks"], &scope["workspace_bytes"]), (&tasks.into(), &1024.into()));
    // The last task gives what the call gives.
    assert_eq!(Some(&values_after(&directory, tasks as u64 - 1)[..]), plain[0].elements::<f32>());
}

#[test]
fn options_act_or_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let (program, x) = (simulated(&place.path().join("a")), input());
    let call = |options: RunOptions| program.call_with((&x,), options);
    let late = call(RunOptions { time_limit_ms: Some(0), ..RunOptions::default() }).unwrap_err();
    assert!(matches!(late.kind(), ErrorKind::TimeLimit), "{late}");
    call(RunOptions { time_limit_ms: Some(60_000), threads: Some(2), device_id: Some(0), ..RunOptions::default() })
        .unwrap();
    for options in [
        RunOptions { device_id: Some(1), ..RunOptions::default() },
        RunOptions { aicpu_thread_num: Some(4), ..RunOptions::default() },
        RunOptions { ring_task_window: Some(16.into()), ..RunOptions::default() },
        RunOptions { ring_heap: Some(4096.into()), ..RunOptions::default() },
        RunOptions { ring_dep_pool: Some(16.into()), ..RunOptions::default() },
    ] {
        let error = call(options).unwrap_err();
        assert!(error.to_string().contains("which means nothing on `a2a3sim`"), "{error}");
    }
}

#[test]
fn workers_run_in_the_simulator() {
    let place = tempfile::tempdir().unwrap();
    let (program, x) = (simulated(&place.path().join("a")), input());
    let options = RunOptions { platform: Some(Platform::A2a3Sim), ..RunOptions::default() };
    let worker = ChipWorker::new(options).unwrap();
    let expected = program.call((&x,)).unwrap();
    let (x, mut y) = (worker.upload(&x).unwrap(), worker.alloc_tensor(DType::F32, &[8, 16]).unwrap());
    worker.register(&program).unwrap().call((&x, &mut y)).unwrap();
    assert_eq!(worker.download(&y).unwrap(), expected[0]);
    let other = ChipWorker::new(RunOptions::default()).unwrap();
    assert!(other.register(&program).map(drop).unwrap_err().to_string().contains("was compiled for `a2a3sim`"));
}

#[test]
fn benchmarks_tell_virtual_device_time() {
    let place = tempfile::tempdir().unwrap();
    let (program, x) = (simulated(&place.path().join("a")), input());
    let mut y = x.clone();
    let options = BenchmarkOptions { rounds: 3, warmup: 1, ..BenchmarkOptions::default() };
    let stats = benchmark(&program, (&x, &mut y), &options).unwrap();
    let times = stats.samples(Metric::Device);
    assert!(times[0] > 0.0 && times == [times[0]; 3], "{times:?}");
}
