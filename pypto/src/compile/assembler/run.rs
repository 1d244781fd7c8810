//! One run of the assembler, in a directory of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Assembled;

/// How long a kernel may take where nothing else is chosen.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(60);

/// Between two looks at a running assembler.
const LOOK: Duration = Duration::from_millis(2);

/// Why a kernel was not assembled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Its files could not be written or read, or the program does not start.
    #[error("{what}: {reason}")]
    System { what: String, reason: String },
    /// It was ended.
    #[error("it took longer than {} s, and was ended", .limit.as_secs_f64())]
    TimeLimit { limit: Duration },
    /// It ended with an error; `text` is all that it said.
    #[error("{status}")]
    Refused { status: String, text: String },
    /// It ended well, but wrote nothing.
    #[error("it made no file")]
    NoOutput,
}

fn system(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let what = format!("{what} {}", path.display());
    move |error| Failure::System { what, reason: error.to_string() }
}

/// A directory that is removed with everything in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Failure> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pypto-ptoas-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(system("cannot make", &path))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is the system's to remove.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Assembles a text.
pub(super) fn run(
    program: &Path,
    name: &str,
    text: &str,
    arguments: &[String],
    limit: Duration,
) -> Result<Assembled, Failure> {
    let scratch = Scratch::new()?;
    let [input, output, log] = ["pto", "cpp", "log"].map(|end| scratch.0.join(format!("{name}.{end}")));
    std::fs::write(&input, text).map_err(system("cannot write", &input))?;
    let said = File::create(&log).map_err(system("cannot write", &log))?;
    let too = said.try_clone().map_err(system("cannot write", &log))?;
    let mut command = Command::new(program);
    command.arg(&input).arg("-o").arg(&output).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::from(said)).stderr(Stdio::from(too));
    let child = command.spawn().map_err(system("cannot start", program))?;
    let status = wait(child, limit)?;
    let bytes = std::fs::read(&log).map_err(system("cannot read", &log))?;
    // Names of the scratch directory say nothing to the reader, and differ from run to run.
    let log = String::from_utf8_lossy(&bytes).replace(&format!("{}/", scratch.0.display()), "");
    if !status.success() {
        return Err(Failure::Refused { status: status.to_string(), text: log });
    }
    match std::fs::read_to_string(&output) {
        Ok(source) if !source.is_empty() => Ok(Assembled { source, log }),
        _ => Err(Failure::NoOutput),
    }
}

fn wait(mut child: Child, limit: Duration) -> Result<ExitStatus, Failure> {
    let end = Instant::now() + limit;
    loop {
        let cannot = |error: std::io::Error| Failure::System {
            what: "cannot wait for the assembler".to_owned(),
            reason: error.to_string(),
        };
        if let Some(status) = child.try_wait().map_err(cannot)? {
            return Ok(status);
        }
        if Instant::now() >= end {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure::TimeLimit { limit });
        }
        std::thread::sleep(LOOK);
    }
}
