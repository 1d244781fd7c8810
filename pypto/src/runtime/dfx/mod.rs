//! Diagnostics of a dispatch, as files: what ran when, what waited for what, which values went in and out.
//!
//! The formats are in `docs/dfx.md`.

pub mod deps;
pub mod dump_args;
pub mod pmu;
pub mod scope_stats;
pub mod swimlane;
