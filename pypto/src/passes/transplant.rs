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

/// A fresh value of `target` for `value` of `source`, entered into the map.
pub fn fresh(value: ValueId, source: &Function, target: &mut Function, map: &mut ValueMap) -> ValueId {
    let info = source.info(value);
    let copy = target.add_value(map_type(&info.ty, map), info.name.clone(), info.loc);
    map.insert(value, copy);
    copy
}

/// A copy of an operation with everything nested in it.
pub fn copy_op(op: &Op, source: &Function, target: &mut Function, map: &mut ValueMap) -> Op {
    let mapped =
        |values: &[ValueId], map: &ValueMap| values.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
    let operands = mapped(&op.operands, map);
    let mut regions = Vec::with_capacity(op.regions.len());
    for region in &op.regions {
        let args = region.args.iter().map(|v| fresh(*v, source, target, map)).collect();
        let ops = region.ops.iter().map(|nested| copy_op(nested, source, target, map)).collect();
        let yields = mapped(&region.yields, map);
        regions.push(Block { args, ops, yields });
    }
    let results = op.results.iter().map(|v| fresh(*v, source, target, map)).collect();
    Op { kind: op.kind, operands, attrs: op.attrs.clone(), regions, results, loc: op.loc }
}
