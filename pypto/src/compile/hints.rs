//! Hints on performance: what a compilation found that costs time, and where. `report/perf_hints.log` has one a line.
//!
//! PH001, PH002 and PH004 to PH007 tell facts of the code, which are known once it is made. PH003 tells one of a program, and the phase of the
//! settings says which: as it was written, after each of the passes, or after all of them.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::accelerator_hints;
use super::host::Fallback;
use crate::artifact::{HostExecutable, KernelCode};
use crate::ir::{Block, Function, IndexExpr, Loc, LoopKind, Program, Type};
use crate::ops::OpKind;
use crate::passes::list::Pass;
use crate::passes::manager::Instrument;

/// The kinds of hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintCode {
    /// PH001: a kernel runs by the interpreter although machine code was asked for.
    Interpreted,
    /// PH002: a kernel that takes long runs on one thread.
    Serial,
    /// PH003: a kernel only copies.
    Copy,
    /// PH004: a kernel leaves cores of an accelerator without work.
    IdleCores,
    /// PH005: an accelerator waits for memory longer than it transfers.
    SmallTiles,
    /// PH006: a value goes through global memory between two kernels of an accelerator that could be one.
    RoundTrip,
    /// PH007: the stages of a `pipeline` loop change nothing.
    Pipeline,
}

impl HintCode {
    /// Every kind, in order of codes.
    pub const ALL: [HintCode; 7] = [
        HintCode::Interpreted,
        HintCode::Serial,
        HintCode::Copy,
        HintCode::IdleCores,
        HintCode::SmallTiles,
        HintCode::RoundTrip,
        HintCode::Pipeline,
    ];

    /// `PH001` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            HintCode::Interpreted => "PH001",
            HintCode::Serial => "PH002",
            HintCode::Copy => "PH003",
            HintCode::IdleCores => "PH004",
            HintCode::SmallTiles => "PH005",
            HintCode::RoundTrip => "PH006",
            HintCode::Pipeline => "PH007",
        }
    }

    /// The kind of a code.
    pub fn parse(text: &str) -> Option<HintCode> {
        HintCode::ALL.into_iter().find(|code| code.name().eq_ignore_ascii_case(text))
    }

    const fn title(self) -> &'static str {
        match self {
            HintCode::Interpreted => "interpreted kernel",
            HintCode::Serial => "serial kernel",
            HintCode::Copy => "copy",
            HintCode::IdleCores => "idle cores",
            HintCode::SmallTiles => "small tiles",
            HintCode::RoundTrip => "round trip",
            HintCode::Pipeline => "pipeline",
        }
    }
}

/// Something that costs time. `Display` is its line: `[perf_hint PH002] serial kernel: .. at file:line:column`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    pub code: HintCode,
    pub text: String,
    pub loc: Loc,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[perf_hint {}] {}: {} at {}", self.code.name(), self.code.title(), self.text, self.loc)
    }
}

/// Nanoseconds from which on more threads would pay.
const LONG: f64 = 50_000.0;

/// What costs time in the code of an executable, in order of kernels.
pub fn code_hints(executable: &HostExecutable, fallbacks: &[Fallback]) -> Vec<Hint> {
    let mut all = Vec::new();
    for kernel in &executable.kernels {
        let function = executable.program.functions.iter().find(|function| function.name == kernel.name);
        let Some(function) = function else { continue };
        let mut hint = |code, text, loc| all.push(Hint { code, text, loc });
        if let Some(Fallback { reason, .. }) = fallbacks.iter().find(|fallback| fallback.kernel == kernel.name) {
            let text = format!("`{}` runs by the interpreter: {reason}", kernel.name);
            hint(HintCode::Interpreted, text, function.loc);
        }
        let native = kernel.code != KernelCode::Interpreted;
        if native && kernel.iterations == IndexExpr::Const(1) && kernel.cost > LONG {
            let (name, time) = (&kernel.name, kernel.cost / 1e3);
            let text =
                format!("`{name}` takes about {time:.0} us on one thread: no outermost loop is known as parallel");
            hint(HintCode::Serial, text, function.loc);
        }
    }
    if let Some(accelerator) = &executable.accelerator {
        all.extend(accelerator_hints::hints(&accelerator.artifact));
    }
    for function in &executable.program.functions {
        for (stages, loc) in pipelines(&function.body) {
            let text = format!(
                "the {stages} stages of a loop of `{}` change nothing: no target starts loads early",
                function.name
            );
            all.push(Hint { code: HintCode::Pipeline, text, loc });
        }
    }
    all
}

/// The loops of a block with more than one stage, and their numbers of stages.
fn pipelines(block: &Block) -> Vec<(u32, Loc)> {
    let mut found = Vec::new();
    for op in &block.ops {
        match op.attrs.loop_kind() {
            LoopKind::Pipeline(stages) if op.kind == OpKind::For && stages > 1 => found.push((stages, op.loc)),
            _ => {}
        }
        found.extend(op.regions.iter().flat_map(pipelines));
    }
    found
}

/// The functions of a program that only copy.
pub fn copies(program: &Program) -> Vec<Hint> {
    let found = program.functions.iter().filter_map(|function| {
        let text = format!("`{}` only copies from one tensor to another", function.name);
        Some(Hint { code: HintCode::Copy, text, loc: only_copies(function)? })
    });
    found.collect()
}

/// Looks for copies after every pass; tells each function once, with the first pass that left it so.
#[derive(Default)]
pub struct CopyWatch {
    found: Mutex<Vec<Hint>>,
}

impl CopyWatch {
    /// What was found.
    pub fn hints(&self) -> Vec<Hint> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Instrument for CopyWatch {
    fn after(&self, pass: &'static Pass, program: &Program, _: Duration) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for mut hint in copies(program) {
            if found.iter().all(|known| !known.text.starts_with(&hint.text)) {
                hint.text += &format!(" after pass `{}`", pass.name);
                found.push(hint);
            }
        }
    }
}

/// Where a function stores, if all that it stores is what it loads.
fn only_copies(function: &Function) -> Option<Loc> {
    fn look(function: &Function, block: &Block, loads: &mut bool, store: &mut Option<Loc>) -> bool {
        block.ops.iter().all(|op| {
            match op.kind {
                OpKind::Load => *loads = true,
                OpKind::Store => *store = store.or(Some(op.loc)),
                // Another tile than a loaded one is computed.
                _ if op.results.iter().any(|value| matches!(function.ty(*value), Type::Tile(_))) => return false,
                _ => {}
            }
            op.regions.iter().all(|region| look(function, region, loads, store))
        })
    }
    let (mut loads, mut store) = (false, None);
    let copies = look(function, &function.body, &mut loads, &mut store);
    store.filter(|_| copies && loads)
}
