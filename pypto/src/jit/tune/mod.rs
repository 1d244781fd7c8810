//! `kernel.tune(space!{ TM: [16, 32, 64] }, &samples)`: which values of `meta(..)` parameters and `#[spec]` scalars make a
//! kernel fastest on this machine.
//!
//! Candidates are compiled at the same time and timed one at a time, in turn. The first that runs is the reference: whoever
//! differs from it by more than the tolerance is dropped. What was chosen is used where the program says so, by
//! [`Tuned::call`] or by `.with(tuned.meta())`, and nowhere else: a plain call runs the code that stands in the source, whatever
//! lies on disk, so that its results and its errors do not depend on what was tuned before.

mod arguments;
mod kept;
mod measure;
mod options;
mod report;
mod space;

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

pub use crate::runtime::tune_error::TuneError;
pub use options::TuneOptions;
pub use report::{Candidate, Outcome, TuneOrigin, TuneReport};
pub use space::Space;

use self::arguments::{Arguments, Ready};
use self::kept::{Kept, Places};
use super::cache;
use super::key::Key;
use super::meta::MetaValues;
use super::output::Output;
use super::sample::{Content, Samples};
use super::site::CallSite;
use crate::compile::Settings;
use crate::compile::parallel::in_parallel;
use crate::diagnostics::codes;
use crate::frontend::generic::Function;
use crate::frontend::specialization::{ArgumentSpec, ParamSpec};
use crate::golden::{Tolerance, compare};
use crate::ir::DType;
use crate::ir::report::observer::printed;
use crate::language::DynamicTensor;
use crate::language::argument::{Argument, CallArguments};
use crate::runtime::error::{Error, ErrorKind, Result};
use crate::runtime::pool::thread_count;

/// A kernel with the values that [`JitFn::tune`](crate::jit::JitFn::tune) chose; `O` is what it returns. `Display` says what
/// was chosen and why.
pub struct Tuned<O = ()> {
    function: &'static Function,
    types: &'static [DType],
    meta: MetaValues,
    scalars: Vec<(usize, u64)>,
    report: TuneReport,
    site: CallSite,
    output: PhantomData<fn() -> O>,
}

impl<O> Tuned<O> {
    /// All values: of `meta(..)` parameters and of `#[spec]` scalars.
    pub fn values(&self) -> &MetaValues {
        &self.report.chosen().values
    }

    /// The `meta(..)` parameters, also those that `.with(..)` fixed before: `softmax.with(tuned.meta())(&x, &mut y)`.
    pub fn meta(&self) -> MetaValues {
        self.meta.clone()
    }

    /// What was tried, and why this was chosen.
    pub fn report(&self) -> &TuneReport {
        &self.report
    }
}

impl<O: Output> Tuned<O> {
    /// Runs the kernel with the chosen values, specializing it at the first call with such arguments, as the function
    /// itself does: `tuned.call((&x, &mut y))`. A `#[spec]` scalar that was tuned has the chosen value, whatever is given.
    ///
    /// # Errors
    /// As a call of the function.
    pub fn call<A: CallArguments>(&self, arguments: A) -> Result<O> {
        arguments.with(|arguments| {
            for (index, bits) in &self.scalars {
                if let Some(Argument::Scalar(scalar)) = arguments.get_mut(*index) {
                    scalar.bits = *bits;
                }
            }
            cache::call(&self.site, self.function, self.types, Some(&self.meta), arguments)
        })
    }
}

impl<O> fmt::Display for Tuned<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report.fmt(f)
    }
}

impl<O> fmt::Debug for Tuned<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tuned").field(&self.report).finish()
    }
}

/// Chooses the fastest combination of a space, or finds the choice on disk.
pub(super) fn tune<O, S: Samples + ?Sized>(
    function: &'static Function,
    types: &'static [DType],
    base: Option<&MetaValues>,
    space: &Space,
    samples: &S,
    options: &TuneOptions,
) -> Result<Tuned<O>> {
    let candidates = space.candidates(function, types, options.limit)?;
    let task = Task::new(function, types, base, candidates, samples.samples(), options)?;
    let report = task.run(&samples.contents())?;
    let values = &report.chosen().values;
    Ok(Tuned {
        meta: space::metas(function, base, values),
        scalars: space::scalars(function, types, values),
        function,
        types,
        report,
        site: CallSite::new(),
        output: PhantomData,
    })
}

/// What is tuned, and for what.
struct Task<'t> {
    function: &'static Function,
    types: &'static [DType],
    candidates: Vec<MetaValues>,
    keys: Vec<Key>,
    samples: Vec<ArgumentSpec>,
    settings: Settings,
    options: &'t TuneOptions,
}

/// What became of a candidate, with the whole error.
type Tried = std::result::Result<Outcome, ErrorKind>;

impl<'t> Task<'t> {
    fn new(
        function: &'static Function,
        types: &'static [DType],
        base: Option<&MetaValues>,
        candidates: Vec<MetaValues>,
        samples: Vec<ArgumentSpec>,
        options: &'t TuneOptions,
    ) -> Result<Task<'t>> {
        let mut settings = Settings::of_calls()?;
        // Many variants are what is asked for.
        settings.disabled_warnings.push(codes::RECOMPILATION);
        let key = |candidate: &MetaValues| {
            let metas = space::metas(function, base, candidate);
            let samples = space::with_scalars(&samples, &space::scalars(function, types, candidate));
            cache::key(function, types, Some(&metas), &samples, &settings)
        };
        let keys: Vec<Key> = candidates.iter().map(key).collect::<Result<_>>()?;
        let samples = match (samples.is_empty(), keys.first()) {
            (true, Some(key)) => arguments::of_signature(function, types, &key.specialization),
            _ => samples,
        };
        Ok(Task { function, types, candidates, keys, samples, settings, options })
    }

    /// The choice: from disk, or measured.
    fn run(&self, contents: &[Option<&dyn Content>]) -> Result<TuneReport> {
        let kept = self.options.cache && self.settings.uses_cache();
        let places = self.keys.first().map(|first| Places::new(first, &self.samples, &self.candidates, self.options));
        let places = places.filter(|_| kept);
        if let Some(kept) = places.as_ref().and_then(Places::exact) {
            return Ok(self.report(kept, true));
        }
        let mut arguments = Arguments::new(self.function, &self.samples, contents)?;
        // What the kernel prints is printed by calls, not by trials.
        let (found, _) = printed(|| {
            if let Some(places) = &places
                && let Some(kept) = places.of_class().filter(|kept| self.is_right(kept, &mut arguments))
            {
                places.keep_exact(&kept);
                return Ok(self.report(kept, true));
            }
            let kept = self.measure(&mut arguments)?;
            if let Some(places) = &places {
                places.keep(&kept);
            }
            Ok(self.report(kept, false))
        });
        found
    }

    fn report(&self, kept: Kept, from_disk: bool) -> TuneReport {
        let Kept { arguments, outcomes, chosen } = kept;
        let candidates = self.candidates.iter().cloned().zip(outcomes);
        TuneReport {
            kernel: self.name(),
            arguments: self.arguments(),
            threads: self.settings.threads,
            origin: if from_disk { TuneOrigin::Disk { measured_for: arguments } } else { TuneOrigin::Measured },
            candidates: candidates.map(|(values, outcome)| Candidate { values, outcome }).collect(),
            chosen,
        }
    }

    /// Whether a choice for other extents compiles for these, and gives what the first candidate gives.
    fn is_right(&self, kept: &Kept, arguments: &mut Arguments<'_>) -> bool {
        let first = kept.outcomes.iter().position(|outcome| outcome.best().is_some()).unwrap_or(kept.chosen);
        let both = if first == kept.chosen { vec![first] } else { vec![first, kept.chosen] };
        let ready = in_parallel(&both, thread_count(), |index| self.prepare(*index));
        let mut reference = None;
        let outcomes = ready.into_iter().map(|ready| self.check(&ready.ok()?, arguments, &mut reference).ok());
        outcomes.into_iter().all(|outcome| matches!(outcome, Some(Outcome::Measured { .. })))
    }

    /// Compiles, checks and times every candidate.
    fn measure(&self, arguments: &mut Arguments<'_>) -> Result<Kept> {
        let indices: Vec<usize> = (0..self.candidates.len()).collect();
        let mut ready = in_parallel(&indices, thread_count(), |index| self.prepare(*index));
        let mut reference = None;
        let mut tried: Vec<Tried> = Vec::new();
        for ready in &mut ready {
            tried.push(match ready {
                Ok(ready) => self.check(ready, arguments, &mut reference).map_err(|error| error.kind().clone()),
                Err(error) => Err(error.kind().clone()),
            });
        }
        drop(reference);
        let alive: Vec<usize> =
            indices.into_iter().filter(|index| matches!(tried[*index], Ok(Outcome::Measured { .. }))).collect();
        let contenders: Vec<&Ready> = alive.iter().filter_map(|index| ready[*index].as_ref().ok()).collect();
        let measured = measure::measure(arguments, &contenders, self.options.time);
        for (index, samples) in alive.iter().zip(measured) {
            tried[*index] = samples.map(|samples| outcome_of(&samples));
        }
        self.choose(tried)
    }

    fn choose(&self, tried: Vec<Tried>) -> Result<Kept> {
        let best = |tried: &Tried| tried.as_ref().ok().and_then(Outcome::best).map(|time| time.as_secs_f64());
        let times: Vec<Option<f64>> = tried.iter().map(best).collect();
        let Some(chosen) = measure::choose(&times) else {
            let kernel = self.function.name.name.to_owned();
            let failures = self.candidates.iter().zip(tried).filter_map(|(c, t)| Some((report::values(c), t.err()?)));
            return Err(TuneError::NoneWorks { kernel, failures: failures.collect() }.into());
        };
        let outcome = |tried: Tried| tried.unwrap_or_else(|kind| Outcome::Failed { reason: reason(&kind) });
        Ok(Kept { arguments: self.arguments(), outcomes: tried.into_iter().map(outcome).collect(), chosen })
    }

    /// Compiles a candidate, or loads it from the cache; it is freed with the trial.
    fn prepare(&self, index: usize) -> Result<Ready> {
        let variant = cache::make(self.function, self.keys[index].clone(), &self.settings)?;
        Ok(Ready { variant, scalars: space::scalars(self.function, self.types, &self.candidates[index]) })
    }

    /// Runs a candidate once and compares what it gives with the reference, which the first one becomes.
    fn check(
        &self,
        candidate: &Ready,
        arguments: &mut Arguments<'_>,
        reference: &mut Option<Vec<(String, DynamicTensor)>>,
    ) -> Result<Outcome> {
        let (time, returned) = arguments.run(candidate, 1)?;
        let mut results = arguments.written(self.function);
        results.extend(returned.into_iter().enumerate().map(|(index, tensor)| (format!("result {index}"), tensor)));
        let Some(expected) = reference else {
            *reference = Some(results);
            return Ok(outcome_of(&[time.as_secs_f64()]));
        };
        for ((name, actual), (_, expected)) in results.iter().zip(expected.iter()) {
            let TuneOptions { rtol, atol, .. } = *self.options;
            let tolerance = Tolerance::of(expected.dtype()).with(rtol, atol);
            match compare(name, actual, expected, tolerance) {
                Ok(outcome) if outcome.passed() => {}
                Ok(outcome) => return Ok(Outcome::Differs { reason: first_line(&outcome.to_string()) }),
                Err(error) => return Ok(Outcome::Differs { reason: error.to_string() }),
            }
        }
        Ok(outcome_of(&[time.as_secs_f64()]))
    }

    /// The name of the kernel with its element types.
    fn name(&self) -> String {
        let types: Vec<&str> = self.types.iter().map(|dtype| dtype.name()).collect();
        let types = if types.is_empty() { String::new() } else { format!("<{}>", types.join(", ")) };
        format!("{}{types}", self.function.name.name)
    }

    /// The extents of the tensors, and the `#[spec]` scalars that are not tuned.
    fn arguments(&self) -> String {
        let tuned = |name: &str| self.candidates.first().is_some_and(|candidate| candidate.get(name).is_some());
        let fixed = self.keys.first().map(|key| key.specialization.params.as_slice()).unwrap_or_default();
        let params = self.function.params.iter().zip(&self.samples).zip(fixed);
        let described = params.filter_map(|((param, sample), fixed)| match (sample, fixed) {
            (ArgumentSpec::Tensor { dims, .. }, _) => Some(format!("{}: {dims:?}", param.name.name)),
            (_, ParamSpec::Scalar { value: Some(bits) }) if !tuned(param.name.name) => {
                Some(format!("{} = {bits:#x}", param.name.name))
            }
            _ => None,
        });
        described.collect::<Vec<_>>().join(", ")
    }
}

/// Samples, ascending, as an outcome.
fn outcome_of(samples: &[f64]) -> Outcome {
    let at = |index: usize| Duration::from_secs_f64(samples.get(index).copied().unwrap_or(0.0));
    Outcome::Measured { best: at(0), median: at(samples.len() / 2), samples: samples.len() }
}

/// An error in a line.
fn reason(kind: &ErrorKind) -> String {
    let error = Error::from(kind.clone());
    match error.diagnostics().first() {
        Some(diagnostic) => format!("{}: {}", diagnostic.code, diagnostic.title),
        None => first_line(&error.to_string()),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
