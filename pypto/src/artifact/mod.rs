//! Compiled programs as data: what the compiler made, what the run time loads, what the disk keeps.
//!
//! Calls of a [`CompiledProgram`] are in [`pypto::runtime`]: this module knows nothing of running.
//!
//! On disk an artifact is a directory:
//!
//! ```text
//! manifest.json              what it is, its parameters and kernels, every file with size and hash
//! ir/program.ir, lowered.ir  the program before and after the passes
//! kernels/NN_name.o          machine code; .ll and .lir: what it was made from
//! passes_dump/NN_after_X.ir  where dumps were asked for: after every pass that changes the program; index.txt names all
//! report/                    times of passes, warnings
//! debug/run.sh               runs it again; beside it, saved inputs and outputs, which are not part of the artifact
//! ```
//!
//! A program with several entries is a directory of such directories: [`entries`].

pub mod edited;
pub mod entries;
mod error;
pub mod executable;
mod load;
pub mod manifest;
pub mod packed;
pub mod parameters;
pub mod program;
pub mod record;
mod save;
mod staging;

pub use edited::{PresentArtifact, read_present};
pub use entries::CompiledEntries;
pub(crate) use entries::EntriesWriter;
pub use error::ArtifactError;
pub use executable::{Accelerator, HostExecutable, HostKernel, KernelCode, Site};
pub use load::read_manifest;
pub use manifest::{BuildRecord, Manifest};
pub use parameters::{ParamExtent, ParamInfo, ParamKind};
pub use program::CompiledProgram;
pub use save::RUN_SCRIPT;
pub(crate) use save::{Companions, kernel_stem, new_directory};
