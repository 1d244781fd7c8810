//! Tells orchestration from compute: which operations of a function's top level stay, and which form kernels.

use super::definitions::for_each_use;
use crate::ir::{Block, Function, LoopKind, Op, Type};
use crate::ops::{Class, OpKind};

/// Where an operation of the top level belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Stays, and may move ahead of compute that it does not depend on.
    Scalar,
    /// Stays, after what writes the tensor that it reads.
    Read,
    /// Stays, with its regions split the same way.
    Nest,
    /// A call that stays.
    Call,
    /// Joins the kernel of its neighbours.
    Compute,
    /// A parallel loop: a kernel of its own.
    ParallelLoop,
}

/// The place of an operation.
pub fn place(op: &Op, function: &Function) -> Place {
    match op.kind {
        OpKind::Call => Place::Call,
        OpKind::Read => Place::Read,
        OpKind::Alloc | OpKind::View => Place::Scalar,
        OpKind::For | OpKind::If | OpKind::While if stays(op, function) => Place::Nest,
        OpKind::For if is_parallel(op) => Place::ParallelLoop,
        OpKind::Extract | OpKind::Assert | OpKind::Print | OpKind::Checkpoint => Place::Compute,
        _ if is_scalar(op, function) => Place::Scalar,
        _ => Place::Compute,
    }
}

/// Arithmetic on scalars alone.
pub fn is_scalar(op: &Op, function: &Function) -> bool {
    let scalar = |v: &crate::ir::ValueId| matches!(function.ty(*v), Type::Scalar(_));
    let class = matches!(op.kind.class(), Class::Constant) || op.kind.is_elementwise();
    class && op.operands.iter().all(scalar) && op.results.iter().all(scalar)
}

/// A loop that is proved parallel.
pub fn is_parallel(op: &Op) -> bool {
    op.kind == OpKind::For && op.attrs.loop_kind() == LoopKind::Parallel
}

/// Whether control flow belongs to the orchestration: it dispatches calls, allocates, only computes scalars, or runs
/// parallel loops one after the other.
fn stays(op: &Op, function: &Function) -> bool {
    if any(op, &|o| matches!(o.kind, OpKind::Call | OpKind::Alloc)) {
        return true;
    }
    let carries_tiles = op.results.iter().any(|v| function.ty(*v).as_tile().is_some());
    if !carries_tiles && !any(op, &|o| is_compute(o, function)) {
        return true;
    }
    !is_parallel(op) && !carries_tiles && any_nested(op, &is_parallel)
}

fn is_compute(op: &Op, function: &Function) -> bool {
    let mut tiles =
        matches!(op.kind, OpKind::Write | OpKind::Assert | OpKind::ScatterRows) || op.kind.class() == Class::Report;
    if op.regions.is_empty() {
        for_each_use(op, function, &mut |v| tiles |= function.ty(v).as_tile().is_some());
        tiles |= op.results.iter().any(|v| function.ty(*v).as_tile().is_some());
    }
    tiles
}

fn any(op: &Op, wanted: &impl Fn(&Op) -> bool) -> bool {
    wanted(op) || any_nested(op, wanted)
}

fn any_nested(op: &Op, wanted: &impl Fn(&Op) -> bool) -> bool {
    op.regions.iter().any(|region| region.ops.iter().any(|nested| any(nested, wanted)))
}

/// The block in which the iterations of a kernel do their work: the body of the innermost of perfectly nested parallel
/// loops, or the block itself. What is put there at the front leaves the nest perfect.
pub fn work_block<'a>(block: &'a mut Block, function: &Function) -> &'a mut Block {
    let loops: Vec<usize> = (0..block.ops.len()).filter(|i| is_parallel(&block.ops[*i])).collect();
    let [only] = loops[..] else { return block };
    let rest_scalar = block.ops.iter().enumerate().all(|(i, op)| i == only || is_scalar(op, function));
    if !rest_scalar || !block.yields.is_empty() {
        return block;
    }
    work_block(&mut block.ops[only].regions[0], function)
}
