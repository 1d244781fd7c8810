//! Removes checkpoints from a program whose values nobody wants to see, before any pass runs.

use crate::ir::{Block, Program};
use crate::ops::OpKind;

/// Removes every `checkpoint`. What only computes their values is dead code then.
pub fn remove_checkpoints(program: &mut Program) {
    program.functions.iter_mut().for_each(|function| remove(&mut function.body));
}

fn remove(block: &mut Block) {
    block.ops.retain(|op| op.kind != OpKind::Checkpoint);
    block.ops.iter_mut().flat_map(|op| &mut op.regions).for_each(remove);
}
