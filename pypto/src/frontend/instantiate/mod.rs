//! Instantiation: a function's generic IR, walked with concrete extents and element types, becomes an [`ir::Program`].
//!
//! The walk evaluates. Whatever is known folds; the rest becomes operations, whose types follow from the op table. There is
//! no type inference beyond one case: values whose element type Rust infers from a later use (`Tile::zeros([64, 64])`,
//! `let mut i = 0`) start with a default, and when they meet another type the walk is repeated with that type.
//!
//! A construct that is wrong is reported and evaluates to poison, which silently passes through everything that uses it;
//! so one walk reports all independent errors.

mod arrays;
mod assigned;
mod associated;
mod branch;
mod call;
mod carried;
mod coerce;
mod expression;
mod frame;
mod inference;
mod intrinsic;
mod iteration;
mod layout;
mod loops;
mod matmul;
mod method;
mod operator;
mod output;
mod place;
mod printing;
mod rule_message;
mod scalar;
mod scope;
mod signature;
mod statement;
mod structs;
mod tensor;
mod value;

use std::collections::{HashMap, HashSet};

use super::generic::{Function, Span};
use super::specialization::Specialization;
use super::static_print::{self, Printed};
use crate::diagnostics::{Code, Diagnostic, Diagnostics, codes};
use crate::ir::builder::Builder;
use crate::ir::{self, FileId, Loc, ValueId};
use crate::ops::rules::RuleError;
use frame::Frame;
use inference::Inference;
use rule_message::Site;
use scope::Scope;
pub use signature::describe;

/// How often a walk may be repeated because an element type became known; each repetition settles at least one.
const MAX_WALKS: usize = 64;

/// Builds the program of a function for given extents and element types: the function itself, first, and every function
/// that it calls as a task.
///
/// # Errors
/// All independent errors in the kernel (PTO02xx, PTO03xx), in source order.
pub fn instantiate(function: &'static Function, spec: &Specialization) -> Result<ir::Program, Diagnostics> {
    let mut unit = Unit::default();
    for _ in 0..MAX_WALKS {
        unit.start();
        let entry = unit.function(function, spec);
        if unit.inference.changed() {
            continue;
        }
        let Unit { problems, slots, printed, .. } = unit;
        static_print::publish(&printed);
        if entry.is_ok() && problems.is_empty() {
            let functions = slots.into_iter().flatten().collect();
            return Ok(ir::Program { name: function.name.name.to_owned(), functions, entry: 0 });
        }
        return Err(problems.finish().with_note(&describe(function, spec)));
    }
    let loc = function.name.span.loc(FileId::intern(function.file));
    Err(Diagnostic::error(codes::INTERNAL, loc, "element types do not settle", "in this function").into())
}

/// A diagnostic has been reported, and the value is poison.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Flow<T> = Result<T, Reported>;

/// The program under construction.
#[derive(Default)]
struct Unit {
    /// The entry first. A function is `None` while it is being built.
    slots: Vec<Option<ir::Function>>,
    instances: HashMap<(*const Function, Specialization), usize>,
    names: HashSet<String>,
    problems: Diagnostics,
    /// What `static_print!` said.
    printed: Vec<Printed>,
    inference: Inference,
    /// Functions being walked, outermost first, against recursion.
    active: Vec<*const Function>,
}

impl Unit {
    /// Forgets everything but the inferred types.
    fn start(&mut self) {
        let mut inference = std::mem::take(&mut self.inference);
        inference.start();
        *self = Unit { inference, ..Unit::default() };
    }

    /// The instance of a function, built on first use: its position in the program.
    fn function(&mut self, function: &'static Function, spec: &Specialization) -> Flow<usize> {
        let key = (std::ptr::from_ref(function), spec.clone());
        if let Some(index) = self.instances.get(&key) {
            return self.slots[*index].as_ref().map(|_| *index).ok_or(Reported);
        }
        let index = self.slots.len();
        self.slots.push(None);
        self.instances.insert(key, index);
        let name = self.unique_name(function.name.name);
        self.active.push(function);
        let built = signature::walk(self, function, spec, name);
        self.active.pop();
        self.slots[index] = Some(built?);
        Ok(index)
    }

    /// The function's own name, numbered from its second instance on.
    fn unique_name(&mut self, name: &str) -> String {
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|n| !self.names.contains(n));
        let free = free.unwrap_or_else(|| name.to_owned());
        self.names.insert(free.clone());
        free
    }
}

impl Unit {
    /// A function that has been built, by its name in the program.
    fn built(&self, name: &str) -> Option<&ir::Function> {
        self.slots.iter().flatten().find(|f| f.name == name)
    }
}

/// Walks one function, with the inline functions that it calls.
struct Walker<'u> {
    unit: &'u mut Unit,
    builder: Builder,
    scope: Scope,
    /// The function and the inline calls that are being expanded, outermost first; never empty.
    frames: Vec<Frame>,
    /// Values whose element type is a guess, with the place of the expression that makes it.
    guesses: HashMap<ValueId, Loc>,
    /// Where the shape of a value was written, if not at the operation that makes it.
    shapes: HashMap<ValueId, Loc>,
    /// Tiles that are another one transposed: what products read instead.
    transposed: HashMap<ValueId, ValueId>,
    /// Extents that are known at run time only, by name.
    dynamic: HashMap<ValueId, (&'static str, Loc)>,
    /// How many branches and loops that may not run surround the present statement.
    conditional: usize,
}

impl Walker<'_> {
    fn frame(&self) -> &Frame {
        // One frame is pushed at construction, and calls pop what they push.
        &self.frames[self.frames.len() - 1]
    }

    fn loc(&self, span: Span) -> Loc {
        span.loc(self.frame().file)
    }

    /// Reports; the value is poison from here on.
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.unit.problems.push(diagnostic);
        Reported
    }

    fn error(&mut self, code: Code, loc: Loc, title: impl Into<String>, label: impl Into<String>) -> Reported {
        self.report(Diagnostic::error(code, loc, title, label))
    }

    /// The outcome of building an operation; a broken type rule is reported with the places of `site`.
    fn check<T>(&mut self, outcome: Result<T, RuleError>, site: &Site) -> Flow<T> {
        outcome.map_err(|error| self.report(rule_message::explain(&error, site)))
    }

    /// Where the shape of a value was decided.
    fn origin(&self, value: ValueId) -> Loc {
        self.shapes.get(&value).copied().unwrap_or_else(|| self.builder.function().info(value).loc)
    }

    /// A state of the walk to come back to when a loop has to be built again.
    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            builder: self.builder.checkpoint(),
            values: self.builder.function().values.len(),
            problems: self.unit.problems.0.len(),
            printed: self.unit.printed.len(),
        }
    }

    /// Drops what was built since; reported problems stay if `keep_problems`.
    fn rollback(&mut self, checkpoint: &Checkpoint, keep_problems: bool) {
        self.builder.rollback(&checkpoint.builder);
        let kept = |v: &ValueId| (v.0 as usize) < checkpoint.values;
        self.guesses.retain(|v, _| kept(v));
        self.shapes.retain(|v, _| kept(v));
        self.transposed.retain(|v, _| kept(v));
        self.dynamic.retain(|v, _| kept(v));
        self.unit.printed.truncate(checkpoint.printed);
        if !keep_problems {
            self.unit.problems.0.truncate(checkpoint.problems);
        }
    }
}

/// See [`Walker::checkpoint`].
struct Checkpoint {
    builder: ir::builder::Checkpoint,
    values: usize,
    problems: usize,
    printed: usize,
}
