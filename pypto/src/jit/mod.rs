//! Calls of annotated functions: specialization on the arguments, caches, checks at the call, and the handles that an
//! annotated function has besides being callable.

pub mod cache;
pub mod check;
pub mod compiled;
pub mod events;
pub mod explain;
pub mod fingerprint;
pub mod handle;
mod keep;
pub mod key;
pub mod lowering_test;
pub mod meta;
pub mod output;
pub mod sample;
pub mod site;
pub mod tune;
pub mod variant;
pub mod warm;
pub mod warmed;

pub use compiled::Compiled;
pub use events::{Event, Origin, Stats, on_event, stats};
pub use explain::Explanation;
pub use handle::{Eager, JitFn, Launched, TypeArguments, eager_meta, eager_scope, launch, program};
pub use key::Key;
pub use meta::MetaValues;
pub use output::Output;
pub use sample::{Content, Sample, Samples, TensorSpec};
pub use site::CallSite;
pub use tune::{Space, TuneError, TuneOptions, TuneReport, Tuned};
pub use warm::{Upcoming, warm};

pub use crate::language::argument::CallArguments;
pub use crate::runtime::error::{self, Error, ErrorKind, Result};

// What the expansion of the attribute macros names, beside the handles.
pub use crate::call_site;
pub use crate::frontend::specialization::ArgumentSpec;
pub use crate::language::argument::{Argument, ArgumentList, KernelArgument, KernelArguments};
