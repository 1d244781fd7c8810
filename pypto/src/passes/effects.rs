//! Which operations do something besides computing their results.

use crate::ir::{Function, Op, Type};
use crate::ops::{Effect, OpKind};

/// Whether the operation must stay even if nothing uses its results: it writes memory, calls, shows values, or may stop the kernel.
/// Other reads do not count.
pub fn must_stay(op: &Op, function: &Function) -> bool {
    match op.kind.info().effect {
        Effect::Pure => false,
        // An index outside of the tensor stops it.
        Effect::Reads => op.kind == OpKind::GatherRows,
        Effect::Writes | Effect::Reports => true,
        Effect::Fails => may_fail(op, function),
        Effect::Nested if op.kind == OpKind::Call => true,
        Effect::Nested => op.regions.iter().flat_map(|region| &region.ops).any(|nested| must_stay(nested, function)),
    }
}

/// Whether the operation depends on nothing but its operands: equal ones have equal results. An operation that may fail
/// is among them: where an equal one has passed, it passes as well.
pub fn is_function_of_operands(op: &Op) -> bool {
    // Each allocation is another tensor.
    op.kind != OpKind::Alloc
        && match op.kind.info().effect {
            Effect::Pure => true,
            Effect::Fails => op.kind != OpKind::Assert,
            Effect::Reads | Effect::Writes | Effect::Nested | Effect::Reports => false,
        }
}

/// Whether an operation that some operands stop can be one: divisions of floats cannot.
fn may_fail(op: &Op, function: &Function) -> bool {
    let floats = op.results.first().and_then(|r| function.ty(*r).dtype()).is_some_and(|d| d.is_float());
    !floats || !matches!(op.kind, OpKind::Div | OpKind::Rem)
}

/// Whether the operation may run where it did not run before: it only computes, cheaply, on scalars.
pub fn may_move(op: &Op, function: &Function) -> bool {
    let scalar = |r: &crate::ir::ValueId| matches!(function.ty(*r), Type::Scalar(_));
    op.regions.is_empty()
        && op.results.len() == 1
        && op.results.iter().all(scalar)
        && op.kind != OpKind::Extract
        && is_function_of_operands(op)
        && !(op.kind.info().effect == Effect::Fails && may_fail(op, function))
}
