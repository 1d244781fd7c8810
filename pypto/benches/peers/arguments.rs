//! The command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Only rows whose name contains one of these.
    pub filters: Vec<String>,
    /// Where results go as JSON: a baseline for later runs.
    pub json: Option<PathBuf>,
    /// A file that an earlier run wrote: what got slower is named.
    pub compare: Option<PathBuf>,
    /// Fewer samples.
    pub quick: bool,
    /// Where plots of time against size go; nothing else is measured then.
    pub plots: Option<PathBuf>,
    /// A page whose table is replaced by the one that is measured.
    pub page: Option<PathBuf>,
    /// Numbers of threads; 1 and 2 unless given.
    pub threads: Vec<usize>,
    /// No peers: only the project and the machine.
    pub alone: bool,
}

pub const USAGE: &str = "\
cargo bench -p pypto --bench peers -- [FILTER..] [OPTIONS]

FILTER            rows whose name contains it; several are alternatives
--threads N,..    numbers of threads (1,2)
--quick           a fifth of the samples
--alone           without peers
--json FILE       writes the results, as a baseline
--compare FILE    names what is slower than in such a file, beyond the noise; exit code 1 if something is
--page FILE       puts the table into a page, between the lines that say so
--plots DIRECTORY draws time an element against size into SVG files, and measures nothing else
Relative paths start at the repository. PYPTO_PEERS_PYTHON is the Python whose libraries are peers; else it is python3";

impl Arguments {
    /// # Errors
    /// What is wrong, to be shown with [`USAGE`].
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments { threads: vec![1, 2], ..Arguments::default() };
        let mut words = words;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a value"));
            match word.as_str() {
                // Cargo adds it.
                "--bench" => {}
                "--quick" => arguments.quick = true,
                "--alone" => arguments.alone = true,
                "--json" => arguments.json = Some(place(&value()?)),
                "--compare" => arguments.compare = Some(place(&value()?)),
                "--plots" => arguments.plots = Some(place(&value()?)),
                "--page" => arguments.page = Some(place(&value()?)),
                "--threads" => arguments.threads = thread_counts(&value()?)?,
                option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
                filter => arguments.filters.push(filter.to_owned()),
            }
        }
        Ok(arguments)
    }

    pub fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter.as_str()))
    }

    /// How long a contender is measured.
    pub fn budget(&self) -> Duration {
        Duration::from_millis(if self.quick { 80 } else { 400 })
    }
}

/// Cargo runs benchmarks in the directory of their package; paths are meant from the repository's.
fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn thread_counts(text: &str) -> Result<Vec<usize>, String> {
    let counts = text.split(',').map(|word| word.parse().ok().filter(|n| *n >= 1));
    counts.collect::<Option<_>>().ok_or(format!("`{text}` is not a list of numbers of threads"))
}
