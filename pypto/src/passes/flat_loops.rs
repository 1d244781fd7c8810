//! The parallel loops at the top of a kernel, whose iterations are numbered through and dealt out: to threads on the host,
//! to the blocks of a task on an accelerator.

use crate::ir::{Block, Function, IndexExpr, IndexExprs, LoopKind, Op};
use crate::ops::OpKind;

/// One flattened loop: where it starts, its step, and how many iterations it has, over the kernel's arguments.
#[derive(Clone, Debug)]
pub struct Level<'f> {
    pub op: &'f Op,
    pub lower: IndexExpr,
    pub step: IndexExpr,
    pub count: IndexExpr,
}

/// The perfectly nested parallel loops at the top of the kernel, outermost first; the last runs fastest.
pub fn flattened(function: &Function) -> Vec<Level<'_>> {
    let exprs = IndexExprs::new(function);
    let mut levels = Vec::new();
    let mut block = &function.body;
    while let Some(level) = only_loop(block).and_then(|op| level(&exprs, op)) {
        block = &level.op.regions[0];
        levels.push(level);
    }
    levels
}

/// How many iterations all levels have together; 1 without levels.
pub fn iterations(levels: &[Level<'_>]) -> IndexExpr {
    let product = |a, b| IndexExpr::binary(OpKind::Mul, a, b).unwrap_or(IndexExpr::Const(1));
    levels.iter().fold(IndexExpr::Const(1), |n, level| product(n, level.count.clone()))
}

/// The loop of a block that holds nothing else than it and pure scalar operations.
fn only_loop(block: &Block) -> Option<&Op> {
    let mut found = None;
    for op in &block.ops {
        match op.kind {
            OpKind::For if found.is_none() => found = Some(op),
            OpKind::Constant | OpKind::View => {}
            // A division that fails is reported once per iteration then, which is harmless.
            kind if kind.is_elementwise() => {}
            _ => return None,
        }
    }
    found.filter(|op| op.results.is_empty() && matches!(op.attrs.loop_kind(), LoopKind::Parallel | LoopKind::Spmd))
}

fn level<'f>(exprs: &IndexExprs<'_>, op: &'f Op) -> Option<Level<'f>> {
    let of = |i: usize| exprs.of(op.operands[i]);
    let (lower, upper, step) = (of(0)?, of(1)?, of(2)?);
    let length = IndexExpr::binary(OpKind::Sub, upper, lower.clone())?;
    let length = IndexExpr::binary(OpKind::Max, length, IndexExpr::Const(0))?;
    Some(Level { op, lower, count: IndexExpr::ceil_div(length, step.clone()), step })
}
