//! Expands calls of inline functions, and of functions called from in-core functions. Names cannot clash: values are
//! numbers, and every copy gets fresh ones. Inline functions are gone afterwards.

use std::collections::HashMap;

use super::replace::Replacements;
use super::transplant::copy_op;
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::ir::{AttrKey, Block, Function, FunctionKind, Op, Program};
use crate::ops::OpKind;

/// Deepest nesting of calls; a program that goes deeper calls itself.
const DEEPEST: usize = 64;

/// Expands all such calls.
///
/// # Errors
/// A function that calls itself; a call that is expanded but whose completion something waits for.
pub fn run(program: &mut Program) -> Result<(), Diagnostics> {
    let expandable = |f: &&Function| matches!(f.kind, FunctionKind::Inline | FunctionKind::InCore);
    let callees: HashMap<String, Function> = match program.functions.len() {
        // Most programs are one function, which calls nothing.
        1 => HashMap::new(),
        _ => program.functions.iter().filter(expandable).map(|f| (f.name.clone(), f.clone())).collect(),
    };
    let mut errors = Vec::new();
    for function in &mut program.functions {
        let mut pass = Inline { callees: &callees, replacements: Replacements::default(), errors: &mut errors };
        let mut body = std::mem::take(&mut function.body);
        pass.block(&mut body, function, 0);
        let replacements = pass.replacements;
        function.body = body;
        replacements.apply(function);
    }
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let entry = program.entry_function().name.clone();
    program.functions.retain(|f| f.kind != FunctionKind::Inline || f.name == entry);
    program.entry = program.functions.iter().position(|f| f.name == entry).unwrap_or(0);
    Ok(())
}

struct Inline<'a> {
    callees: &'a HashMap<String, Function>,
    replacements: Replacements,
    errors: &'a mut Vec<Diagnostic>,
}

impl Inline<'_> {
    fn block(&mut self, block: &mut Block, caller: &mut Function, depth: usize) {
        if !self.errors.is_empty() {
            return;
        }
        for mut op in std::mem::take(&mut block.ops) {
            // Results of a call before this one may be operands.
            self.replacements.operands(&mut op);
            match self.expanded(&op, caller) {
                None => {
                    op.regions.iter_mut().for_each(|region| self.block(region, caller, depth));
                    block.ops.push(op);
                }
                Some(_) if depth >= DEEPEST => {
                    let name = op.attrs.text(AttrKey::Callee).unwrap_or_default();
                    let title = format!("`{name}` calls itself");
                    self.errors.push(Diagnostic::error(codes::RECURSION, op.loc, title, "called here"));
                    return;
                }
                Some(callee) => {
                    let mut copy = self.expand(&op, callee, caller);
                    self.block(&mut copy, caller, depth + 1);
                    block.ops.append(&mut copy.ops);
                    self.replace_results(&op, &copy);
                }
            }
        }
    }

    /// The callee, where the call is one to expand.
    fn expanded(&self, op: &Op, caller: &Function) -> Option<&Function> {
        if op.kind != OpKind::Call {
            return None;
        }
        let callee = self.callees.get(op.attrs.text(AttrKey::Callee)?)?;
        (callee.kind == FunctionKind::Inline || caller.kind == FunctionKind::InCore).then_some(callee)
    }

    /// The callee's body with arguments for parameters.
    fn expand(&self, op: &Op, callee: &Function, caller: &mut Function) -> Block {
        let mut map: HashMap<_, _> = callee.params.iter().map(|p| p.value).zip(op.operands.iter().copied()).collect();
        let ops = callee.body.ops.iter().map(|nested| copy_op(nested, callee, caller, &mut map)).collect();
        let yields = callee.body.yields.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
        Block { args: Vec::new(), ops, yields }
    }

    fn replace_results(&mut self, op: &Op, copy: &Block) {
        for (result, value) in op.results.iter().zip(&copy.yields) {
            self.replacements.replace(*result, *value);
        }
        if op.results.len() > copy.yields.len() {
            let name = op.attrs.text(AttrKey::Callee).unwrap_or_default();
            let title = format!("`{name}` is expanded into its caller and cannot be a task");
            let error = Diagnostic::error(codes::FUNCTION_KIND, op.loc, title, "used as a task here");
            self.errors.push(error.help("make it an in-core function, called from an orchestration function"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_pass, program};

    #[test]
    fn nested_calls_expand() {
        check_pass(
            super::run,
            r#"
            fn @f incore (%0 "x": tensor<f32>[8, 16] inout, %1 "i": i64 in) {
              %2: i64 = constant() {value = 1, dtype = i64}
              %3: tile<f32>[8, 8; %1, 8] = call(%0, %1) {callee = "part"}
              %4: tile<f32>[8, 8; %1, 8] = exp(%3)
              for(%2, %1, %2) do (%5: i64) {
                store(%4, %0, %5, %2)
              }
            }
            fn @part inline (%0 "t": tensor<f32>[8, 16] in, %1 "n": i64 in) {
              %2: i64 = call() {callee = "zero"}
              %3: tile<f32>[8, 8; %1, 8] = load(%0, %2, %2)
              yield %3
            }
            fn @zero inline () {
              %0: i64 = constant() {value = 0, dtype = i64}
              yield %0
            }"#,
            r#"
            fn @f incore (%0 "x": tensor<f32>[8, 16] inout, %1 "i": i64 in) {
              %2: i64 = constant() {value = 1, dtype = i64}
              %6: i64 = constant() {value = 0, dtype = i64}
              %3: tile<f32>[8, 8; %1, 8] = load(%0, %6, %6)
              %4: tile<f32>[8, 8; %1, 8] = exp(%3)
              for(%2, %1, %2) do (%5: i64) {
                store(%4, %0, %5, %2)
              }
            }"#,
        );
    }

    #[test]
    fn recursion_is_an_error() {
        let mut program =
            program("fn @f incore () {\n  call() {callee = \"g\"}\n}\nfn @g inline () {\n  call() {callee = \"g\"}\n}");
        assert_eq!(super::run(&mut program).unwrap_err().0[0].title, "`g` calls itself");
    }
}
