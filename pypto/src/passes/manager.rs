//! Runs passes in order: checks what each requires, times it, dumps and verifies after it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::list::{Pass, PassContext, Property};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity, codes};
use crate::ir::text::{PrintOptions, print};
use crate::ir::{Program, verify};

/// Where dumps go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DumpSink {
    /// No dumps.
    #[default]
    Nowhere,
    /// Into [`PassReport::dumps`].
    Memory,
    /// Into files `00_frontend.pto.ir`, `01_inline.pto.ir`, .. of a directory, which is made where missing.
    Directory(PathBuf),
}

/// How to run passes.
#[derive(Clone, Debug)]
pub struct PassOptions {
    /// Check the program, and the properties that passes establish, before the first pass and after each.
    pub verify: bool,
    pub dump: DumpSink,
}

impl Default for PassOptions {
    /// Verifies in debug builds; no dumps.
    fn default() -> PassOptions {
        PassOptions { verify: cfg!(debug_assertions), dump: DumpSink::Nowhere }
    }
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct PassReport {
    /// Per pass, in order, its name and time.
    pub timings: Vec<(&'static str, Duration)>,
    /// File names and texts, where dumps go to memory.
    pub dumps: Vec<(String, String)>,
}

/// Runs a fixed sequence of passes.
#[derive(Clone, Debug)]
pub struct PassManager {
    passes: Vec<&'static Pass>,
    context: PassContext,
    options: PassOptions,
}

impl PassManager {
    /// A manager of these passes.
    pub fn new(passes: Vec<&'static Pass>, context: PassContext, options: PassOptions) -> PassManager {
        PassManager { passes, context, options }
    }

    /// Runs all passes on the program.
    ///
    /// # Errors
    /// What a pass reports; a pass whose requirements no pass before it establishes; a program that a pass left
    /// invalid; a dump that cannot be written.
    pub fn run(&self, program: &mut Program) -> Result<PassReport, Diagnostics> {
        let mut report = PassReport::default();
        let mut established = BTreeSet::new();
        self.after("frontend", 0, program, &established, &mut report)?;
        for (index, pass) in self.passes.iter().enumerate() {
            if let Some(missing) = pass.requires.iter().find(|p| !established.contains(*p)) {
                let message =
                    format!("pass `{}` requires `{}`, which no pass before it establishes", pass.name, missing.name());
                return Err(internal(program, message).into());
            }
            let start = Instant::now();
            (pass.run)(program, &self.context)?;
            report.timings.push((pass.name, start.elapsed()));
            established.extend(pass.establishes);
            self.after(pass.name, index + 1, program, &established, &mut report)?;
        }
        Ok(report)
    }

    fn after(
        &self,
        name: &str,
        number: usize,
        program: &Program,
        established: &BTreeSet<Property>,
        report: &mut PassReport,
    ) -> Result<(), Diagnostics> {
        self.dump(name, number, program, report)?;
        if !self.options.verify {
            return Ok(());
        }
        verify(program).map_err(|errors| noted(errors, &format!("found after pass `{name}`")))?;
        for property in established {
            if let Err(message) = property.check(program) {
                let message = format!("after pass `{name}`, `{}` does not hold: {message}", property.name());
                return Err(internal(program, message).into());
            }
        }
        Ok(())
    }

    fn dump(&self, name: &str, number: usize, program: &Program, report: &mut PassReport) -> Result<(), Diagnostics> {
        let file = format!("{number:02}_{name}.pto.ir");
        match &self.options.dump {
            DumpSink::Nowhere => {}
            DumpSink::Memory => report.dumps.push((file, print(program, PrintOptions::FULL))),
            DumpSink::Directory(directory) => {
                let path = directory.join(file);
                let text = print(program, PrintOptions::FULL);
                std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, text)).map_err(|error| {
                    internal(program, format!("cannot write dump `{}`: {error}", path.display()))
                        .with_severity(Severity::Error)
                })?;
            }
        }
        Ok(())
    }
}

fn noted(errors: Diagnostics, note: &str) -> Diagnostics {
    Diagnostics(errors.0.into_iter().map(|e| e.note(note)).collect())
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
        let options = PassOptions { verify: true, dump: DumpSink::Memory };
        let mut program = parse(TEXT, "test").unwrap();
        PassManager::new(passes, PassContext::default(), options).run(&mut program)
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
        assert_eq!(names, ["00_frontend.pto.ir", "01_inline.pto.ir", "02_dce.pto.ir"]);
        assert!(report.dumps.iter().all(|(name, text)| parse(text, name).is_ok()));
        assert!(!report.dumps[2].1.contains("add"));
        assert_eq!(report.timings.len(), 2);
    }
}
