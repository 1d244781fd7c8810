//! What a dispatch records: swimlane, task graph, arguments, memory.

use pypto::config::RunOptions;
use pypto::config::{ArgumentDump, DfxOptions, PmuEvent, SwimlaneLevel};
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use pypto::tools::execution::find_inputs;
use serde_json::Value;

use crate::{compiled, five_times, read, values_after};

fn all() -> DfxOptions {
    DfxOptions {
        enable_chip_swimlane: Some(SwimlaneLevel::Full),
        enable_dump_args: Some(ArgumentDump::All),
        enable_dep_gen: Some(true),
        enable_scope_stats: Some(true),
        ..DfxOptions::default()
    }
}

#[test]
fn one_dispatch_writes_everything_and_computes_the_same() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("a");
    let program = compiled(&directory);
    let x = DynamicTensor::from_vec((0..128).map(|i| i as f32).collect(), &[8, 16]).unwrap();
    let plain = program.call((&x,)).unwrap();
    assert!(!directory.join("dfx_outputs").exists());
    let recorded = program.call_with((&x,), RunOptions { dfx: all(), ..RunOptions::default() }).unwrap();
    assert_eq!(recorded, plain);

    let records = read(&directory, "chip_swimlane_records.json");
    assert_eq!((&records["level"], records["tasks"].as_array().unwrap().len()), (&4.into(), 3));
    let trace = read(&directory, "swimlane.trace.json");
    let arrows = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "s").count();
    assert_eq!(arrows, 2);
    let edges = read(&directory, "deps.json")["edges"].clone();
    let pairs: Vec<(u64, u64)> =
        edges.as_array().unwrap().iter().map(|e| (e["pred"].as_u64().unwrap(), e["succ"].as_u64().unwrap())).collect();
    assert_eq!(pairs, [(0, 2), (1, 2)]);
    let stats = std::fs::read_to_string(directory.join("dfx_outputs/scope_stats.jsonl")).unwrap();
    let scope: Value = serde_json::from_str(stats.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&scope["longest_chain"], &scope["workspace_bytes"]), (&2.into(), &1024.into()));
    let overhead = read(&directory, "overhead.json");
    assert!(overhead["pieces"].as_u64() >= Some(3) && overhead["overhead_ns"].as_u64() > Some(0), "{overhead}");
    assert_eq!(Some(&values_after(&directory, 2)[..]), plain[0].elements::<f32>());
}

#[test]
fn damaged_records_are_refused_and_never_panic() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("a");
    let program = compiled(&directory);
    let x = DynamicTensor::from_vec(vec![1.5f32; 128], &[8, 16]).unwrap();
    let dfx = DfxOptions { enable_dump_args: Some(ArgumentDump::Marked), ..DfxOptions::default() };
    program.call_with((&x,), RunOptions { dfx, ..RunOptions::default() }).unwrap();
    let inputs = || find_inputs(&program, &directory, None).map(|(tensors, _)| tensors);
    assert_eq!(inputs().unwrap()["x"], x);
    let (description, payload) = (directory.join("dfx_outputs/args_dump.json"), directory.join("dfx_outputs/args.bin"));
    let (text, bytes) = (std::fs::read(&description).unwrap(), std::fs::read(&payload).unwrap());
    // The bytes of another dispatch.
    for other in [&bytes[1..], &[&bytes[..], &[0]].concat(), &[]] {
        std::fs::write(&payload, other).unwrap();
        let error = inputs().unwrap_err().to_string();
        assert!(error.contains("args.bin beside it is of another dispatch"), "{error}");
    }
    std::fs::write(&payload, &bytes).unwrap();
    for end in 0..text.len() {
        std::fs::write(&description, &text[..end]).unwrap();
        assert!(inputs().is_err(), "{end}");
    }
    for at in 0..text.len() {
        let mut damaged = text.clone();
        damaged[at] = if damaged[at] == b'9' { b'-' } else { b'9' };
        std::fs::write(&description, damaged).unwrap();
        let _ = inputs();
    }
    let whole = String::from_utf8(text).unwrap();
    for (from, to, reason) in [
        ("\"schema\": 2", "\"schema\": 3", "schema 3"),
        ("\"bytes\": 512", "\"bytes\": 10737418240", "are not in args.bin"),
        ("\"f32\"", "\"f99\"", "unknown type"),
    ] {
        assert!(whole.contains(from), "{whole}");
        std::fs::write(&description, whole.replace(from, to)).unwrap();
        let error = inputs().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let x = Tensor::<f32, 2>::meta([8, 16]);
    let program = five_times.compile(&(&x, &x), &RunConfig::new()).unwrap().artifact().clone();
    let x = DynamicTensor::from_vec(vec![1.0f32; 128], &[8, 16]).unwrap();
    let with = |dfx| program.call_with((&x,), RunOptions { dfx, ..RunOptions::default() }).unwrap_err().to_string();
    assert!(with(all()).contains("compile it with an output directory"), "{}", with(all()));
}

#[test]
fn hardware_counters_are_read_or_refused_with_the_reason() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("a");
    let program = compiled(&directory);
    let x = DynamicTensor::from_vec(vec![1.0f32; 128], &[8, 16]).unwrap();
    let dfx = DfxOptions { enable_pmu: Some(PmuEvent::PipeUtilization), ..DfxOptions::default() };
    match program.call_with((&x,), RunOptions { dfx, ..RunOptions::default() }) {
        Ok(results) => {
            assert_eq!(results[0].elements::<f32>(), Some(&[5.0; 128][..]));
            let table = std::fs::read_to_string(directory.join("dfx_outputs/pmu.csv")).unwrap();
            assert!(table.starts_with("task,kernel,lane,begin,end,nanoseconds,cycles,instructions\n"), "{table}");
            assert!(table.lines().count() >= 4, "{table}");
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("`enable_pmu` is `1`, which means nothing on `"), "{text}");
            assert!(text.contains("there are no such hardware counters ("), "{text}");
            assert!(!directory.join("dfx_outputs").exists());
        }
    }
}

#[test]
fn typed_calls_record_what_their_configuration_asks_for() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("a");
    let config = RunConfig::builder().save_kernels_dir(&directory).enable_dep_gen(true).build().unwrap();
    let sample = Tensor::<f32, 2>::meta([8, 16]);
    let typed = five_times.compile(&(&sample, &sample), &config).unwrap();
    let (x, mut y) = (Tensor::<f32, 2>::full([8, 16], 1.0), Tensor::<f32, 2>::zeros([8, 16]));
    typed.call((&x, &mut y)).unwrap();
    assert_eq!(y.as_slice(), [5.0; 128]);
    assert_eq!(read(&directory, "deps.json")["edges"].as_array().unwrap().len(), 2);
    // Without a directory there is no place for it.
    let config = RunConfig::builder().enable_dep_gen(true).build().unwrap();
    let error = five_times.compile(&(&sample, &sample), &config).unwrap().call((&x, &mut y)).unwrap_err();
    assert!(error.to_string().contains("compile it with an output directory"), "{error}");
}
