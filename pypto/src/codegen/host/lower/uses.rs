//! Who uses which value: the facts that decide what is written to memory, what may be overwritten, and when memory is free again.
//!
//! A position is the index of an operation in the block that *defines* the value; uses in nested regions count at the operation that owns
//! the region, and the block's yields at the number of its operations.

use std::collections::HashSet;

use crate::ir::{Block, Function, ValueId};
use crate::ops::OpKind;

/// Uses of every value of a function.
pub(super) struct Uses {
    positions: Vec<Vec<usize>>,
    block_of: Vec<usize>,
    /// For every tensor value, the parameter or allocation whose memory it is a part of.
    roots: Vec<ValueId>,
    /// Roots that the function writes.
    written: HashSet<ValueId>,
}

/// The block that an operation is in, as numbered by [`Uses`]: the address of the block identifies it.
fn block_key(block: &Block) -> usize {
    std::ptr::from_ref(block) as usize
}

impl Uses {
    /// Walks the function.
    pub fn of(function: &Function) -> Uses {
        let count = function.values.len();
        let mut uses = Uses {
            positions: vec![Vec::new(); count],
            block_of: vec![0; count],
            roots: (0..count as u32).map(ValueId).collect(),
            written: HashSet::new(),
        };
        for param in &function.params {
            uses.block_of[param.value.0 as usize] = block_key(&function.body);
        }
        uses.walk(&function.body, &mut Vec::new());
        uses
    }

    fn walk(&mut self, block: &Block, path: &mut Vec<(usize, usize)>) {
        let key = block_key(block);
        for &arg in &block.args {
            self.block_of[arg.0 as usize] = key;
        }
        for (position, op) in block.ops.iter().enumerate() {
            path.push((key, position));
            for &operand in &op.operands {
                self.record(operand, path);
            }
            for &result in &op.results {
                self.block_of[result.0 as usize] = key;
            }
            if op.kind == OpKind::View {
                self.roots[op.result().0 as usize] = self.root(op.operands[0]);
            }
            if let Some(tensor) = written_tensor(op) {
                self.written.insert(self.root(tensor));
            }
            for region in &op.regions {
                self.walk(region, path);
            }
            path.pop();
        }
        path.push((key, block.ops.len()));
        for &value in &block.yields {
            self.record(value, path);
        }
        path.pop();
    }

    fn record(&mut self, value: ValueId, path: &[(usize, usize)]) {
        let block = self.block_of[value.0 as usize];
        if let Some(&(_, position)) = path.iter().rev().find(|(key, _)| *key == block) {
            self.positions[value.0 as usize].push(position);
        }
    }

    /// Positions of the uses, ascending, one entry for each use.
    pub fn positions(&self, value: ValueId) -> &[usize] {
        &self.positions[value.0 as usize]
    }

    /// Position of the last use; `None` for unused values.
    pub fn last(&self, value: ValueId) -> Option<usize> {
        self.positions(value).last().copied()
    }

    /// Whether the block itself defines the value.
    pub fn is_defined_in(&self, value: ValueId, block: &Block) -> bool {
        self.block_of[value.0 as usize] == block_key(block)
    }

    /// Whether the operation at `position` of `block` is the one and only remaining use of the value.
    pub fn dies_at(&self, value: ValueId, block: &Block, position: usize) -> bool {
        self.block_of[value.0 as usize] == block_key(block)
            && self.last(value) == Some(position)
            && self.positions(value).iter().filter(|&&p| p == position).count() == 1
    }

    /// The tensor whose memory a tensor value is a part of.
    pub fn root(&self, tensor: ValueId) -> ValueId {
        self.roots[tensor.0 as usize]
    }

    /// Whether the function writes the memory of that root.
    pub fn is_written(&self, root: ValueId) -> bool {
        self.written.contains(&root)
    }
}

/// The tensor that the operation itself writes.
pub(super) fn written_tensor(op: &crate::ir::Op) -> Option<ValueId> {
    matches!(op.kind, OpKind::Store | OpKind::ScatterRows | OpKind::Write).then(|| op.operands[1])
}

/// The tensors that an operation and its regions write.
pub(super) fn written_tensors(op: &crate::ir::Op, out: &mut Vec<ValueId>) {
    out.extend(written_tensor(op));
    for region in &op.regions {
        for inner in &region.ops {
            written_tensors(inner, out);
        }
    }
}
