//! What the `pypto` command does, as functions of the library.

pub mod checkpoint;
pub mod doctor;
pub mod execution;
pub mod explain;
pub mod named_values;
pub mod replay;

pub use execution::{execute_artifact_dir, execute_batch_manifest};
