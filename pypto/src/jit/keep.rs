//! Kernels in the cache on disk, for calls of other processes.

use std::time::Instant;

use super::cache::{compile_now, from_disk, key};
use super::fingerprint::is_of_this_program;
use super::key::Key;
use super::meta::MetaValues;
use super::warmed::{WarmState, Warmed};
use crate::artifact::KernelCode;
use crate::compile::{Compilation, Settings};
use crate::frontend::generic::Function;
use crate::frontend::specialization::ArgumentSpec;
use crate::ir::DType;
use crate::runtime::error::Result;

/// Puts the variant that calls with such arguments will look for on disk, unless it is there. It does not get into memory.
///
/// # Errors
/// Arguments that do not fit the signature; what is wrong in the kernel.
pub fn keep(
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    samples: &[ArgumentSpec],
) -> Result<Warmed> {
    let settings = Settings::of_calls()?;
    let key = key(function, types, meta, samples, &settings)?;
    let start = Instant::now();
    let found = settings.uses_cache() && from_disk(&key, &settings).is_some_and(|artifact| artifact.load().is_ok());
    let state = if found { WarmState::Found } else { made(function, &key, &settings)? };
    let state = match state {
        WarmState::Compiled | WarmState::Found if is_of_this_program(function) => {
            let reason = "`comptime!` runs code of the program, so each program has a kernel of its own";
            WarmState::NotKept(reason.to_owned())
        }
        _ => state,
    };
    Ok(Warmed { kernel: key.signature(), state, milliseconds: start.elapsed().as_secs_f64() * 1e3 })
}

/// Compiles, and tells whether a call will find it.
fn made(function: &'static Function, key: &Key, settings: &Settings) -> Result<WarmState> {
    let Compilation { artifact, fallbacks, .. } = compile_now(function, key, settings)?;
    let interpreted = artifact.executable().kernels.iter().any(|kernel| matches!(kernel.code, KernelCode::Interpreted));
    Ok(if !settings.uses_cache() {
        WarmState::NotKept("calls do not use the cache in this environment".to_owned())
    } else if let Some(fallback) = fallbacks.first() {
        WarmState::NotKept(format!("`{}` runs by the interpreter: {}", fallback.kernel, fallback.reason))
    } else if interpreted {
        WarmState::NotKept("the interpreter runs it".to_owned())
    } else if from_disk(key, settings).is_none() {
        WarmState::NotKept("the cache's directory cannot be written, or others may write to it".to_owned())
    } else {
        WarmState::Compiled
    })
}
