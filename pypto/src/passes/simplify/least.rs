//! Minima that always are one of their operands, also where the other is carried around a loop.
//!
//! The valid extent of a tile that a loop carries is such a minimum: in the first iteration the tile is whole, later it is as valid as what it
//! is combined with. Without this, what is combined would seem to have rows of its own, and nothing could join it in one loop.

use std::collections::HashSet;

use crate::ir::{Attr, AttrKey, Block, Function, Op, Type, ValueId};
use crate::ops::OpKind;
use crate::passes::definitions::{Definitions, Origin, for_each_defined};
use crate::passes::replace::Replacements;

/// Values that a proof may look at; those that exist are short.
const EFFORT: u32 = 200;

/// Replaces the minima of a function; whether there were any.
pub(super) fn fold(function: &mut Function) -> bool {
    let mut replacements = Replacements::default();
    {
        let definitions = Definitions::of(function);
        for minimum in minima(&function.body.ops, &definitions) {
            let [a, b] = minimum.operands[..] else { continue };
            let result = minimum.results[0];
            if is_at_least(&definitions, a, b) {
                replacements.replace(result, b);
            } else if is_at_least(&definitions, b, a) {
                replacements.replace(result, a);
            }
        }
    }
    if replacements.is_empty() {
        return false;
    }
    remove(&mut function.body, &replacements);
    replacements.apply(function);
    true
}

/// Removes the operations whose results are replaced.
fn remove(block: &mut Block, replacements: &Replacements) {
    block.ops.retain(|op| !op.results.iter().any(|&result| replacements.get(result) != result));
    block.ops.iter_mut().flat_map(|op| &mut op.regions).for_each(|region| remove(region, replacements));
}

/// Minima of indices.
fn minima<'f>(ops: &'f [Op], definitions: &Definitions<'f>) -> Vec<&'f Op> {
    let mut found = Vec::new();
    for op in ops {
        if op.kind == OpKind::Min && *definitions.function.ty(op.results[0]) == Type::INDEX {
            found.push(op);
        }
        op.regions.iter().for_each(|region| found.extend(minima(&region.ops, definitions)));
    }
    found
}

/// Whether `value` never is less than `bound`.
fn is_at_least(definitions: &Definitions<'_>, value: ValueId, bound: ValueId) -> bool {
    Proof { definitions, bound, assumed: HashSet::new(), effort: EFFORT }.holds(value)
}

/// A proof that values are never less than a bound.
struct Proof<'d, 'f> {
    definitions: &'d Definitions<'f>,
    bound: ValueId,
    /// Carried variables of loops, by the induction over whose iterations it holds.
    assumed: HashSet<ValueId>,
    effort: u32,
}

impl Proof<'_, '_> {
    fn holds(&mut self, value: ValueId) -> bool {
        if value == self.bound || self.assumed.contains(&value) {
            return true;
        }
        let Some(effort) = self.effort.checked_sub(1) else { return false };
        self.effort = effort;
        match self.definitions.origin(value) {
            Some(Origin::Result { op, index }) => match op.kind {
                OpKind::Constant => integer(op).is_some_and(|n| self.is_at_most(self.bound, n)),
                OpKind::Min => op.operands.iter().all(|&v| self.holds(v)),
                OpKind::Max => op.operands.iter().any(|&v| self.holds(v)),
                OpKind::If => op.regions.iter().all(|region| self.holds(region.yields[index])),
                OpKind::For => self.holds_around(op, index),
                _ => false,
            },
            Some(Origin::Argument { op, index, .. }) if op.kind == OpKind::For && index > 0 => {
                self.holds_around(op, index - 1)
            }
            _ => false,
        }
    }

    /// Whether a carried variable is never less: at first, and after an iteration in which it was not.
    fn holds_around(&mut self, op: &Op, index: usize) -> bool {
        let body = &op.regions[0];
        // A bound of the loop's own is another one in each iteration.
        let mut is_outside = true;
        for_each_defined(body, &mut |defined| is_outside &= defined != self.bound);
        if !is_outside || !self.holds(op.operands[3 + index]) {
            return false;
        }
        let before = self.assumed.clone();
        self.assumed.insert(body.args[1 + index]);
        let holds = self.holds(body.yields[index]);
        if !holds {
            // What was assumed on the way may be wrong.
            self.assumed = before;
        }
        holds
    }

    /// Whether `value` never is greater than a constant.
    fn is_at_most(&mut self, value: ValueId, most: i64) -> bool {
        let Some(effort) = self.effort.checked_sub(1) else { return false };
        self.effort = effort;
        self.definitions.op(value).is_some_and(|op| match op.kind {
            OpKind::Constant => integer(op).is_some_and(|n| n <= most),
            OpKind::Min => op.operands.iter().any(|&v| self.is_at_most(v, most)),
            _ => false,
        })
    }
}

fn integer(op: &Op) -> Option<i64> {
    match op.attrs.get(AttrKey::Value) {
        Some(Attr::Int(n)) => Some(*n),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Program;
    use crate::passes::testing::check_pass;

    fn fold(program: &mut Program) -> Result<(), crate::diagnostics::Diagnostics> {
        program.functions.iter_mut().for_each(|function| {
            super::fold(function);
        });
        Ok(())
    }

    /// Whether the minimum of a carried extent and a bound, in the loop and after it, is the bound.
    fn check(initial: i64, yielded: &str, folds: bool) {
        let text = |inside: &str, after: &str, min: &str, last: &str| {
            format!(
                r#"
            fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "n": i64 in) {{
              %2: i64 = constant() {{value = 0, dtype = i64}}
              %3: i64 = constant() {{value = 8, dtype = i64}}
              %4: i64 = constant() {{value = 1, dtype = i64}}
              %5: i64 = constant() {{value = {initial}, dtype = i64}}
              %6: i64 = min(%3, %1)
              %7: i64 = for(%2, %3, %4, %5) do (%8: i64, %9: i64) {{
                {min}
                %11: i64 = {yielded}(%9, {inside})
                yield %11
              }}
              {last}
              %13: i64 = add({after}, %2)
              %14: i64 = for(%2, %13, %4, %2) do (%15: i64, %16: i64) {{
                yield %15
              }}
            }}"#,
            )
        };
        let before = text("%10", "%12", "%10: i64 = min(%9, %6)", "%12: i64 = min(%6, %7)");
        let after = if folds { text("%6", "%6", "", "") } else { before.clone() };
        check_pass(fold, &before, &after);
    }

    #[test]
    fn a_carried_extent_that_shrinks_once_is_its_bound() {
        check(8, "max", true);
        check(9, "max", true);
        check(7, "max", false);
        check(8, "add", false);
    }
}
