//! The vendor's assembler `ptoas`, which makes C++ of `.pto` files, where it is installed.
//!
//! It is found by `PTOAS_ROOT`, else on the `PATH`. Files are assembled side by side, each within a time limit; what it
//! made of a text is kept in the object cache, by the text, the arguments and the program itself. What it says about a
//! text is told at the line of Rust that the text is from ([`messages`]).

mod find;
mod messages;
mod run;

#[cfg(test)]
mod tests;

pub use find::Assembler;
pub use run::{DEFAULT_TIME_LIMIT, Failure};

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::codegen::ascend::{AscendArtifact, AscendKernel};
use crate::codegen::host::object_cache::{ObjectCache, key};
use crate::diagnostics::{Diagnostic, Diagnostics, codes};

/// How kernels are assembled.
#[derive(Clone, Copy, Debug)]
pub struct AssemblerOptions<'a> {
    /// Files that are assembled at a time; at least 1.
    pub threads: usize,
    /// How long one of them may take.
    pub time_limit: Duration,
    /// Where what was made is kept; nowhere without one.
    pub cache: Option<&'a ObjectCache>,
    /// Whether the assembler tells its own passes.
    pub dump_passes: bool,
}

/// What the assembler made of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    pub source: String,
    /// What it said meanwhile; a result that was kept has none.
    pub log: String,
}

/// Assembles every kernel; results are in their order, whichever ends first.
///
/// # Errors
/// For each kernel that the assembler refuses what it says, at the line that the text is from; an assembler that does not
/// start, or takes too long.
pub fn assemble(
    artifact: &AscendArtifact,
    assembler: &Assembler,
    options: AssemblerOptions<'_>,
) -> Result<Vec<Assembled>, Diagnostics> {
    let mut arguments = artifact.assembler_arguments();
    if options.dump_passes {
        arguments.push("--mlir-print-ir-after-all".to_owned());
    }
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Assembled, Failure>>>> =
        artifact.kernels.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        let work = || {
            while let Some(kernel) = artifact.kernels.get(next.fetch_add(1, Ordering::Relaxed)) {
                let number = artifact.kernels.iter().position(|other| std::ptr::eq(other, kernel)).unwrap_or(0);
                let result = one(kernel, assembler, &arguments, options);
                *results[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        for _ in 1..options.threads.clamp(1, artifact.kernels.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let mut problems = Diagnostics::default();
    let mut all = Vec::new();
    for (kernel, result) in artifact.kernels.iter().zip(results) {
        match result.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(assembled)) => all.push(assembled),
            Some(Err(failure)) => problems.push(diagnostic(artifact, kernel, assembler, &failure)),
            None => {}
        }
    }
    if problems.has_errors() { Err(problems.finish()) } else { Ok(all) }
}

fn one(
    kernel: &AscendKernel,
    assembler: &Assembler,
    arguments: &[String],
    options: AssemblerOptions<'_>,
) -> Result<Assembled, Failure> {
    // A dump is what the assembler says: it has to run.
    let cache = options.cache.filter(|_| !options.dump_passes);
    let key = key(&[b"ptoas", assembler.identity().as_bytes(), arguments.join(" ").as_bytes(), kernel.text.as_bytes()]);
    let kept = cache.and_then(|cache| cache.get(&key)).and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(source) = kept {
        return Ok(Assembled { source, log: String::new() });
    }
    let assembled = run::run(assembler.program(), &kernel.name, &kernel.text, arguments, options.time_limit)?;
    if let Some(cache) = cache {
        cache.put(&key, assembled.source.as_bytes());
    }
    Ok(assembled)
}

/// A failure at the place that it is about.
fn diagnostic(
    artifact: &AscendArtifact,
    kernel: &AscendKernel,
    assembler: &Assembler,
    failure: &Failure,
) -> Diagnostic {
    let function = artifact.program.functions.iter().find(|function| function.name == kernel.name);
    let whole = function.unwrap_or(artifact.program.entry_function()).loc;
    let title = format!("the assembler fails on kernel `{}`: {failure}", kernel.name);
    let Failure::Refused { text, .. } = failure else {
        return Diagnostic::error(codes::ASSEMBLER, whole, title, "this kernel")
            .note(format!("the assembler is {}", assembler.program().display()));
    };
    let messages = messages::read(text, kernel);
    let first = messages.iter().find(|message| message.is_error).or(messages.first());
    let mut diagnostic = match first {
        Some(message) => {
            let title = format!("the assembler refuses kernel `{}`: {}", kernel.name, message.text);
            Diagnostic::error(codes::ASSEMBLER, message.loc.unwrap_or(whole), title, "what this became")
        }
        None => Diagnostic::error(codes::ASSEMBLER, whole, title, "this kernel"),
    };
    for message in messages.iter().filter(|message| Some(*message) != first) {
        if let Some(loc) = message.loc {
            diagnostic = diagnostic.label(loc, message.text.clone());
        }
    }
    diagnostic.note(format!("{} says:\n{}", assembler.program().display(), text.trim_end()))
}
