//! Specializations in memory and on disk.
//!
//! In memory: a map that calls read without waiting for one another, and one compilation a key, for which other threads
//! with the same key wait. On disk: bytes under the key's digest; a damaged or unreadable entry counts as a miss.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use smallvec::SmallVec;

use super::check::{check_sizes, loc};
use super::compiled;
use super::events::{self, Event, Origin};
use super::key::{Component, Key};
use super::meta::MetaValues;
use super::output::Output;
use super::site::CallSite;
use super::variant::Variant;
use crate::artifact::{CompiledProgram, packed};
use crate::codegen::host::emit_llvm::EMITTER_VERSION;
use crate::codegen::host::object_cache::{self, object_cache};
use crate::compile::{self, Compilation, Settings};
use crate::diagnostics::{Diagnostic, Severity, codes};
use crate::frontend::generic::Function;
use crate::frontend::specialization::{ArgumentSpec, ParamSpec, Specialization};
use crate::ir::DType;
use crate::ir::report::observer::is_recording;
use crate::language::argument::Argument;
use crate::runtime::error::{Error, Result};
use crate::runtime::pool::thread_count;
use crate::runtime::program::HostProgram;
use crate::runtime::recording::Execution;

/// From this many variants of a kernel on, each further power of two is worth a warning.
const MANY_VARIANTS: usize = 16;

/// All variants of this process.
#[derive(Default)]
struct Memory {
    /// By a hash of function and arguments; hashes may collide.
    variants: RwLock<HashMap<u64, Vec<&'static Variant>>>,
    /// Compilations that are going on.
    flights: Mutex<HashMap<Key, Arc<Mutex<()>>>>,
    /// The variants of each function, by its address.
    histories: Mutex<HashMap<usize, History>>,
}

/// What was compiled for a function so far.
#[derive(Default)]
struct History {
    variants: usize,
    last: Option<Key>,
    /// The values that each component took. How often it changed would tell less: of two components that vary, one may
    /// alternate between two values while the other takes a new one each time.
    taken: HashMap<String, HashSet<String>>,
}

fn memory() -> &'static Memory {
    static MEMORY: OnceLock<Memory> = OnceLock::new();
    MEMORY.get_or_init(Memory::default)
}

/// The variant for a call: from memory, from disk, or compiled now.
///
/// # Errors
/// Arguments that do not fit the signature; what is wrong in the kernel.
#[cold]
pub fn find(
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    arguments: &[Argument<'_>],
) -> Result<&'static Variant> {
    let hash = hash(function, types, meta, arguments.iter().map(Selecting::of_argument));
    let checkpoints = is_recording();
    let fits = |v: &Variant| v.key.checkpoints == checkpoints && v.fits(function, types, meta, arguments);
    if let Some(variant) = look_up(hash, fits) {
        events::count(&events::FOUND);
        return Ok(variant);
    }
    let samples: Vec<ArgumentSpec> = arguments.iter().map(argument_spec).collect();
    let settings = Settings::of_calls()?;
    let key = key(function, types, meta, &samples, &settings)?;
    find_or_make(function, hash, key, &settings)
}

/// Runs the variant for a call, which the call site may know already.
///
/// # Errors
/// As [`find`]; a run-time check that failed.
#[inline]
pub fn call<O: Output>(
    site: &CallSite,
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    arguments: &mut [Argument<'_>],
) -> Result<O> {
    let known = site.last().filter(|variant| variant.key.checkpoints == is_recording());
    if let Some(variant) = known
        && variant.fits_at_once(function, types, meta, arguments)
    {
        return compiled::call_checked(variant, arguments);
    }
    let variant = match known {
        Some(variant) if variant.fits(function, types, meta, arguments) => variant,
        _ => {
            let variant = find(function, types, meta, arguments)?;
            site.set(variant);
            variant
        }
    };
    compiled::call(variant, arguments, Execution::on(thread_count()))
}

/// The variant that calls with arguments of such layouts will find, made now if it is not there.
///
/// # Errors
/// As [`find`].
pub fn prepare(
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    samples: &[ArgumentSpec],
) -> Result<&'static Variant> {
    let settings = Settings::of_calls()?;
    let key = key(function, types, meta, samples, &settings)?;
    // What the signature tells is in the specialization, but not in the samples.
    let hash = hash(function, types, meta, key.specialization.params.iter().map(Selecting::of_specialized));
    find_or_make(function, hash, key, &settings)
}

/// The variant of a key: made once, however many threads ask for it.
fn find_or_make(function: &'static Function, hash: u64, key: Key, settings: &Settings) -> Result<&'static Variant> {
    let same = |v: &Variant| v.key == key && std::ptr::eq(v.function, function);
    if let Some(variant) = look_up(hash, same) {
        events::count(&events::FOUND);
        return Ok(variant);
    }
    let flights = || memory().flights.lock().unwrap_or_else(PoisonError::into_inner);
    let flight = flights().entry(key.clone()).or_default().clone();
    let _landing = flight.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(variant) = look_up(hash, same) {
        events::count(&events::WAITED);
        return Ok(variant);
    }
    let variant = make(function, key.clone(), settings);
    flights().remove(&key);
    let variant: &'static Variant = Box::leak(Box::new(variant?));
    memory().variants.write().unwrap_or_else(PoisonError::into_inner).entry(hash).or_default().push(variant);
    Ok(variant)
}

fn look_up(hash: u64, fits: impl Fn(&Variant) -> bool) -> Option<&'static Variant> {
    let variants = memory().variants.read().unwrap_or_else(PoisonError::into_inner);
    variants.get(&hash)?.iter().copied().find(|v| fits(v))
}

/// What specialization looks at in an argument.
pub fn argument_spec(argument: &Argument<'_>) -> ArgumentSpec {
    match argument {
        Argument::Tensor(t) => {
            ArgumentSpec::Tensor { dtype: t.dtype, dims: t.dims().to_vec(), contiguous: t.is_contiguous() }
        }
        Argument::Scalar(s) => ArgumentSpec::Scalar { dtype: s.dtype, bits: s.bits },
    }
}

/// What may select a variant in one argument: extents, or bits. A `dyn` extent may be missing.
enum Selecting {
    Tensor(SmallVec<[Option<i64>; 6]>),
    Scalar(Option<u64>),
}

impl Selecting {
    fn of_argument(argument: &Argument<'_>) -> Selecting {
        match argument {
            Argument::Tensor(t) => Selecting::Tensor(t.dims().iter().copied().map(Some).collect()),
            Argument::Scalar(s) => Selecting::Scalar(Some(s.bits)),
        }
    }

    fn of_specialized(param: &ParamSpec) -> Selecting {
        match param {
            ParamSpec::Tensor { dims, .. } => Selecting::Tensor(dims.iter().copied().collect()),
            ParamSpec::Scalar { value } => Selecting::Scalar(*value),
        }
    }
}

/// A hash of everything that selects a variant; `dyn` extents and plain scalars do not count.
fn hash(
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    arguments: impl Iterator<Item = Selecting>,
) -> u64 {
    use crate::frontend::generic::Dim;
    let mut state = DefaultHasher::new();
    (std::ptr::from_ref(function) as usize).hash(&mut state);
    types.hash(&mut state);
    for m in function.metas {
        meta.and_then(|given| given.get(m.name.name)).unwrap_or(m.default).hash(&mut state);
    }
    for (param, argument) in function.params.iter().zip(arguments) {
        match argument {
            Selecting::Tensor(dims) => {
                for (axis, extent) in dims.iter().enumerate() {
                    if !matches!(param.shape.get(axis), Some(Dim::Name { dynamic: true, .. })) {
                        extent.hash(&mut state);
                    }
                }
            }
            Selecting::Scalar(bits) if param.spec => bits.hash(&mut state),
            Selecting::Scalar(_) => {}
        }
    }
    state.finish()
}

/// The key of a call or of samples.
///
/// # Errors
/// Arguments that do not fit the signature.
pub fn key(
    function: &'static Function,
    types: &[DType],
    meta: Option<&MetaValues>,
    samples: &[ArgumentSpec],
    settings: &Settings,
) -> Result<Key> {
    let metas: Vec<(&str, i64)> = meta.into_iter().flat_map(MetaValues::iter).collect();
    check_sizes(function, samples).map_err(Error::call)?;
    let specialization = Specialization::for_call(function, types, samples, &metas).map_err(Error::call)?;
    let target = compile::engine(settings.platform).identity(settings.threads);
    Ok(Key::new(function, specialization, target).with_checkpoints(settings.checkpoints))
}

/// Loads the variant from disk, or compiles it and stores it there.
///
/// # Errors
/// What is wrong in the kernel.
pub fn make(function: &'static Function, key: Key, settings: &Settings) -> Result<Variant> {
    let start = Instant::now();
    let Ready { host, origin, .. } = ready(function, &key, settings)?;
    Ok(finish(function, key, host, origin, start, settings))
}

/// As [`make`], with the executable kept as an artifact.
///
/// # Errors
/// What is wrong in the kernel; an artifact that cannot be written.
pub fn make_artifact(function: &'static Function, key: Key, settings: &Settings) -> Result<(Variant, CompiledProgram)> {
    let start = Instant::now();
    let Ready { artifact, host, origin } = ready(function, &key, settings)?;
    Ok((finish(function, key, host, origin, start, settings), artifact))
}

/// An artifact that was loaded.
struct Ready {
    artifact: CompiledProgram,
    host: Arc<HostProgram>,
    origin: Origin,
}

fn ready(function: &'static Function, key: &Key, settings: &Settings) -> Result<Ready> {
    let load = |artifact: CompiledProgram, origin| {
        let host = artifact.load()?.host.clone();
        Ok(Ready { artifact, host, origin })
    };
    let on_disk = if settings.uses_cache() { from_disk(key, settings) } else { None };
    // An entry that cannot be loaded is a miss.
    match on_disk.and_then(|artifact| load(artifact, Origin::DiskCache).ok()) {
        Some(ready) => Ok(ready),
        None => load(compile_now(function, key, settings)?.artifact, Origin::Compiled),
    }
}

/// Counts the variant and tells of it.
fn finish(
    function: &'static Function,
    key: Key,
    host: Arc<HostProgram>,
    origin: Origin,
    start: Instant,
    settings: &Settings,
) -> Variant {
    events::count(if origin == Origin::Compiled { &events::COMPILED } else { &events::LOADED });
    let variant = Variant::new(function, key, host);
    let mut event = Event {
        key: variant.key.clone(),
        origin,
        duration: start.elapsed(),
        variants: 0,
        changes: Vec::new(),
        warning: None,
    };
    remember(function, &mut event, settings.warns(codes::RECOMPILATION));
    events::publish(&event);
    variant
}

/// Where the executable of a key lies on disk.
fn disk_key(key: &Key) -> object_cache::Key {
    object_cache::key(&[
        b"executable",
        &packed::FORMAT.to_le_bytes(),
        &EMITTER_VERSION.to_le_bytes(),
        env!("PYPTO_SOURCE_HASH").as_bytes(),
        key.digest().as_bytes(),
    ])
}

/// What is on disk for a key.
pub(super) fn from_disk(key: &Key, settings: &Settings) -> Option<CompiledProgram> {
    let executable = packed::from_bytes(&object_cache().get(&disk_key(key))?)?;
    let machine = compile::engine(settings.platform).machine();
    let fixed = key.specialization.fixed_scalars();
    Some(CompiledProgram::of_build(executable, settings.platform, machine, None, &fixed))
}

/// Compiles, and stores what came of it where the settings use the cache.
pub(super) fn compile_now(function: &'static Function, key: &Key, settings: &Settings) -> Result<Compilation> {
    let compilation = compile::compile_specialization(function, &key.specialization, settings)?;
    events::fallbacks(key, &compilation.fallbacks);
    if settings.uses_cache()
        && let Some(bytes) = packed::to_bytes(compilation.artifact.executable())
    {
        object_cache().put(&disk_key(key), &bytes);
    }
    Ok(compilation)
}

/// Compares the key with the one before, and `warns` where variants multiply.
fn remember(function: &'static Function, event: &mut Event, warns: bool) {
    let mut histories = memory().histories.lock().unwrap_or_else(PoisonError::into_inner);
    let history = histories.entry(std::ptr::from_ref(function) as usize).or_default();
    history.variants += 1;
    event.variants = history.variants;
    if let Some(last) = history.last.replace(event.key.clone()) {
        event.changes = event.key.changes_from(&last);
    }
    let components = event.key.components();
    for component in &components {
        history.taken.entry(component.what.clone()).or_default().insert(component.value.clone());
    }
    if warns && history.variants >= MANY_VARIANTS && history.variants.is_power_of_two() {
        event.warning = Some(many_variants(function, history, &components));
    }
}

fn many_variants(function: &'static Function, history: &History, components: &[Component]) -> Diagnostic {
    let count = |name: &str| history.taken.get(name).map_or(0, HashSet::len);
    // Among equals the first one.
    let most = components.iter().rev().max_by_key(|c| count(&c.what));
    let (what, place) = most.map_or(("its key", None), |c| (c.what.as_str(), c.dim));
    let (name, variants, values) = (function.name.name, history.variants, count(what));
    let title = format!("`{name}` was compiled in {variants} variants; {what} took {values} values");
    let span = place.map_or(function.name.span, |(param, _)| function.params[param].ty_span);
    let warning = Diagnostic::error(codes::RECOMPILATION, loc(function, span), title, "part of the key")
        .with_severity(Severity::Warning);
    match place {
        Some(_) => warning.help(format!("if one version can serve every extent, mark it: `#[shape(dyn {what}, ..)]`")),
        None => warning,
    }
}
