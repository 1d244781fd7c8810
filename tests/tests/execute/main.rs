//! Execution of artifacts: workers and their tensors, benchmarks, and what a dispatch records.

mod benchmarks;
mod kernels;
mod recorded;
mod simulated;
mod workers;

use std::path::Path;

use kernels::{compiled, five_times};
use pypto::prelude::*;
use serde_json::Value;

/// `y += x`, and stops where `n` is 0.
#[pypto::jit]
pub fn accumulate(#[shape(N)] x: &Tensor<f32, 1>, n: i32, #[shape(N)] y: &mut Tensor<f32, 1>) {
    let part = 4 / n;
    y.set(y.load_all() + x * (part as f32));
}

/// A file that a dispatch recorded.
fn read(directory: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("dfx_outputs").join(name)).unwrap()).unwrap()
}

/// What a task wrote, as it was recorded: 8 x 16 numbers.
fn values_after(directory: &Path, task: u64) -> Vec<f32> {
    let arguments = read(directory, "args_dump.json");
    let entries = arguments["args"].as_array().unwrap();
    let entry = entries.iter().rfind(|entry| entry["task"] == task && entry["stage"] == "after").unwrap();
    let start = entry["offset"].as_u64().unwrap() as usize;
    let payload = std::fs::read(directory.join("dfx_outputs/args.bin")).unwrap();
    payload[start..start + 512].chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}
