//! Every example program as users start it: with `--platform NAME`, for the simulators of both accelerators, and with
//! `PYPTO_PROG_BUILD_DIR`, where its artifacts must land.
//!
//! The platform is an argument of the process, so each program runs in a process of its own: this one, started again.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pypto_tests::examples::PROGRAMS;

/// As the first argument: the name of the example that this process is.
const AS: &str = "--as-example";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, name, ..] = &arguments[..]
        && first == AS
    {
        return example(name);
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let runs: Vec<(&str, &str)> = PROGRAMS
        .iter()
        .flat_map(|(name, _)| [(*name, "a2a3sim"), (*name, "a5sim")])
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())))
        .collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(missing()));
    let work = || {
        while let Some((name, platform)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(problem) = check(name, platform) {
                failures.lock().unwrap().push(format!("{name} on {platform}: {problem}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    println!("{} runs of examples, {} failed", runs.len(), failures.len());
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs an example in this process.
fn example(name: &str) -> ExitCode {
    let Some((_, main)) = PROGRAMS.iter().find(|(known, _)| *known == name) else { return ExitCode::FAILURE };
    match main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn check(name: &str, platform: &str) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args([AS, name, "--platform", platform])
        .env("PYPTO_PROG_BUILD_DIR", place.path())
        .output()
        .map_err(|error| error.to_string())?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("{}\n{out}{err}", output.status));
    }
    if !out.contains("max error") {
        return Err(format!("it reports no error bound:\n{out}"));
    }
    let mut artifacts = 0;
    for entry in std::fs::read_dir(place.path()).map_err(|error| error.to_string())? {
        let directory = entry.map_err(|error| error.to_string())?.path();
        artifact(&directory).map_err(|problem| format!("{}: {problem}", directory.display()))?;
        artifacts += 1;
    }
    if artifacts == 0 { Err("no artifact is in `PYPTO_PROG_BUILD_DIR`".to_owned()) } else { Ok(()) }
}

/// The files that an artifact of an accelerator has.
fn artifact(directory: &Path) -> Result<(), String> {
    for name in ["manifest.json", "kernel_config.json"] {
        if !directory.join(name).is_file() {
            return Err(format!("there is no {name}"));
        }
    }
    let kernels = std::fs::read_dir(directory.join("ptoas")).map_err(|error| error.to_string())?;
    let texts = kernels.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "pto")).count();
    if texts == 0 { Err("there is no kernel".to_owned()) } else { Ok(()) }
}

/// Examples that are not in the list.
fn missing() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let known: BTreeSet<&str> = PROGRAMS.iter().map(|(name, _)| *name).collect();
    let mut missing = Vec::new();
    for directory in ["beginner", "kernels", "models", "distributed", "runtime"] {
        let Ok(entries) = std::fs::read_dir(root.join(directory)) else { continue };
        for path in
            entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "rs"))
        {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !known.contains(name.as_str()) {
                missing.push(format!("{name} is not among the programs of `pypto_tests::examples`"));
            }
        }
    }
    missing
}
