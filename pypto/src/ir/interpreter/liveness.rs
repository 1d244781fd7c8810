//! When tiles and tensors are used for the last time: there the interpreter drops them, and changes in place what
//! nobody else holds.

use std::collections::HashMap;

use crate::ir::{Block, Function, Type, ValueId};

/// Last uses of every block of a function.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    blocks: HashMap<*const Block, BlockLiveness>,
}

/// Last uses in one block.
#[derive(Debug, Default)]
pub(super) struct BlockLiveness {
    /// For each operation the values of this block that are not used after it.
    pub dying: Vec<Vec<ValueId>>,
    /// Values of this block that its yields use.
    pub yielded: Vec<ValueId>,
}

impl Liveness {
    /// The last uses in a function's blocks, to be asked for with the very same blocks.
    pub(super) fn of(function: &Function) -> Liveness {
        let mut liveness = Liveness::default();
        let mut last_use = vec![None; function.values.len()];
        liveness.block(function, &function.body, &mut last_use);
        liveness
    }

    pub(super) fn block_of(&self, block: &Block) -> Option<&BlockLiveness> {
        self.blocks.get(&std::ptr::from_ref(block))
    }

    /// Fills in a block and those inside of it; `last_use` is by value, for the block at hand.
    fn block(&mut self, function: &Function, block: &Block, last_use: &mut [Option<usize>]) {
        let mut own: Vec<ValueId> = block.args.clone();
        for op in &block.ops {
            own.extend(&op.results);
        }
        own.retain(|v| {
            matches!(function.values.get(v.0 as usize).map(|v| &v.ty), Some(Type::Tile(_) | Type::Tensor(_)))
        });
        for (index, op) in block.ops.iter().enumerate() {
            for value in op.operands.iter().chain(&op.results) {
                if let Some(entry) = last_use.get_mut(value.0 as usize) {
                    *entry = Some(index);
                }
            }
            for region in &op.regions {
                // Uses inside of the region count as uses by the operation that has it.
                let mut inner = vec![None; last_use.len()];
                self.block(function, region, &mut inner);
                for (entry, inner) in last_use.iter_mut().zip(inner) {
                    if inner.is_some() {
                        *entry = Some(index);
                    }
                }
            }
        }
        let mut dying = vec![Vec::new(); block.ops.len()];
        let mut yielded = Vec::new();
        for value in own {
            if block.yields.contains(&value) {
                yielded.push(value);
            } else if let Some(Some(index)) = last_use.get(value.0 as usize) {
                dying[*index].push(value);
            }
        }
        for value in &block.yields {
            if let Some(entry) = last_use.get_mut(value.0 as usize) {
                *entry = Some(block.ops.len());
            }
        }
        self.blocks.insert(std::ptr::from_ref(block), BlockLiveness { dying, yielded });
    }
}
