//! Peers run in processes of their own and are driven line by line, so that their measurements can be interleaved with ours.
//!
//! | asked | answered |
//! |---|---|
//! | | `ready TEXT` at the start, the text says which libraries were found |
//! | `prepare CASE` | `contenders NAME..`: who can do it; their arguments are made, and they ran once |
//! | `sample NAME MILLISECONDS` | `samples SECONDS..`: seconds a call, or `failed TEXT` |

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A child process that answers.
pub struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What it said of itself.
    pub found: String,
}

/// Variables by which libraries are told how many threads to use.
const THREAD_VARIABLES: [&str; 6] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "MATMUL_NUM_THREADS",
];

impl Peer {
    /// Starts it. Its allocator keeps memory that it got, so that no page is cleared while a call is timed, and asks for
    /// large pages, as ours and NumPy do.
    fn start(mut command: Command, threads: usize) -> Result<Peer, String> {
        THREAD_VARIABLES.iter().for_each(|name| {
            command.env(name, threads.to_string());
        });
        command
            .args(["--threads", &threads.to_string()])
            .env("MALLOC_MMAP_THRESHOLD_", "4294967296")
            .env("MALLOC_TRIM_THRESHOLD_", "8589934592")
            .env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| format!("{:?}: {e}", command.get_program()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a child without pipes".to_owned());
        };
        let mut peer = Peer { child, input, output: BufReader::new(output), found: String::new() };
        peer.found = peer.line("ready")?;
        Ok(peer)
    }

    fn line(&mut self, head: &str) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err("it ended".to_owned()),
            Ok(_) => match line.trim_end().strip_prefix(head) {
                Some(rest) => Ok(rest.trim().to_owned()),
                None => Err(line.trim_end().trim_start_matches("failed ").to_owned()),
            },
            Err(error) => Err(error.to_string()),
        }
    }

    fn ask(&mut self, question: &str, head: &str) -> Result<String, String> {
        writeln!(self.input, "{question}").and_then(|()| self.input.flush()).map_err(|e| e.to_string())?;
        self.line(head)
    }

    /// Its number among the system's processes.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Who of it can do a case.
    pub fn prepare(&mut self, case: &str) -> Result<Vec<String>, String> {
        let names = self.ask(&format!("prepare {case}"), "contenders")?;
        Ok(names.split_whitespace().map(str::to_owned).collect())
    }

    /// Seconds a call.
    pub fn sample(&mut self, contender: &str, length: Duration) -> Result<Vec<f64>, String> {
        let samples = self.ask(&format!("sample {contender} {}", length.as_millis().max(1)), "samples")?;
        Ok(samples.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers")
}

/// The libraries that a Python has: that of `PYPTO_PEERS_PYTHON`, or `python3`.
pub fn python(threads: usize) -> Result<Peer, String> {
    let program = std::env::var_os("PYPTO_PEERS_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(program);
    command.arg(directory().join("peers.py"));
    Peer::start(command, threads)
}

/// The crates of `rust_peers`. Cargo builds it first, which takes some minutes once: a package of its own, so that nobody
/// else compiles them.
pub fn rust(threads: usize) -> Result<Peer, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust_peers");
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--quiet", "--locked", "--manifest-path"])
        .arg(directory().join("rust_peers/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if !built.success() {
        return Err("they could not be built".to_owned());
    }
    Peer::start(Command::new(target.join("release/rust_peers")), threads)
}
