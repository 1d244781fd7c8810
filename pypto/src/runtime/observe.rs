//! What a dispatch leaves behind when its [`DfxOptions`] ask for it: files in `dfx_outputs/` of the artifact's directory.
//!
//! Everything is captured while the call runs, once, and changes neither its results nor its order of tasks; only a dump of
//! the tasks' arguments runs them one by one. Files are written when the call has ended, each whole or not at all; they
//! replace those of the dispatch before.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counters;
use super::dfx::dump_args::{ArgumentsDump, Entry, SCHEMA as ARGUMENTS_SCHEMA, Whose};
use super::dfx::{deps, pmu, scope_stats, swimlane};
use super::error::{Error, Result};
use super::recording::{Detail, Execution, Recording};
use crate::artifact::CompiledProgram;
use crate::config::{ArgumentDump, ConfigError, DfxOptions, PmuEvent, SwimlaneLevel};
use crate::staged::write_whole;

/// The directory of a dispatch's files, in that of its artifact.
pub const DIRECTORY: &str = "dfx_outputs";
/// Bytes of values that a dump of arguments keeps.
const DUMP_LIMIT: usize = 1 << 30;

/// The observers of one dispatch.
pub struct Observers {
    options: DfxOptions,
    directory: PathBuf,
    recording: Option<Recording>,
    arguments: Option<ArgumentsDump>,
}

impl Observers {
    /// Those that the options ask for; `None` where they ask for nothing.
    ///
    /// # Errors
    /// An artifact without a directory; hardware counters where there are none.
    pub fn of(program: &CompiledProgram, options: DfxOptions) -> Result<Option<Observers>> {
        if !options.any() {
            return Ok(None);
        }
        let event = options.enable_pmu.unwrap_or_default();
        if event != PmuEvent::Off {
            let reason = match program.platform().is_host() {
                true => counters::check(event).err(),
                false => Some("a simulator has none".to_owned()),
            };
            if let Some(reason) = reason {
                let fix = format!("there are no such hardware counters ({reason}); `enable_chip_swimlane` gives times");
                return Err(ConfigError::not_on("enable_pmu", i64::from(event), program.platform(), &fix).into());
            }
        }
        let Some(directory) = program.output_dir() else {
            let asked = "recorded, but the artifact has no directory for the files";
            return Err(Error::host(format!(
                "a dispatch of `{}` is to be {asked}: compile it with an output directory (`save_kernels_dir`)",
                program.name()
            )));
        };
        let detail = match options.enable_chip_swimlane.unwrap_or_default() {
            SwimlaneLevel::Off | SwimlaneLevel::Tasks => Detail::Kernels,
            SwimlaneLevel::Dispatch => Detail::Dispatch,
            SwimlaneLevel::Scheduler => Detail::Scheduler,
            SwimlaneLevel::Full => Detail::Orchestration,
        };
        let records = options.enable_chip_swimlane.unwrap_or_default() != SwimlaneLevel::Off
            || options.enable_dep_gen == Some(true)
            || options.enable_scope_stats == Some(true)
            || event != PmuEvent::Off;
        let whose = match options.enable_dump_args.unwrap_or_default() {
            ArgumentDump::Off => None,
            ArgumentDump::Marked => Some(Whose::Call),
            ArgumentDump::All => Some(Whose::Tasks),
        };
        Ok(Some(Observers {
            options,
            directory: directory.join(DIRECTORY),
            recording: records.then(|| Recording::new(detail).with_counters(event)),
            arguments: whose.map(|whose| ArgumentsDump::new(whose, DUMP_LIMIT)),
        }))
    }

    /// The execution, observed.
    pub fn watch<'a>(&'a self, execution: Execution<'a>) -> Execution<'a> {
        Execution { recording: self.recording.as_ref(), arguments: self.arguments.as_ref(), ..execution }
    }

    /// Writes the files.
    ///
    /// # Errors
    /// A place that cannot be written.
    pub fn write(self, program: &str) -> Result<()> {
        let directory = &self.directory;
        std::fs::create_dir_all(directory).map_err(|error| cannot_write(directory, &error))?;
        let (mut pieces, mut overhead) = (0, Duration::ZERO);
        if let Some(recording) = self.recording {
            let detail = recording.detail();
            let log = recording.into_log();
            if log.virtual_total.is_none() {
                pieces = log.spans.len();
                overhead += Recording::overhead(pieces);
            }
            if self.options.enable_chip_swimlane.unwrap_or_default() != SwimlaneLevel::Off {
                let records = swimlane::records(&log, detail);
                json(directory, "chip_swimlane_records.json", &records)?;
                json(directory, "swimlane.trace.json", &swimlane::trace(program, &records))?;
            }
            let event = self.options.enable_pmu.unwrap_or_default();
            if event != PmuEvent::Off {
                put(directory, "pmu.csv", pmu::table(&log, event).as_bytes())?;
            }
            if self.options.enable_dep_gen == Some(true) {
                let graph = deps::graph(&log);
                json(directory, "deps.json", &graph)?;
                put(directory, "deps.dot", deps::dot(&graph).as_bytes())?;
            }
            if self.options.enable_scope_stats == Some(true) {
                put(directory, "scope_stats.jsonl", scope_stats::lines(&log).as_bytes())?;
            }
        }
        if let Some(arguments) = self.arguments {
            let content = arguments.into_content();
            overhead += content.spent;
            put(directory, "args.bin", &content.payload)?;
            let truncated = content.entries.iter().filter(|entry| entry.offset.is_none()).count();
            let bin_blake3 = blake3::hash(&content.payload).to_hex().to_string();
            let args = content.entries;
            let header = ArgumentsFile { schema: ARGUMENTS_SCHEMA, bin_file: "args.bin", bin_blake3, truncated, args };
            json(directory, "args_dump.json", &header)?;
        }
        let overhead_ns = u64::try_from(overhead.as_nanos()).unwrap_or(u64::MAX);
        json(directory, OVERHEAD, &Overhead { schema: OVERHEAD_SCHEMA, pieces, overhead_ns })
    }
}

/// The file that tells what recording cost.
pub const OVERHEAD: &str = "overhead.json";
/// Changes with the meaning of [`Overhead`].
pub const OVERHEAD_SCHEMA: u32 = 1;

/// What recording a dispatch cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    pub schema: u32,
    /// Pieces of work that were timed.
    pub pieces: usize,
    /// About how long timing them took, and copying arguments, on all threads together.
    pub overhead_ns: u64,
}

#[derive(Serialize)]
struct ArgumentsFile {
    schema: u32,
    bin_file: &'static str,
    /// So that the files of two dispatches are not taken for one, where another wrote at the same time or was killed.
    bin_blake3: String,
    /// Values that were not kept.
    truncated: usize,
    args: Vec<Entry>,
}

fn json(directory: &Path, name: &str, value: &impl Serialize) -> Result<()> {
    let bytes = serde_json::to_vec_pretty(value).map_err(|error| Error::internal(format!("{name}: {error}")))?;
    put(directory, name, &bytes)
}

/// Writes a file whole, or not at all.
fn put(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let file = directory.join(name);
    write_whole(&file, bytes).map_err(|error| cannot_write(&file, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    Error::host(format!("the call ended, but {} cannot be written: {error}", path.display()))
}
