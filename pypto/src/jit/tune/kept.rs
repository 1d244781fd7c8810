//! Choices on disk, beside compiled kernels: under the exact arguments, and under their class, so that a kernel that was
//! tuned for 1000 rows need not be tuned for 1001.
//!
//! A key holds the kernel's hash, the CPU, the number of threads, the element types, the space and the tolerance. Entries
//! have a checksum; a damaged one, or one of another form, is a miss.

use serde::{Deserialize, Serialize};

use super::options::TuneOptions;
use super::report::Outcome;
use crate::codegen::host::emit_llvm::EMITTER_VERSION;
use crate::codegen::host::object_cache::{self, object_cache};
use crate::frontend::specialization::ArgumentSpec;
use crate::jit::key::Key;
use crate::jit::meta::MetaValues;

const FORMAT: u32 = 1;

/// A choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What it was measured for.
    pub arguments: String,
    /// One a candidate.
    pub outcomes: Vec<Outcome>,
    pub chosen: usize,
}

/// The two places where a choice may be.
pub(super) struct Places {
    exact: object_cache::Key,
    class: object_cache::Key,
    candidates: usize,
}

impl Places {
    /// Where the choice among `candidates` is; `first` is the key of the first of them.
    pub fn new(first: &Key, samples: &[ArgumentSpec], candidates: &[MetaValues], options: &TuneOptions) -> Places {
        let Key { source, target, specialization, .. } = first;
        let (types, metas, scalars) =
            (&specialization.type_args, &specialization.metas, specialization.fixed_scalars());
        let tolerance = (options.rtol, options.atol);
        let shared = format!("{source:016x} {target} {types:?} {metas:?} {scalars:?} {candidates:?} {tolerance:?}");
        let place = |extent: fn(i64) -> i64| {
            let layouts: Vec<String> = samples.iter().map(|sample| layout(sample, extent)).collect();
            object_cache::key(&[
                b"tuned",
                &FORMAT.to_le_bytes(),
                &EMITTER_VERSION.to_le_bytes(),
                env!("PYPTO_SOURCE_HASH").as_bytes(),
                shared.as_bytes(),
                layouts.join(", ").as_bytes(),
            ])
        };
        Places { exact: place(|extent| extent), class: place(class), candidates: candidates.len() }
    }

    /// The choice for exactly these arguments.
    pub fn exact(&self) -> Option<Kept> {
        self.read(&self.exact)
    }

    /// The choice for arguments about as large.
    pub fn of_class(&self) -> Option<Kept> {
        self.read(&self.class)
    }

    fn read(&self, key: &object_cache::Key) -> Option<Kept> {
        let kept: Kept = serde_json::from_slice(&object_cache().get(key)?).ok()?;
        let chosen = kept.outcomes.get(kept.chosen)?;
        (kept.outcomes.len() == self.candidates && chosen.best().is_some()).then_some(kept)
    }

    /// Keeps a choice that was measured for these arguments.
    pub fn keep(&self, kept: &Kept) {
        self.keep_exact(kept);
        write_to(&self.class, kept);
    }

    /// Keeps a choice that was found to be right for these arguments, too.
    pub fn keep_exact(&self, kept: &Kept) {
        write_to(&self.exact, kept);
    }
}

fn write_to(key: &object_cache::Key, kept: &Kept) {
    if let Ok(bytes) = serde_json::to_vec(kept) {
        object_cache().put(key, &bytes);
    }
}

/// Small extents count as they are, others by the power of two that they are at most.
fn class(extent: i64) -> i64 {
    match u64::try_from(extent) {
        Ok(extent) if extent > 16 => i64::try_from(extent.next_power_of_two()).unwrap_or(i64::MAX),
        _ => extent,
    }
}

/// Scalars that are part of the code stand in the key already; others change nothing but what is computed.
fn layout(sample: &ArgumentSpec, extent: fn(i64) -> i64) -> String {
    match sample {
        ArgumentSpec::Tensor { dtype, dims, .. } => {
            format!("{dtype}{:?}", dims.iter().map(|n| extent(*n)).collect::<Vec<_>>())
        }
        ArgumentSpec::Scalar { dtype, .. } => dtype.to_string(),
        ArgumentSpec::Unknown => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_of_about_the_same_size_are_one_class() {
        assert_eq!([1, 7, 16, 17, 32, 33, 1000, 1024, 1025].map(class), [1, 7, 16, 32, 32, 64, 1024, 1024, 2048]);
        assert_eq!(class(i64::MAX), i64::MAX);
        assert_eq!(class(-1), -1);
    }
}
