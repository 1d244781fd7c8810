//! Common subexpressions: of equal pure operations in blocks that see one another, the first one stays.
//!
//! Two operations are equal if kind, operands, attributes and the result's type are. Reads of memory are never equal.

use std::collections::HashMap;

use super::effects::is_function_of_operands;
use super::replace::Replacements;
use crate::diagnostics::Diagnostics;
use crate::ir::{Attrs, Block, Function, Program, ValueId};
use crate::ops::OpKind;

/// Runs on every function.
pub fn run(program: &mut Program) -> Result<(), Diagnostics> {
    for function in &mut program.functions {
        let mut body = std::mem::take(&mut function.body);
        let mut pass = Cse { scopes: Vec::new(), replacements: Replacements::default() };
        pass.block(&mut body, function);
        function.body = body;
        pass.replacements.apply(function);
    }
    Ok(())
}

/// Operations with the same kind and operands; attributes and types tell them apart.
type Candidates = HashMap<(OpKind, Vec<ValueId>), Vec<(Attrs, ValueId)>>;

struct Cse {
    /// What is visible, from the function's body to the block at hand.
    scopes: Vec<Candidates>,
    replacements: Replacements,
}

impl Cse {
    fn block(&mut self, block: &mut Block, function: &mut Function) {
        self.scopes.push(Candidates::new());
        for arg in &block.args {
            self.replacements.type_of(*arg, function);
        }
        block.ops.retain_mut(|op| {
            self.replacements.operands(op);
            for result in &op.results {
                self.replacements.type_of(*result, function);
            }
            op.regions.iter_mut().for_each(|region| self.block(region, function));
            let [result] = op.results[..] else { return true };
            if !is_function_of_operands(op) {
                return true;
            }
            let key = (op.kind, op.operands.clone());
            let equal =
                |(attrs, other): &&(Attrs, ValueId)| *attrs == op.attrs && function.ty(*other) == function.ty(result);
            match self.scopes.iter().filter_map(|s| s.get(&key)?.iter().find(equal)).next() {
                Some((_, first)) => {
                    self.replacements.replace(result, *first);
                    false
                }
                None => {
                    if let Some(scope) = self.scopes.last_mut() {
                        scope.entry(key).or_default().push((op.attrs.clone(), result));
                    }
                    true
                }
            }
        });
        self.scopes.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check_pass;

    #[test]
    fn equal_operations_are_one() {
        check_pass(
            super::run,
            r#"
            fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "c": bool in, %2 "n": i64 in) {
              %3: i64 = constant() {value = 0, dtype = i64}
              %4: i64 = constant() {value = 0, dtype = i64}
              %5: i64 = sub(%2, %3)
              %6: i64 = sub(%2, %4)
              %7: tile<f32>[8, 8] = load(%0, %3, %4)
              %8: tile<f32>[8, 8; %5, 8] = set_valid(%7)
              %9: tile<f32>[8, 8; %6, 8] = set_valid(%7)
              %10: tile<f32>[8, 8; %5, 8] = add(%8, %9)
              if(%1) do () {
                %11: tile<f32>[8, 8; %6, 8] = exp(%9)
                store(%11, %0, %4, %3)
              } do () {
                %12: tile<f32>[8, 8; %6, 8] = exp(%9)
                %13: tile<f32>[8, 8] = load(%0, %3, %4)
              }
            }"#,
            r#"
            fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "c": bool in, %2 "n": i64 in) {
              %3: i64 = constant() {value = 0, dtype = i64}
              %5: i64 = sub(%2, %3)
              %7: tile<f32>[8, 8] = load(%0, %3, %3)
              %8: tile<f32>[8, 8; %5, 8] = set_valid(%7)
              %10: tile<f32>[8, 8; %5, 8] = add(%8, %8)
              if(%1) do () {
                %11: tile<f32>[8, 8; %5, 8] = exp(%8)
                store(%11, %0, %3, %3)
              } do () {
                %12: tile<f32>[8, 8; %5, 8] = exp(%8)
                %13: tile<f32>[8, 8] = load(%0, %3, %3)
              }
            }"#,
        );
    }
}
