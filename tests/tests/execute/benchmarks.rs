//! Timed dispatches.

use pypto::config::{DfxOptions, RunOptions};
use pypto::jit::ErrorKind;
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use pypto::runtime::benchmark::{BenchmarkOptions, BenchmarkStats, Metric, benchmark};

use crate::{accumulate, compiled};

#[test]
fn every_round_has_its_tasks() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(&directory.path().join("a"));
    let x = DynamicTensor::from_vec(vec![1.0f32; 128], &[8, 16]).unwrap();
    let mut y = x.clone();
    let options = BenchmarkOptions { rounds: 7, warmup: 1, ..BenchmarkOptions::default() };
    let stats = benchmark(&program, (&x, &mut y), &options).unwrap();
    assert_eq!((stats.rounds.len(), stats.warmup, &*stats.program), (7, 1, "five_times"));
    assert!(stats.rounds.iter().all(|round| round.tasks.len() == 3 && round.device_us <= round.host_us));
    let at = |p| stats.percentile(Metric::Host, p);
    assert!(at(0.0) <= at(50.0) && at(50.0) <= at(95.0) && at(95.0) <= at(100.0));
    assert!(stats.tree(0).unwrap().lines().count() == 4 && stats.tree(7).is_none());
    assert!(stats.mean_tree().contains("scale: mean") && stats.mean_tree().contains("14 tasks"));
    let read: BenchmarkStats = serde_json::from_str(&serde_json::to_string(&stats).unwrap()).unwrap();
    assert_eq!(read.rounds.len(), 7);
}

#[test]
fn written_inputs_are_restored_on_request() {
    let (x, y) = (Tensor::<f32, 1>::meta([4]), Tensor::<f32, 1>::meta([4]));
    let program = accumulate.compile(&(&x, 1i32, &y), &RunConfig::new()).unwrap().artifact().clone();
    let x = DynamicTensor::from_vec(vec![1.0f32; 4], &[4]).unwrap();
    for (reset, expected) in [(true, 14.0), (false, 30.0)] {
        let mut y = DynamicTensor::from_vec(vec![10.0f32; 4], &[4]).unwrap();
        let options = BenchmarkOptions { rounds: 4, warmup: 1, reset, ..BenchmarkOptions::default() };
        benchmark(&program, (&x, 1i32, &mut y), &options).unwrap();
        assert_eq!(y.elements::<f32>(), Some(&[expected; 4][..]));
    }
}

#[test]
fn wrong_requests_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(&directory.path().join("a"));
    let x = DynamicTensor::from_vec(vec![1.0f32; 128], &[8, 16]).unwrap();
    let none = BenchmarkOptions { rounds: 0, ..BenchmarkOptions::default() };
    let text = benchmark(&program, (&x,), &none).unwrap_err().to_string();
    assert_eq!(text, "`rounds` is `0`: expected 1 or more");
    let dfx = DfxOptions { enable_dep_gen: Some(true), ..DfxOptions::default() };
    let recorded = BenchmarkOptions { run: RunOptions { dfx, ..RunOptions::default() }, ..BenchmarkOptions::default() };
    let text = benchmark(&program, (&x,), &recorded).unwrap_err().to_string();
    assert!(text.starts_with("`dfx` is `set`"), "{text}");
    let mut y = x.clone();
    let late = RunOptions { time_limit_ms: Some(0), ..RunOptions::default() };
    let error = benchmark(&program, (&x, &mut y), &BenchmarkOptions { run: late, ..BenchmarkOptions::default() });
    assert!(matches!(error.unwrap_err().kind(), ErrorKind::TimeLimit));
    let text = benchmark(&program, (&x,), &BenchmarkOptions::default()).unwrap_err().to_string();
    assert!(text.starts_with("a benchmark needs every argument in place"), "{text}");
}
