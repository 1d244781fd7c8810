//! Artifacts for Ascend accelerators: kernels in the assembler's dialect, the code that dispatches them, a manifest.
//!
//! A program after the passes is an orchestration function and in-core functions. Each of these is lowered to the dialect
//! ([`lower`]), its tiles are placed ([`plan`]), and it is written as text ([`dialect`]); what was written is read again
//! and checked ([`dialect::read`], [`overlap`]). Everything else is data beside it ([`artifact`]).

pub mod artifact;
mod coalesce;
pub mod dialect;
pub mod lower;
mod manifest;
mod orchestration;
pub mod overlap;
pub mod plan;
mod wrapper;

pub use artifact::{AscendArtifact, AscendKernel, AscendOptions, generate};
pub use plan::Planner;

use crate::config::BackendType;
use crate::target::{A2A3, A5, Target};

/// What is known of an architecture.
pub fn target_of(arch: BackendType) -> &'static Target {
    match arch {
        BackendType::Ascend910B => &A2A3,
        BackendType::Ascend950 => &A5,
    }
}
