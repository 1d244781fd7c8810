//! Copies operations from one function into another, or within one under new values.
//!
//! Values that the copied operations use must be mapped before; values that they define get fresh ones on the way.

use std::collections::HashMap;

use crate::ir::{Block, Extent, Function, Op, Type, ValueId};

/// Which value of the target stands for which of the source.
pub type ValueMap = HashMap<ValueId, ValueId>;

/// The type with its extents mapped; an extent without an entry stays.
pub fn map_type(ty: &Type, map: &ValueMap) -> Type {
    let mut ty = ty.clone();
    ty.map_values(|v| Extent::Value(map.get(&v).copied().unwrap_or(v)));
    ty
}

/// Fresh values for several that may name one another in their types, as carried tiles name their carried extents.
fn fresh_all(values: &[ValueId], source: &Function, target: &mut Function, map: &mut ValueMap) -> Vec<ValueId> {
    let copies: Vec<ValueId> = values
        .iter()
        .map(|v| {
            let info = source.info(*v);
            let copy = target.add_value(info.ty.clone(), info.name.clone(), info.loc);
            map.insert(*v, copy);
            copy
        })
        .collect();
    for (value, copy) in values.iter().zip(&copies) {
        target.values[copy.0 as usize].ty = map_type(source.ty(*value), map);
    }
    copies
}

/// A copy of an operation with everything nested in it.
pub fn copy_op(op: &Op, source: &Function, target: &mut Function, map: &mut ValueMap) -> Op {
    let mapped =
        |values: &[ValueId], map: &ValueMap| values.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
    let operands = mapped(&op.operands, map);
    let mut regions = Vec::with_capacity(op.regions.len());
    for region in &op.regions {
        let args = fresh_all(&region.args, source, target, map);
        let ops = region.ops.iter().map(|nested| copy_op(nested, source, target, map)).collect();
        let yields = mapped(&region.yields, map);
        regions.push(Block { args, ops, yields });
    }
    let results = fresh_all(&op.results, source, target, map);
    Op { kind: op.kind, operands, attrs: op.attrs.clone(), regions, results, loc: op.loc }
}
