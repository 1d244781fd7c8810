//! Processes that are killed at any moment: whoever comes next finds a whole artifact or none, a cache that works, and a
//! journal that tells the truth. `PYPTO_KILLS` says how often each is tried.

use super::*;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use pypto::golden::read_tensors;
use pypto::prelude::*;
use pypto::tools::execution::{EntryState, Status, read_journal};

/// Kills of each kind.
fn kills() -> usize {
    std::env::var("PYPTO_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(50)
}

/// Another moment each time, up to `most`.
fn moment(kill: usize, most: Duration) -> Duration {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    let mixed = (u64::from(nanos) + kill as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    most.mul_f64(mixed as f64 / (1u64 << 24) as f64)
}

/// This program, running one of the ignored tests below.
fn child(test: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("kills::{test}"), "--ignored"]).env("PYPTO_TESTS_PLACE", place);
    command.env("PYPTO_CACHE_DIR", place.join("cache")).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn kill_after(mut child: Child, time: Duration) {
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_compilation_leaves_a_whole_artifact_or_none() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    let mut whole = 0;
    for kill in 0..kills() {
        let running = child("child_that_compiles", place.path()).spawn().unwrap();
        if kill == 0 {
            // Time to start once, so that later kills meet an artifact.
            let start = Instant::now();
            while !directory.exists() && start.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        kill_after(running, moment(kill, Duration::from_millis(120)));
        if directory.exists() {
            CompiledProgram::from_dir(&directory).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
            whole += 1;
        }
    }
    assert!(whole > 0, "nothing was ever compiled");
    // Whoever compiles next clears away what the killed ones left.
    compiled(&directory, "4.0");
    assert_eq!(visible_and_hidden(place.path()), ["a"]);
}

fn visible_and_hidden(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "runs until it is killed"]
fn child_that_compiles() {
    let Some(place) = std::env::var_os("PYPTO_TESTS_PLACE") else { return };
    for factor in ["2.0", "3.0"].iter().cycle() {
        compiled(&Path::new(&place).join("a"), factor);
    }
}

#[pypto::jit]
fn plus_meta(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x + 1.0);
}

#[test]
fn a_killed_cache_write_harms_nobody() {
    let place = tempfile::tempdir().unwrap();
    for kill in 0..kills() {
        let running = child("child_that_fills_the_cache", place.path()).spawn().unwrap();
        kill_after(running, moment(kill, Duration::from_millis(200)));
        if kill % 10 == 9 {
            let status = child("child_that_reads_the_cache", place.path()).status().unwrap();
            assert!(status.success(), "kill {kill}");
        }
    }
}

#[test]
#[ignore = "runs until it is killed"]
fn child_that_fills_the_cache() {
    let Some(_) = std::env::var_os("PYPTO_TESTS_PLACE") else { return };
    // Other extents each time, so that something is written.
    let seed = std::process::id() as usize % 1_000;
    for length in 1.. {
        runs(1 + seed * 50 + length);
    }
}

#[test]
#[ignore = "a part of `a_killed_cache_write_harms_nobody`"]
fn child_that_reads_the_cache() {
    let Some(_) = std::env::var_os("PYPTO_TESTS_PLACE") else { return };
    (1..8).for_each(runs);
}

fn runs(length: usize) {
    let (x, mut y) = (Tensor::<f32, 1>::full([length], 2.0), Tensor::<f32, 1>::zeros([length]));
    plus_meta(&x, &mut y).unwrap();
    assert!(y.as_slice().iter().all(|y| *y == 3.0));
}

const ENTRIES: usize = 40;

fn batch(place: &Path, rest: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pypto"));
    let (manifest, results) = (place.join("m.jsonl"), place.join("r.jsonl"));
    command.args(["execute-artifact", "--batch-manifest"]).arg(manifest).arg("--results").arg(results);
    command.args(rest).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn the_journal_of_a_killed_batch_tells_the_truth() {
    let place = tempfile::tempdir().unwrap();
    compiled(&place.path().join("a"), "2.0");
    let entry =
        |i| format!("{{\"work_dir\": \"a\", \"options\": {{\"no_validate\": true, \"save\": \"y{i}.safetensors\"}}}}");
    let lines: Vec<String> = std::iter::once("{\"schema\": 1}".to_owned()).chain((0..ENTRIES).map(entry)).collect();
    std::fs::write(place.path().join("m.jsonl"), lines.join("\n")).unwrap();
    let results = place.path().join("r.jsonl");
    for kill in 0..kills() {
        // Every third run continues where the one before was killed.
        let rest: &[&str] = if kill % 3 == 0 { &[] } else { &["--resume"] };
        if kill % 3 == 0 {
            (0..ENTRIES).for_each(|i| {
                let _ = std::fs::remove_file(place.path().join(format!("y{i}.safetensors")));
            });
            let _ = std::fs::remove_file(&results);
        }
        kill_after(batch(place.path(), rest).spawn().unwrap(), moment(kill, Duration::from_millis(150)));
        check_journal(place.path(), &results, kill);
    }
    let _ = batch(place.path(), &["--resume"]).status().unwrap();
    let journal = read_journal(&results).unwrap();
    assert!(journal.ended && journal.entries == [EntryState::Finished(Status::Passed); ENTRIES]);
    // One that is cut off leaves its hidden file for the next run that writes the same.
    let _ = batch(place.path(), &[]).status().unwrap();
    let names = visible_and_hidden(place.path());
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
}

/// What is told as finished is there, what is told as not started is not.
fn check_journal(place: &Path, results: &Path, kill: usize) {
    // Killed before the first line.
    let Ok(text) = std::fs::read_to_string(results) else { return };
    if !text.contains('\n') {
        return;
    }
    let journal = read_journal(results).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
    let unfinished = journal.entries.iter().filter(|state| **state == EntryState::Unfinished).count();
    assert!(unfinished <= 1, "kill {kill}: {:?}", journal.entries);
    for (i, state) in journal.entries.iter().enumerate() {
        let output = place.join(format!("y{i}.safetensors"));
        match state {
            EntryState::NotStarted => assert!(!output.exists(), "kill {kill}, entry {i}"),
            EntryState::Unfinished => {}
            EntryState::Finished(status) => {
                assert_eq!(*status, Status::Passed, "kill {kill}, entry {i}");
                assert!(read_tensors(&output).is_ok(), "kill {kill}, entry {i}");
            }
        }
    }
}
