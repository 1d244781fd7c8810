//! Expands loops of kind `unroll`: the body once for each index, with carried values handed on.

use std::collections::HashMap;

use super::replace::Replacements;
use super::transplant::copy_op;
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::ir::{Block, DType, Function, LoopKind, Op, Program, Type, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// Most operations that unrolled loops of one function may grow to.
const MOST_OPERATIONS: usize = 100_000;

/// Runs on every function.
///
/// # Errors
/// A loop to unroll whose bounds or step are not constants; loops that would grow beyond [`MOST_OPERATIONS`].
pub fn run(program: &mut Program) -> Result<(), Diagnostics> {
    let mut errors = Vec::new();
    for function in &mut program.functions {
        let mut pass =
            Unroll { constants: HashMap::new(), replacements: Replacements::default(), grown: 0, errors: &mut errors };
        let mut body = std::mem::take(&mut function.body);
        pass.block(&mut body, function);
        let replacements = pass.replacements;
        function.body = body;
        replacements.apply(function);
    }
    if errors.is_empty() { Ok(()) } else { Err(Diagnostics(errors)) }
}

struct Unroll<'a> {
    constants: HashMap<ValueId, i64>,
    replacements: Replacements,
    grown: usize,
    errors: &'a mut Vec<Diagnostic>,
}

impl Unroll<'_> {
    /// Inner loops first.
    fn block(&mut self, block: &mut Block, function: &mut Function) {
        for mut op in std::mem::take(&mut block.ops) {
            self.replacements.operands(&mut op);
            if let (Some(Literal::Int(n)), [result]) = (Literal::of(&op.attrs), &op.results[..]) {
                self.constants.insert(*result, n);
            }
            op.regions.iter_mut().for_each(|region| self.block(region, function));
            if op.kind == OpKind::For && op.attrs.loop_kind() == LoopKind::Unroll {
                self.expand(op, &mut block.ops, function);
            } else {
                block.ops.push(op);
            }
        }
        block.yields.iter_mut().for_each(|v| *v = self.replacements.get(*v));
    }

    fn expand(&mut self, op: Op, out: &mut Vec<Op>, function: &mut Function) {
        let Some(indices) = self.indices(&op, function) else { return };
        let body = &op.regions[0];
        self.grown = self.grown.saturating_add(count(body).saturating_mul(indices.len()));
        if self.grown > MOST_OPERATIONS {
            let title = format!("unrolling gives more than {MOST_OPERATIONS} operations");
            let error =
                Diagnostic::error(codes::PARAMETER_RANGE, op.loc, title, format!("{} iterations", indices.len()));
            return self.errors.push(error.help("leave `unroll` out, or unroll an inner loop only"));
        }
        // Copies read types of the loop's own values, which the table keeps.
        let source = function.clone();
        let mut carried = op.operands[3..].to_vec();
        for n in indices {
            let index = function.add_value(Type::INDEX, function.info(body.args[0]).name.clone(), op.loc);
            let attrs = Literal::Int(n).attrs(DType::I64);
            let (kind, loc) = (OpKind::Constant, op.loc);
            out.push(Op { kind, operands: Vec::new(), attrs, regions: Vec::new(), results: vec![index], loc });
            self.constants.insert(index, n);
            let arguments = std::iter::once(index).chain(carried);
            let mut map: HashMap<ValueId, ValueId> = body.args.iter().copied().zip(arguments).collect();
            out.extend(body.ops.iter().map(|nested| copy_op(nested, &source, function, &mut map)));
            carried = body.yields.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
        }
        for (result, value) in op.results.iter().zip(carried) {
            self.replacements.replace(*result, value);
        }
    }

    /// The indices of a loop with constant bounds.
    fn indices(&mut self, op: &Op, function: &Function) -> Option<Vec<i64>> {
        let names = ["lower bound", "upper bound", "step"];
        let unknown = op.operands[..3].iter().position(|v| !self.constants.contains_key(v));
        if let Some(i) = unknown {
            let title = format!("the {} of an unrolled loop is not known at specialization", names[i]);
            let error = Diagnostic::error(codes::DYNAMIC_EXTENT, op.loc, title, "unrolled here")
                .label(function.info(op.operands[i]).loc, "the value comes from here")
                .help("leave `unroll` out, or make the value a meta parameter or a `#[spec]` argument");
            self.errors.push(error);
            return None;
        }
        let [lower, upper, step] = [0, 1, 2].map(|i| self.constants[&op.operands[i]]);
        let mut indices = Vec::new();
        let mut next = Some(lower);
        while let Some(n) = next.filter(|n| *n < upper && step > 0 && indices.len() <= MOST_OPERATIONS) {
            indices.push(n);
            next = n.checked_add(step);
        }
        Some(indices)
    }
}

/// Number of operations, at least one.
fn count(block: &Block) -> usize {
    1 + block.ops.iter().map(|op| 1 + op.regions.iter().map(count).sum::<usize>()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_pass, program};

    #[test]
    fn the_body_is_repeated_with_its_index() {
        check_pass(
            super::run,
            r#"
            fn @f incore (%0 "x": tensor<f32>[8, 8] inout) {
              %1: i64 = constant() {value = 2, dtype = i64}
              %2: i64 = constant() {value = 5, dtype = i64}
              %20: i64 = constant() {value = 3, dtype = i64}
              %3: tile<f32>[1, 8; 1, 5] = load(%0, %1, %20)
              %4: tile<f32>[1, 8; 1, %5], %5: i64 = for(%1, %2, %1, %3, %2) {loop = unroll} do (%6 "i": i64, %7: tile<f32>[1, 8; 1, %8], %8: i64) {
                %9: tile<f32>[1, 8; 1, %8] = exp(%7)
                %10: tile<f32>[1, 8; 1, %6] = set_valid(%9)
                yield %10, %6
              }
              store(%4, %0, %1, %1)
            }"#,
            r#"
            fn @f incore (%0 "x": tensor<f32>[8, 8] inout) {
              %1: i64 = constant() {value = 2, dtype = i64}
              %2: i64 = constant() {value = 5, dtype = i64}
              %20: i64 = constant() {value = 3, dtype = i64}
              %3: tile<f32>[1, 8; 1, 5] = load(%0, %1, %20)
              %4 "i": i64 = constant() {value = 2, dtype = i64}
              %5: tile<f32>[1, 8; 1, %2] = exp(%3)
              %6: tile<f32>[1, 8; 1, %4] = set_valid(%5)
              %7 "i": i64 = constant() {value = 4, dtype = i64}
              %8: tile<f32>[1, 8; 1, %4] = exp(%6)
              %9: tile<f32>[1, 8; 1, %7] = set_valid(%8)
              store(%9, %0, %1, %1)
            }"#,
        );
    }

    #[test]
    fn run_time_bounds_are_an_error() {
        let mut program =
            program("fn @f incore (%0: i64 in) {\n  for(%0, %0, %0) {loop = unroll} do (%1: i64) {\n  }\n}");
        let errors = super::run(&mut program).unwrap_err();
        assert_eq!(errors.0[0].title, "the lower bound of an unrolled loop is not known at specialization");
    }
}
