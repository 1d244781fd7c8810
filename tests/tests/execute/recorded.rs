//! What a dispatch records: swimlane, task graph, arguments, memory.

use std::path::Path;

use pypto::config::RunOptions;
use pypto::config::{ArgumentDump, DfxOptions, PmuEvent, SwimlaneLevel};
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use serde_json::Value;

use crate::{compiled, five_times};

fn read(directory: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("dfx_outputs").join(name)).unwrap()).unwrap()
}

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
    let arguments = read(&directory, "args_dump.json");
    let entries = arguments["args"].as_array().unwrap();
    let last = entries.iter().find(|e| e["task"] == 2 && e["stage"] == "after").unwrap();
    let payload = std::fs::read(directory.join("dfx_outputs/args.bin")).unwrap();
    let start = last["offset"].as_u64().unwrap() as usize;
    let values: Vec<f32> =
        payload[start..start + 512].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(Some(&values[..]), plain[0].elements::<f32>());
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let x = Tensor::<f32, 2>::meta([8, 16]);
    let program = five_times.compile(&(&x, &x), &RunConfig::new()).unwrap().artifact().clone();
    let x = DynamicTensor::from_vec(vec![1.0f32; 128], &[8, 16]).unwrap();
    let with = |dfx| program.call_with((&x,), RunOptions { dfx, ..RunOptions::default() }).unwrap_err().to_string();
    assert!(with(all()).contains("compile it with an output directory"), "{}", with(all()));
    let counters = DfxOptions { enable_pmu: Some(PmuEvent::Cache), ..DfxOptions::default() };
    assert!(with(counters).starts_with("`enable_pmu` is `5`, which means nothing on `"), "{}", with(counters));
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
