//! Execution by directory: an artifact that lies on disk is run with tensors from files, and its results are compared.
//!
//! [`execute_artifact_dir`] runs one; [`execute_batch_manifest`] runs a list of them and keeps a journal. Nothing is compiled
//! and nothing of the artifact's own files is changed. What cannot be set up ([`ExecutionError`]) is kept apart from what
//! ran and failed ([`ExecutionReport`]).

mod arguments;
mod artifact_dir;
mod batch;
mod error;
mod inputs;
mod isolated;
mod journal;
mod report;

pub(super) use arguments::run_dumped;
pub use arguments::{ArtifactResults, named_arguments, run_artifact};
pub(super) use artifact_dir::find_recorded;
pub use artifact_dir::{ExecutionOptions, compare_outputs, execute_artifact_dir};
pub use batch::{BatchEntry, BatchOptions, BatchProgress, BatchSummary, execute_batch_manifest, read_batch_manifest};
pub use error::ExecutionError;
pub(super) use inputs::tensor_of_entry;
pub use inputs::{
    InputSource, NamedTensors, RECORDED_ARGUMENTS, SAVED_INPUTS, SAVED_OUTPUTS, find_inputs, find_outputs, save_tensors,
};
pub use journal::{EntryState, Journal, JournalLine, Outcome, read_journal};
pub use report::{ExecutionReport, Status};
