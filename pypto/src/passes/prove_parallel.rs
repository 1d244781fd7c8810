//! Decides which loops run in parallel.
//!
//! A loop qualifies when nothing is carried from one iteration to the next and no iteration writes what another reads
//! or writes. Loops that the language runs in order (`tiles`, `grid`) become `Parallel` where that is proved and
//! `Sequential` elsewhere; for loops that the user calls independent (`parallel`, `spmd`) a failed proof is an error.
//! Afterwards every loop is `Parallel`, `Sequential` or `Pipeline`; a pipelined loop runs in order, like a sequential one.

use std::collections::HashSet;

use super::accesses::{self, Access, Directions};
use super::affine::Affine;
use super::definitions::{Definitions, for_each_defined};
use super::disjoint::Iterations;
use super::overlap;
use super::ranges::Ranges;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Attr, AttrKey, Block, Function, LoopKind, Op, Program, ValueId};
use crate::ops::OpKind;

/// Settles the kind of every loop of the program.
///
/// # Errors
/// One diagnostic for each `parallel` or `spmd` loop whose iterations are not proved independent.
pub fn prove_parallel(program: &mut Program) -> Result<(), Diagnostics> {
    let directions = accesses::directions(program);
    let mut errors = Vec::new();
    for function in &mut program.functions {
        let mut decisions = Vec::new();
        {
            let prover = Prover { ranges: Ranges::new(Definitions::of(function)), directions: &directions };
            prover.decide_block(&function.body, &mut decisions);
        }
        let mut kinds = decisions.into_iter().map(|decision| match decision {
            Ok(kind) => kind,
            Err(error) => {
                errors.push(error);
                LoopKind::Sequential
            }
        });
        apply(&mut function.body, &mut kinds);
    }
    if errors.is_empty() { Ok(()) } else { Err(Diagnostics(errors)) }
}

/// Sets the kinds of loops, in the order in which they stand in the text.
fn apply(block: &mut Block, kinds: &mut impl Iterator<Item = LoopKind>) {
    for op in &mut block.ops {
        if op.kind == OpKind::For
            && let Some(kind) = kinds.next()
        {
            op.attrs.set(AttrKey::Loop, Attr::Loop(kind));
        }
        op.regions.iter_mut().for_each(|region| apply(region, kinds));
    }
}

struct Prover<'f, 'd> {
    ranges: Ranges<'f>,
    directions: &'d Directions,
}

/// Why iterations depend on one another.
enum Dependence<'a> {
    Carried,
    Accesses(&'a Access, &'a Access),
}

impl<'f> Prover<'f, '_> {
    fn decide_block(&self, block: &'f Block, decisions: &mut Vec<Result<LoopKind, Diagnostic>>) {
        for op in &block.ops {
            if op.kind == OpKind::For {
                decisions.push(self.decide(op));
            }
            op.regions.iter().for_each(|region| self.decide_block(region, decisions));
        }
    }

    fn decide(&self, op: &'f Op) -> Result<LoopKind, Diagnostic> {
        let kind = op.attrs.loop_kind();
        match kind {
            LoopKind::Sequential | LoopKind::Unroll => return Ok(LoopKind::Sequential),
            LoopKind::Pipeline(_) => return Ok(kind),
            LoopKind::Auto | LoopKind::Parallel | LoopKind::Spmd => {}
        }
        let accesses = accesses::of_block(&op.regions[0], &self.ranges, self.directions);
        match self.dependence(op, &accesses) {
            None => Ok(LoopKind::Parallel),
            Some(_) if kind == LoopKind::Auto => Ok(LoopKind::Sequential),
            Some(Dependence::Carried) => Err(overlap::carried(op, self.function())),
            Some(Dependence::Accesses(a, b)) => Err(overlap::conflict(op, a, b, &self.ranges)),
        }
    }

    fn function(&self) -> &'f Function {
        self.ranges.definitions.function
    }

    fn dependence<'a>(&self, op: &'f Op, accesses: &'a [Access]) -> Option<Dependence<'a>> {
        let body = &op.regions[0];
        if body.args.len() > 1 {
            return Some(Dependence::Carried);
        }
        let mut defined = HashSet::new();
        for_each_defined(body, &mut |v: ValueId| {
            defined.insert(v);
        });
        let inside = |v: ValueId| defined.contains(&v);
        let step = self.ranges.form(op.operands[2]);
        let iterations = Iterations { ranges: &self.ranges, index: body.args[0], step, inside: &inside };
        if self.runs_once(op) {
            return None;
        }
        // A tensor that the iteration allocates is its own.
        let shared: Vec<&Access> = accesses.iter().filter(|access| !inside(access.root)).collect();
        for (position, a) in shared.iter().enumerate() {
            for b in &shared[position..] {
                if a.root == b.root && (a.writes || b.writes) && !iterations.apart(a, b) {
                    return Some(Dependence::Accesses(a, b));
                }
            }
        }
        None
    }

    /// At most one iteration: nothing can conflict.
    fn runs_once(&self, op: &Op) -> bool {
        let (lower, upper, step) =
            (self.ranges.form(op.operands[0]), self.ranges.form(op.operands[1]), self.ranges.form(op.operands[2]));
        let end: Option<Affine> = lower.add(&step);
        end.is_some_and(|end| self.ranges.at_most(&upper, &end))
    }
}
