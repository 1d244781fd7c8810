//! What is measured in a process of its own: the first result with a warm cache, and peak memory.

use std::path::Path;
use std::process::Command;

use pypto::CompiledProgram;
use pypto::prelude::*;

use crate::kernels::softmax;

/// Answers the parent, if this process is a child: `--first`, `--artifact` or `--memory`.
pub fn answer(mode: &str) -> Option<String> {
    match mode {
        "--first" => Some(first_result()),
        "--artifact" => Some(artifact_result()),
        "--memory" => Some(peak_memory()),
        _ => None,
    }
}

/// Runs this program again in a mode; the numbers that it prints.
pub fn ask(mode: &str) -> Vec<f64> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    let Ok(output) = Command::new(program).arg(mode).output() else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn run_softmax(rows: i64) -> f32 {
    let x = Tensor::<f32, 2>::full([rows, 1024], 1.0);
    let mut y = Tensor::<f32, 2>::zeros([rows, 1024]);
    match softmax(&x, &mut y) {
        Ok(_) => y.as_slice()[0],
        Err(_) => f32::NAN,
    }
}

/// Milliseconds of CPU since the process started until the first result, and whether libLLVM was opened.
fn first_result() -> String {
    since_start(run_softmax(64))
}

/// The same for an artifact that is read from its directory; the first of the children writes it.
fn artifact_result() -> String {
    let directory = std::env::temp_dir().join("pypto-bench-artifact");
    since_start(run_artifact(&directory).unwrap_or(f32::NAN))
}

fn run_artifact(directory: &Path) -> pypto::Result<f32> {
    let x = Tensor::<f32, 2>::full([64, 1024], 1.0);
    let mut y = Tensor::<f32, 2>::zeros([64, 1024]);
    let program = match CompiledProgram::from_dir(directory) {
        Ok(program) => program,
        Err(_) => softmax.compile(&(&x, &y), &RunConfig::new().with_output_dir(directory))?.artifact().clone(),
    };
    program.call((&x, &mut y))?;
    Ok(y.as_slice()[0])
}

fn since_start(value: f32) -> String {
    let milliseconds = cpu_milliseconds();
    let opened = std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("libLLVM"));
    format!("{milliseconds} {} {value}", u8::from(opened))
}

/// Peak resident megabytes after the large softmax.
fn peak_memory() -> String {
    run_softmax(4096);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    format!("{}", kilobytes.unwrap_or(f64::NAN) * 1024.0 / 1e6)
}

/// Milliseconds of CPU that this process has used.
pub fn cpu_milliseconds() -> f64 {
    // SAFETY: `getrusage` fills a structure of plain numbers.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let milliseconds = |t: libc::timeval| t.tv_sec as f64 * 1e3 + t.tv_usec as f64 / 1e3;
    milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime)
}
