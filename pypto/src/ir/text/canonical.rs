//! The canonical numbering: values in the order in which the text defines them, and none that nothing defines.

use crate::ir::{Block, Extent, Function, Program, ValueId, ValueInfo};

/// Renumbers the values of every function in the order of the text.
pub fn canonicalize(program: &mut Program) {
    program.functions.iter_mut().for_each(canonicalize_function);
}

/// Renumbers the values of a function in the order of the text: parameters, then for each operation its results and
/// its regions. Values that nothing defines are dropped; uses of such values, which the verifier rejects, are kept as
/// numbers past the table.
pub fn canonicalize_function(function: &mut Function) {
    let order = definition_order(function);
    let mut numbers = vec![None; function.values.len()];
    for (number, value) in order.iter().enumerate() {
        if let Some(slot) = numbers.get_mut(value.0 as usize) {
            *slot = Some(ValueId(number as u32));
        }
    }
    let undefined = ValueId(u32::MAX);
    let renumber = |v: ValueId| numbers.get(v.0 as usize).copied().flatten().unwrap_or(undefined);
    let mut values: Vec<ValueInfo> = order.iter().filter_map(|v| function.values.get(v.0 as usize).cloned()).collect();
    for info in &mut values {
        info.ty.map_values(|v| Extent::Value(renumber(v)));
    }
    function.values = values;
    for param in &mut function.params {
        param.value = renumber(param.value);
    }
    renumber_block(&mut function.body, &renumber);
}

fn renumber_block(block: &mut Block, renumber: &impl Fn(ValueId) -> ValueId) {
    let lists = [&mut block.args, &mut block.yields];
    lists.into_iter().flatten().for_each(|v| *v = renumber(*v));
    for op in &mut block.ops {
        let lists = [&mut op.operands, &mut op.results];
        lists.into_iter().flatten().for_each(|v| *v = renumber(*v));
        op.regions.iter_mut().for_each(|region| renumber_block(region, renumber));
    }
}

/// The values that a function defines, in the order of the text.
pub(super) fn definition_order(function: &Function) -> Vec<ValueId> {
    let mut order: Vec<ValueId> = function.params.iter().map(|p| p.value).collect();
    collect(&function.body, &mut order);
    order
}

fn collect(block: &Block, order: &mut Vec<ValueId>) {
    order.extend(&block.args);
    for op in &block.ops {
        order.extend(&op.results);
        op.regions.iter().for_each(|region| collect(region, order));
    }
}
