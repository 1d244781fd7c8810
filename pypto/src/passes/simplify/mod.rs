//! Simplifies: folds scalars with constants and range facts, applies identities that are exact in floating point, takes
//! the branch of a constant condition, and dissolves loops that run once or never.
//!
//! Minima that always are one of their operands are that operand. A carried variable whose value never changes is
//! replaced by its initial value; `dce` then removes it. Types name known extents by their constants afterwards.

mod identities;
mod least;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::replace::Replacements;
use crate::diagnostics::{Diagnostics, Severity};
use crate::ir::facts::Fact;
use crate::ir::scalars::{Scalars, Simplified};
use crate::ir::{Block, DType, Function, Op, ParamRole, Program, Type, ValueId, verify_function};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// Rounds after which the pass is content: each may open up more, rarely much.
const ROUNDS: usize = 4;

/// Runs on every function.
///
/// # Errors
/// Where a value that became known contradicts the program: an extent that is larger than its tile, an access outside of its tensor. The
/// verifier could not see it before.
pub fn run(program: &mut Program) -> Result<(), Diagnostics> {
    for function in &mut program.functions {
        let rounds = (0..ROUNDS).take_while(|_| round(function) | least::fold(function)).count();
        if rounds > 0 {
            verify_function(function).map_err(contradictions)?;
        }
    }
    Ok(())
}

/// What the verifier found is the program's fault, not the pass's.
fn contradictions(found: Diagnostics) -> Diagnostics {
    Diagnostics(found.0.into_iter().map(|diagnostic| diagnostic.with_severity(Severity::Error)).collect())
}

/// One walk over the function; whether anything changed.
fn round(function: &mut Function) -> bool {
    let mut pass = Simplify::default();
    for param in &function.params {
        if let ParamRole::Extent { .. } = param.role {
            pass.scalars.assume(param.value, Fact::EXTENT);
        }
    }
    let mut body = std::mem::take(&mut function.body);
    pass.block(&mut body, function);
    function.body = body;
    pass.replacements.apply(function);
    pass.changed || !pass.replacements.is_empty()
}

#[derive(Default)]
struct Simplify {
    scalars: Scalars,
    /// Operations on tiles, for identities over two of them.
    tiles: HashMap<ValueId, (OpKind, Vec<ValueId>)>,
    replacements: Replacements,
    changed: bool,
}

impl Simplify {
    fn block(&mut self, block: &mut Block, function: &mut Function) {
        for arg in &block.args {
            self.replacements.type_of(*arg, function);
        }
        let ops = std::mem::take(&mut block.ops);
        self.ops(ops, &mut block.ops, function);
        block.yields.iter_mut().for_each(|v| *v = self.replacements.get(*v));
    }

    /// Simplifies operations in order; what remains goes to `out`.
    fn ops(&mut self, ops: Vec<Op>, out: &mut Vec<Op>, function: &mut Function) {
        for mut op in ops {
            self.replacements.operands(&mut op);
            for result in &op.results {
                self.replacements.type_of(*result, function);
            }
            match op.kind {
                OpKind::Constant => self.constant(op, out),
                OpKind::If => self.branch(op, out, function),
                OpKind::For => self.for_loop(op, out, function),
                OpKind::Assert if self.truth(op.operands[0]) == Some(true) => self.changed = true,
                _ if op.regions.is_empty() => self.plain(op, out, function),
                _ => {
                    op.regions.iter_mut().for_each(|region| self.block(region, function));
                    out.push(op);
                }
            }
        }
    }

    fn truth(&self, condition: ValueId) -> Option<bool> {
        match self.scalars.literal(condition) {
            Some(Literal::Bool(b)) => Some(b),
            _ => None,
        }
    }

    fn constant(&mut self, op: Op, out: &mut Vec<Op>) {
        if let (Some(literal), Some(dtype), [result]) = (Literal::of(&op.attrs), op.attrs.dtype(), &op.results[..]) {
            self.scalars.set_literal(*result, literal, dtype);
            if let (Literal::Int(n), DType::I64) = (literal, dtype) {
                self.replacements.constant(*result, n);
            }
        }
        out.push(op);
    }

    /// An operation without regions.
    fn plain(&mut self, mut op: Op, out: &mut Vec<Op>, function: &mut Function) {
        let [result] = op.results[..] else { return out.push(op) };
        let dtype = match function.ty(result) {
            Type::Scalar(dtype) if op.kind.is_elementwise() => *dtype,
            _ => return self.on_tiles(op, result, out, function),
        };
        match self.scalars.simplify(function, op.kind, &op.operands, &op.attrs, dtype) {
            Simplified::Literal(literal) => {
                op.kind = OpKind::Constant;
                op.operands.clear();
                op.attrs = literal.attrs(dtype);
                self.changed = true;
                self.constant(op, out);
            }
            Simplified::Value(value) => self.replacements.replace(result, value),
            Simplified::Operation(fact) => {
                if dtype == DType::I64 && self.scalars.is_pure(op.kind, &op.operands, dtype) {
                    self.scalars.define(result, op.kind, &op.operands, fact);
                }
                out.push(op);
            }
            // The operation stops the kernel if it is ever reached.
            Simplified::Error(_) => out.push(op),
        }
    }

    fn on_tiles(&mut self, op: Op, result: ValueId, out: &mut Vec<Op>, function: &Function) {
        match self.tile_identity(&op, function).filter(|v| function.ty(*v) == function.ty(result)) {
            Some(value) => self.replacements.replace(result, value),
            None => {
                self.tiles.insert(result, (op.kind, op.operands.clone()));
                out.push(op);
            }
        }
    }

    fn branch(&mut self, mut op: Op, out: &mut Vec<Op>, function: &mut Function) {
        if let Some(condition) = self.truth(op.operands[0]) {
            let taken = op.regions.swap_remove(usize::from(!condition));
            self.changed = true;
            self.ops(taken.ops, out, function);
            return self.replace_all(&op.results, &taken.yields);
        }
        op.regions.iter_mut().for_each(|region| self.block(region, function));
        for (index, result) in op.results.iter().enumerate() {
            let (a, b) = (op.regions[0].yields[index], op.regions[1].yields[index]);
            // A value that both branches see is defined before the `if`.
            if a == b {
                self.replacements.replace(*result, a);
            }
        }
        out.push(op);
    }

    fn equal_literals(&self, a: ValueId, b: ValueId, function: &Function) -> bool {
        let known = self.scalars.literal(a);
        known.is_some() && known == self.scalars.literal(b) && function.ty(a) == function.ty(b)
    }

    fn for_loop(&mut self, mut op: Op, out: &mut Vec<Op>, function: &mut Function) {
        let [lower, upper, step] = [op.operands[0], op.operands[1], op.operands[2]];
        let facts = [lower, upper, step].map(|v| self.scalars.fact(v));
        if Fact::compare(OpKind::CmpLt, (lower, facts[0]), (upper, facts[1])) == Some(false) {
            self.changed = true;
            return self.replace_all(&op.results, &op.operands[3..]);
        }
        if runs_once(facts) {
            let body = op.regions.swap_remove(0);
            self.changed = true;
            self.replacements.replace(body.args[0], lower);
            self.replace_all(&body.args[1..], &op.operands[3..]);
            self.ops(body.ops, out, function);
            return self.replace_all(&op.results, &body.yields);
        }
        self.scalars.assume(op.regions[0].args[0], Fact::loop_index(facts[0], facts[1], facts[2], upper));
        self.block(&mut op.regions[0], function);
        self.unchanging(&mut op, function);
        out.push(op);
    }

    /// Replaces carried variables that keep their initial value.
    fn unchanging(&mut self, op: &mut Op, function: &Function) {
        for (index, initial) in op.operands[3..].iter().copied().enumerate() {
            let body = &mut op.regions[0];
            let (arg, yielded) = (body.args[index + 1], body.yields[index]);
            let same = yielded == arg || yielded == initial;
            if same || self.equal_literals(yielded, initial, function) {
                self.changed |= yielded != initial;
                body.yields[index] = initial;
                self.replacements.replace(arg, initial);
                self.replacements.replace(op.results[index], initial);
            }
        }
    }

    fn replace_all(&mut self, old: &[ValueId], new: &[ValueId]) {
        for (old, new) in old.iter().zip(new) {
            self.replacements.replace(*old, *new);
        }
    }
}

/// Whether constant bounds and step give exactly one iteration.
fn runs_once(facts: [Fact; 3]) -> bool {
    match facts.map(Fact::as_constant) {
        [Some(lower), Some(upper), Some(step)] => {
            step > 0 && lower < upper && lower.checked_add(step).is_none_or(|next| next >= upper)
        }
        _ => false,
    }
}
