//! Moves pure scalar operations in front of loops whose iterations all compute the same.
//!
//! Integer operations also leave the branches of an `if`: they cost next to nothing, and leave the loop around it next.

use std::collections::HashSet;

use super::definitions::for_each_defined;
use super::effects::may_move;
use crate::diagnostics::Diagnostics;
use crate::ir::{Block, Function, Op, Program, ValueId};
use crate::ops::OpKind;

/// Runs on every function. The values of a program do not change.
pub fn run(program: &mut Program) -> Result<(), Diagnostics> {
    for function in &mut program.functions {
        let mut body = std::mem::take(&mut function.body);
        hoist(&mut body, function);
        function.body = body;
    }
    Ok(())
}

/// Inner regions first, so that what leaves them can leave the outer ones.
fn hoist(block: &mut Block, function: &Function) {
    let mut ops = Vec::with_capacity(block.ops.len());
    for mut op in std::mem::take(&mut block.ops) {
        let branch = op.kind == OpKind::If;
        for region in &mut op.regions {
            hoist(region, function);
            let mut inside = HashSet::new();
            for_each_defined(region, &mut |v| {
                inside.insert(v);
            });
            let leaves = |op: &Op| may_move(op, function) && !(branch && is_float(op, function));
            ops.extend(leaving(region, &mut inside, leaves));
        }
        ops.push(op);
    }
    block.ops = ops;
}

fn is_float(op: &Op, function: &Function) -> bool {
    op.kind != OpKind::Constant && function.ty(op.results[0]).dtype().is_some_and(|d| d.is_float())
}

/// Takes the operations out of a region that depend on nothing inside.
fn leaving(region: &mut Block, inside: &mut HashSet<ValueId>, leaves: impl Fn(&Op) -> bool) -> Vec<Op> {
    let mut out = Vec::new();
    let mut kept = Vec::with_capacity(region.ops.len());
    for op in std::mem::take(&mut region.ops) {
        if leaves(&op) && !op.operands.iter().any(|v| inside.contains(v)) {
            op.results.iter().for_each(|v| {
                inside.remove(v);
            });
            out.push(op);
        } else {
            kept.push(op);
        }
    }
    region.ops = kept;
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::check_pass;

    #[test]
    fn index_arithmetic_leaves_loops_and_branches() {
        check_pass(
            super::run,
            r#"
            fn @f incore (%0 "m": i64 in, %1 "c": bool in, %2 "x": f32 in) {
              %3: i64 = constant() {value = 0, dtype = i64}
              for(%3, %0, %0) do (%4 "i": i64) {
                if(%1) do () {
                  %5: i64 = constant() {value = 8, dtype = i64}
                  %6: i64 = mul(%0, %5)
                  %7: i64 = add(%6, %4)
                  %8: f32 = exp(%2)
                  %9: i64 = div(%0, %0)
                } do () {
                }
              }
            }"#,
            r#"
            fn @f incore (%0 "m": i64 in, %1 "c": bool in, %2 "x": f32 in) {
              %3: i64 = constant() {value = 0, dtype = i64}
              %4: i64 = constant() {value = 8, dtype = i64}
              %5: i64 = mul(%0, %4)
              for(%3, %0, %0) do (%6 "i": i64) {
                %7: i64 = add(%5, %6)
                if(%1) do () {
                  %8: f32 = exp(%2)
                  %9: i64 = div(%0, %0)
                } do () {
                }
              }
            }"#,
        );
    }
}
