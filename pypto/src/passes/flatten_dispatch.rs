//! One function dispatches: functions that dispatch and that the entry calls are expanded into it.
//!
//! The runtime makes one task graph of a call, with edges between the tasks of all of them, so a nested orchestration
//! has nothing of its own to keep. Marks such functions as inline; `inline` expands them.

use crate::ir::{FunctionKind, Program};

/// Marks every function but the entry that is no kernel.
pub fn flatten_dispatch(program: &mut Program) {
    for (index, function) in program.functions.iter_mut().enumerate() {
        if function.kind.dispatches() && index != program.entry {
            function.kind = FunctionKind::Inline;
        }
    }
}
