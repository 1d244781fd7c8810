//! An entry of a batch in a process of its own.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::batch::BatchEntry;
use super::journal::Outcome;
use super::report::Status;

/// How long a process may live beyond the time limit of its call: to start, read the artifact and compare.
const GRACE: Duration = Duration::from_secs(10);
/// How often a process with a time limit is looked at.
const INTERVAL: Duration = Duration::from_millis(5);

/// What comes of an entry that `program`, the `pypto` command, runs.
pub(super) fn run_isolated(program: &Path, entry: &BatchEntry) -> Outcome {
    let setup = |reason: String| Outcome::problem(Status::Infrastructure, reason);
    let text = match serde_json::to_string(entry) {
        Ok(text) => text,
        Err(error) => return setup(format!("the entry has no text: {error}")),
    };
    let mut command = Command::new(program);
    command.args(["execute-artifact", "--entry", &text]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return setup(format!("cannot start {}: {error}", program.display())),
    };
    // Both are read while the process runs: it would wait for a full pipe.
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let limit = entry.options.run.time_limit_ms.map(|limit| Duration::from_millis(limit) + GRACE);
    let ended = wait(&mut child, limit);
    let text_of = |thread: std::thread::JoinHandle<Vec<u8>>| thread.join().unwrap_or_default();
    let (stdout, stderr) = (text_of(stdout), text_of(stderr));
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    match ended {
        Err(error) => setup(format!("cannot wait for its process: {error}")),
        Ok(None) => Outcome::problem(Status::Failed, format!("its process did not end in time and was killed\n{said}")),
        Ok(Some(status)) => told(status, &stdout, &said),
    }
}

/// What the process told, or how it died.
fn told(status: ExitStatus, stdout: &[u8], said: &str) -> Outcome {
    match (status.code().and_then(Status::of_exit_code), serde_json::from_slice::<Outcome>(stdout)) {
        (Some(code), Ok(outcome)) if code == outcome.status => outcome,
        (_, _) if status.code().is_none() => {
            Outcome::problem(Status::Failed, format!("its process crashed: {status}\n{said}").trim_end().to_owned())
        }
        _ => Outcome::problem(Status::Infrastructure, format!("its process ended with {status} and no result\n{said}")),
    }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before a pipe broke is worth having.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

/// Waits for its end; kills it after `limit`, which gives `None`.
fn wait(child: &mut Child, limit: Option<Duration>) -> std::io::Result<Option<ExitStatus>> {
    let Some(limit) = limit else { return child.wait().map(Some) };
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(INTERVAL);
    }
    child.kill()?;
    child.wait().map(|_| None)
}
