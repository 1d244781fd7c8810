//! Kernels with work for both units of a core, and kernels with checks, are not called as a whole: they are expanded into
//! the function that calls them, which dispatches their parts.

use super::units::Units;
use crate::ir::{Function, FunctionKind, Op, Program};

/// Marks such kernels, but not the entry, as inline.
pub fn inline_mixed(program: &mut Program) {
    for (index, function) in program.functions.iter_mut().enumerate() {
        if index != program.entry && function.kind == FunctionKind::InCore && is_mixed(function) {
            function.kind = FunctionKind::Inline;
        }
    }
}

fn is_mixed(function: &Function) -> bool {
    let units = Units::of(function);
    let wrapped = |op: &Op| units.unit(op, function);
    let found: Vec<_> = function.body.ops.iter().filter_map(wrapped).collect();
    // Of a check alone, too.
    let mixed = function.body.ops.iter().any(|op| units.is_mixed(op, function));
    mixed || found.windows(2).any(|pair| pair[0] != pair[1])
}
