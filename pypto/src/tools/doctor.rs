//! `pypto doctor`: what this machine offers, and why code runs the way it does.

use std::fmt::Write;
use std::path::Path;

use crate::codegen::host::cpu::{Target, host_identity};
use crate::codegen::host::llvm::{ENV, SearchReport, search_report};
use crate::codegen::host::object_cache::object_cache;
use crate::config::Platform;
use crate::config::environment::Environment;
use crate::runtime::pool::thread_count;

/// The report. Opens libLLVM.
pub fn report() -> String {
    let mut text = format!("pypto {}\n\n", env!("CARGO_PKG_VERSION"));
    // Writing to a string cannot fail.
    let _ = cpu(&mut text);
    let _ = llvm(&mut text, search_report());
    let _ = engine(&mut text, search_report());
    let _ = cache(&mut text);
    text
}

/// Whether kernels become machine code here: there is a libLLVM that can be used.
pub fn makes_machine_code() -> bool {
    search_report().chosen.is_some()
}

fn cpu(text: &mut String) -> std::fmt::Result {
    let target = Target::host();
    writeln!(text, "cpu       {} ({})", cpu_name(), host_identity())?;
    writeln!(
        text,
        "code for  {}: {} lanes of 32 bits, {} vector registers, fused multiply-add {}, f16 conversion {}",
        target.isa.name(),
        target.lanes,
        target.registers,
        yes(target.fma),
        yes(target.f16_conversion)
    )?;
    let source = match Environment::process_or_default().threads {
        Some(_) => "PYPTO_THREADS",
        None => "what the machine offers",
    };
    writeln!(text, "threads   {} ({source})", thread_count())
}

fn llvm(text: &mut String, report: &SearchReport) -> std::fmt::Result {
    match (&report.chosen, report.version) {
        (Some(path), Some((major, minor, patch))) => {
            writeln!(text, "libLLVM   {major}.{minor}.{patch} at {}", path.display())?;
        }
        _ => writeln!(text, "libLLVM   none found; set {ENV} to the path of one, version 15 or newer")?,
    }
    for candidate in &report.tried {
        if let Some(reason) = &candidate.rejected {
            writeln!(text, "          rejected {}: {reason}", candidate.path.display())?;
        }
    }
    Ok(())
}

fn engine(text: &mut String, report: &SearchReport) -> std::fmt::Result {
    let environment = match Environment::process() {
        Ok(environment) => environment,
        Err(error) => return writeln!(text, "kernels   do not run: {error}"),
    };
    let engine = match (environment.platform, &report.chosen) {
        (Some(Platform::Interpreter), _) => "the interpreter, because PYPTO_HOST says so",
        (_, Some(_)) => "machine code",
        (_, None) => "the interpreter, because there is no libLLVM; machine code that the cache holds is used",
    };
    writeln!(text, "kernels   run as {engine}")
}

fn cache(text: &mut String) -> std::fmt::Result {
    match object_cache().directory() {
        Some(directory) => {
            let (files, bytes) = size(directory);
            writeln!(text, "cache     {}: {files} files, {:.1} MB", directory.display(), bytes as f64 / 1e6)
        }
        None => writeln!(text, "cache     off"),
    }
}

/// Number and bytes of the files in a directory and one level below.
fn size(directory: &Path) -> (u64, u64) {
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                let below = std::fs::read_dir(entry.path()).into_iter().flatten().flatten();
                for metadata in below.filter_map(|e| e.metadata().ok()) {
                    sum = (sum.0 + 1, sum.1 + metadata.len());
                }
            }
            Ok(metadata) => sum = (sum.0 + 1, sum.1 + metadata.len()),
            Err(_) => {}
        }
    }
    sum
}

fn yes(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}

/// The processor's name as the system knows it.
fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
