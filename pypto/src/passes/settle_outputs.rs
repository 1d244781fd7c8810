//! Decides how far `out` parameters keep the promise that they are written in full.
//!
//! Where the program shows that every element is written, the parameter stays `out`. Where it shows that a run may write
//! nothing, because every write is behind one `if` or in one loop that run-time data decides, it is an error. Where it
//! shows neither, the parameter becomes `inout`: its old contents are kept, and calls of the function wait for them.
//!
//! Callees come before their callers, whose coverage depends on them. Requires that inline functions are expanded and
//! loops are unrolled; comes before passes that read the directions of calls.

use std::collections::HashSet;

use super::accesses::{self, Directions};
use super::coverage::{Coverage, Gate, Written};
use super::definitions::{Definitions, Origin};
use super::ranges::Ranges;
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::ir::{AttrKey, Block, Direction, Extent, Function, FunctionKind, Param, ParamRole, Program, ValueId};
use crate::ops::OpKind;

/// Settles the directions of every function's parameters.
///
/// # Errors
/// One diagnostic for each `out` parameter that a run may leave unwritten.
pub fn settle_outputs(program: &mut Program) -> Result<(), Diagnostics> {
    let mut directions = accesses::directions(program);
    let mut errors = Vec::new();
    for index in callees_first(program) {
        let function = &program.functions[index];
        if function.kind == FunctionKind::Inline {
            continue;
        }
        let kept = in_out(function, &directions, &mut errors);
        let function = &mut program.functions[index];
        for position in kept {
            function.params[position].direction = Direction::InOut;
            if let Some(direction) = directions.get_mut(&function.name).and_then(|d| d.get_mut(position)) {
                *direction = Direction::InOut;
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Diagnostics(errors)) }
}

/// Positions of functions, each after those that it calls.
fn callees_first(program: &Program) -> Vec<usize> {
    fn visit(program: &Program, index: usize, seen: &mut HashSet<usize>, order: &mut Vec<usize>) {
        if !seen.insert(index) {
            return;
        }
        let mut called = Vec::new();
        callees(&program.functions[index].body, &mut called);
        for name in called {
            if let Some(callee) = program.functions.iter().position(|f| f.name == name) {
                visit(program, callee, seen, order);
            }
        }
        order.push(index);
    }
    let (mut seen, mut order) = (HashSet::new(), Vec::new());
    (0..program.functions.len()).for_each(|index| visit(program, index, &mut seen, &mut order));
    order
}

fn callees<'p>(block: &'p Block, found: &mut Vec<&'p str>) {
    for op in &block.ops {
        if op.kind == OpKind::Call {
            found.extend(op.attrs.text(AttrKey::Callee));
        }
        op.regions.iter().for_each(|region| callees(region, found));
    }
}

/// Positions of parameters that are `out` by their declaration alone.
fn in_out(function: &Function, directions: &Directions, errors: &mut Vec<Diagnostic>) -> Vec<usize> {
    let declared = |param: &Param| param.direction == Direction::Out && param.role == ParamRole::Tensor;
    if !function.params.iter().any(declared) {
        return Vec::new();
    }
    let ranges = Ranges::new(Definitions::of(function));
    let mut kept = Vec::new();
    for (position, param) in function.params.iter().enumerate().filter(|(_, param)| declared(param)) {
        let empty = function.ty(param.value).extents().any(|e| e == Extent::Const(0));
        let coverage = Coverage { ranges: &ranges, directions, tensor: param.value };
        let written = coverage.block(&function.body);
        // What a function returns is new: there are no old contents to keep.
        if empty || param.returned || coverage.is_full(&written) {
            continue;
        }
        match written.gate.filter(|gate| decided_by_data(gate, param, &ranges)) {
            Some(gate) => errors.push(conditional(param, &written, &gate)),
            None => kept.push(position),
        }
    }
    kept
}

/// Whether run-time data decides, and neither the extents of the parameter nor a loop that the gate is in.
fn decided_by_data(gate: &Gate, param: &Param, ranges: &Ranges<'_>) -> bool {
    let function = ranges.definitions.function;
    let own: HashSet<ValueId> = function.ty(param.value).extents().filter_map(|e| e.value()).collect();
    let (mut open, mut seen) = (gate.deciding.into_iter().flatten().collect::<Vec<_>>(), HashSet::new());
    let mut data = false;
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        if own.contains(&value) {
            return false;
        }
        match ranges.definitions.origin(value) {
            Some(Origin::Param(_)) => data = true,
            Some(Origin::Result { op, .. }) if matches!(op.kind, OpKind::Read | OpKind::Extract) => data = true,
            Some(Origin::Result { op, .. }) if op.regions.is_empty() => open.extend(&op.operands),
            _ => return false,
        }
    }
    data
}

fn conditional(param: &Param, written: &Written, gate: &Gate) -> Diagnostic {
    let name = &param.name;
    let title = format!("`{name}` is `#[out]` but written on some paths only");
    let (place, label) = match gate.is_loop {
        true => ("loop", "this loop may have no iterations"),
        false => ("condition", "nothing is written on the other path"),
    };
    let mut diagnostic = Diagnostic::error(codes::WRITTEN_ON_SOME_PATHS, gate.loc, title, label);
    if let Some(write) = written.first {
        diagnostic = diagnostic.label(write, format!("`{name}` is written here"));
    }
    diagnostic
        .label(param.loc, "declared `#[out]`: its old contents are unspecified")
        .help(format!("write `{name}` on every path, for example in full before the {place}"))
        .help("or declare it `&mut` without `#[out]`: what is not written then keeps its contents")
}
