//! Transposes that only feed a matrix product become a flag of the product, which reads its operand the other way.
//!
//! The transpose itself is left to dead-code elimination.

use std::collections::HashMap;

use crate::ir::{Attr, AttrKey, Block, Program, ValueId};
use crate::ops::{Class, OpKind};

/// Folds transposes into the products of every function.
pub fn fold_transpose(program: &mut Program) {
    for function in &mut program.functions {
        let mut transposed = HashMap::new();
        collect(&function.body, &mut transposed);
        if !transposed.is_empty() {
            fold(&mut function.body, &transposed);
        }
    }
}

fn collect(block: &Block, transposed: &mut HashMap<ValueId, ValueId>) {
    for op in &block.ops {
        if op.kind == OpKind::Transpose {
            transposed.insert(op.results[0], op.operands[0]);
        }
        op.regions.iter().for_each(|region| collect(region, transposed));
    }
}

fn fold(block: &mut Block, transposed: &HashMap<ValueId, ValueId>) {
    for op in &mut block.ops {
        if op.kind.class() == Class::Matmul {
            let left = usize::from(op.kind == OpKind::MatmulAcc);
            for (position, key) in [(left, AttrKey::TransposeA), (left + 1, AttrKey::TransposeB)] {
                while let Some(source) = transposed.get(&op.operands[position]) {
                    op.operands[position] = *source;
                    let flipped = !op.attrs.flag(key);
                    op.attrs.set(key, Attr::Bool(flipped));
                }
            }
        }
        op.regions.iter_mut().for_each(|region| fold(region, transposed));
    }
}
