//! Runs passes in order: checks what each requires, times it, dumps and verifies after it, and tells whoever listens.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use super::dumps::DumpSink;
use super::dumps::Dumps;
use super::list::{Pass, PassContext, Property};
use crate::config::VerificationLevel;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity, codes};
use crate::ir::text::{PrintOptions, canonicalize, parse, print};
use crate::ir::{Program, verify};

/// Is told of every pass: to measure, to look for something, to stop a debugger at.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use pypto::ir::Program;
/// use pypto::passes::{list::Pass, manager::Instrument, pipeline::PassPipeline};
///
/// #[derive(Default)]
/// struct Sizes(Mutex<Vec<(&'static str, usize)>>);
///
/// impl Instrument for Sizes {
///     fn after(&self, pass: &'static Pass, program: &Program, _: std::time::Duration) {
///         self.0.lock().unwrap().push((pass.name, program.functions.len()));
///     }
/// }
///
/// let sizes = Arc::new(Sizes::default());
/// let pipeline = PassPipeline::shared().instrument(sizes.clone());
/// # let text = "program \"p\" entry @f\nfn @f incore (%0 \"x\": i64 in) {\n}\n";
/// pipeline.run(&mut pypto::ir::text::parse(text, "p")?)?;
/// assert_eq!(sizes.0.lock().unwrap()[0], ("inline", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Instrument: Send + Sync {
    /// The pass is about to run on the program.
    fn before(&self, pass: &'static Pass, program: &Program) {
        let _ = (pass, program);
    }

    /// The pass ran, for so long, and left this program; it is not yet verified.
    fn after(&self, pass: &'static Pass, program: &Program, duration: Duration) {
        let _ = (pass, program, duration);
    }
}

/// How to run passes.
#[derive(Clone, Debug)]
pub struct PassOptions {
    /// How the program, and the properties that passes establish, are checked before the first pass and after each.
    pub verify: VerificationLevel,
    pub dump: DumpSink,
    /// Whether dumps tell the place of every operation.
    pub locations: bool,
}

impl Default for PassOptions {
    /// Verifies in debug builds; no dumps.
    fn default() -> PassOptions {
        let verify = if cfg!(debug_assertions) { VerificationLevel::Basic } else { VerificationLevel::None };
        PassOptions { verify, dump: DumpSink::Nowhere, locations: true }
    }
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct PassReport {
    /// Per pass, in order, its name and time.
    pub timings: Vec<(&'static str, Duration)>,
    /// File names and texts, where dumps go to memory: of every pass that changed the program, and the index.
    pub dumps: Vec<(String, String)>,
}

/// Runs a fixed sequence of passes.
#[derive(Clone)]
pub struct PassManager {
    passes: Vec<&'static Pass>,
    context: PassContext,
    options: PassOptions,
    instruments: Vec<Arc<dyn Instrument>>,
    /// How many passes at the start the program has gone through already.
    passed: usize,
}

impl PassManager {
    /// A manager of these passes.
    pub fn new(passes: Vec<&'static Pass>, context: PassContext, options: PassOptions) -> PassManager {
        PassManager { passes, context, options, instruments: Vec::new(), passed: 0 }
    }

    /// With one more that is told of every pass.
    pub fn instrument(mut self, instrument: Arc<dyn Instrument>) -> PassManager {
        self.instruments.push(instrument);
        self
    }

    /// For a program that the first `count` passes have run on already, as a dump of it: only the others run.
    pub fn after_first(mut self, count: usize) -> PassManager {
        self.passed = count.min(self.passes.len());
        self
    }

    /// Runs all passes on the program.
    ///
    /// # Errors
    /// What a pass reports; a pass whose requirements no pass before it establishes; a program that a pass left
    /// invalid; a dump that cannot be written.
    pub fn run_passes(&self, program: &mut Program) -> Result<PassReport, Diagnostics> {
        let mut report = PassReport::default();
        let mut dumps = Dumps::new(&self.options.dump, PrintOptions { locations: self.options.locations });
        let ran = self.dumped_passes(program, &mut report, &mut dumps);
        // After a failure, too: that is when dumps are read.
        let dumped = dumps.finish().map_err(|message| unwritten(program, message));
        ran?;
        report.dumps = dumped?;
        Ok(report)
    }

    fn dumped_passes(
        &self,
        program: &mut Program,
        report: &mut PassReport,
        dumps: &mut Dumps<'_>,
    ) -> Result<(), Diagnostics> {
        let before = &self.passes[..self.passed];
        let mut established: BTreeSet<Property> = before.iter().flat_map(|pass| pass.establishes).copied().collect();
        let name = before.last().map_or("frontend", |pass| pass.name);
        self.after(name, self.passed, program, &established, dumps)?;
        for (index, pass) in self.passes.iter().enumerate().skip(self.passed) {
            if let Some(missing) = pass.requires.iter().find(|p| !established.contains(*p)) {
                let message =
                    format!("pass `{}` requires `{}`, which no pass before it establishes", pass.name, missing.name());
                return Err(internal(program, message).into());
            }
            self.instruments.iter().for_each(|i| i.before(pass, program));
            let start = Instant::now();
            (pass.run)(program, &self.context)?;
            let duration = start.elapsed();
            report.timings.push((pass.name, duration));
            self.instruments.iter().for_each(|i| i.after(pass, program, duration));
            established.extend(pass.establishes);
            self.after(pass.name, index + 1, program, &established, dumps)?;
        }
        Ok(())
    }

    fn after(
        &self,
        name: &str,
        number: usize,
        program: &Program,
        established: &BTreeSet<Property>,
        dumps: &mut Dumps<'_>,
    ) -> Result<(), Diagnostics> {
        dumps.after(name, number, program).map_err(|message| unwritten(program, message))?;
        if self.options.verify == VerificationLevel::None {
            return Ok(());
        }
        verify(program).map_err(|errors| noted(errors, &format!("found after pass `{name}`")))?;
        for property in established {
            if let Err(message) = property.check(program) {
                let message = format!("after pass `{name}`, `{}` does not hold: {message}", property.name());
                return Err(internal(program, message).into());
            }
        }
        if self.options.verify == VerificationLevel::Roundtrip {
            check_text(program, name).map_err(|message| internal(program, message))?;
        }
        Ok(())
    }
}

/// Checks that the program's text parses to the same program.
fn check_text(program: &Program, pass: &str) -> Result<(), String> {
    let text = print(program, PrintOptions::FULL);
    let parsed =
        parse(&text, "dump").map_err(|error| format!("after pass `{pass}`, the program's text is wrong: {error}"))?;
    let mut canonical = program.clone();
    canonicalize(&mut canonical);
    match parsed == canonical {
        true => Ok(()),
        false => Err(format!("after pass `{pass}`, the program's text parses to another program")),
    }
}

fn noted(errors: Diagnostics, note: &str) -> Diagnostics {
    Diagnostics(errors.0.into_iter().map(|e| e.note(note)).collect())
}

/// A dump that cannot be written.
fn unwritten(program: &Program, message: String) -> Diagnostic {
    internal(program, message).with_severity(Severity::Error)
}

/// A fault of the compiler, placed at the program's entry for want of a better place.
fn internal(program: &Program, message: String) -> Diagnostic {
    let nowhere = || crate::ir::Loc::new(crate::ir::FileId::intern(&program.name), 1, 1, 1, 1);
    let loc = program.functions.get(program.entry).map_or_else(nowhere, |f| f.loc);
    Diagnostic::error(codes::INTERNAL, loc, message, "while compiling this").with_severity(Severity::Internal)
}

#[cfg(test)]
mod tests {
    use super::super::list;
    use super::*;
    use crate::ir::text::parse;

    const TEXT: &str = "program \"p\" entry @f\nfn @f incore (%0 \"x\": i64 in) {\n  %1: i64 = add(%0, %0)\n}\n";

    fn run(passes: Vec<&'static Pass>) -> Result<PassReport, Diagnostics> {
        let options = PassOptions { verify: VerificationLevel::Roundtrip, dump: DumpSink::Memory, locations: true };
        let mut program = parse(TEXT, "test").unwrap();
        PassManager::new(passes, PassContext::default(), options).run_passes(&mut program)
    }

    #[test]
    fn a_missing_requirement_is_named() {
        let errors = run(vec![&list::PROVE_PARALLEL]).unwrap_err();
        assert_eq!(errors.0[0].title, "pass `prove_parallel` requires `inlined`, which no pass before it establishes");
    }

    #[test]
    fn dumps_are_numbered_and_parse() {
        let report = run(vec![&list::INLINE, &list::DCE]).unwrap();
        let names: Vec<&str> = report.dumps.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["00_frontend.ir", "02_after_dce.ir", "index.txt"]);
        assert!(report.dumps[..2].iter().all(|(name, text)| parse(text, name).is_ok()));
        assert!(!report.dumps[1].1.contains("add"));
        let index = &report.dumps[2].1;
        assert_eq!(index, "00 frontend: 00_frontend.ir\n01 inline: changed nothing\n02 dce: 02_after_dce.ir\n");
        assert_eq!(report.timings.len(), 2);
    }
}
