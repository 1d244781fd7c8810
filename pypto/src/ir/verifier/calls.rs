//! Calls: callees, arguments and results across functions.

use std::collections::HashSet;

use super::{report, shown};
use crate::diagnostics::Diagnostic;
use crate::ir::{AttrKey, Block, Extent, Function, FunctionKind, Op, Program, Type};
use crate::ops::OpKind;

/// Checks the functions of a program against one another.
pub(super) fn check_program(program: &Program, errors: &mut Vec<Diagnostic>) {
    let mut names = HashSet::new();
    for function in &program.functions {
        if !names.insert(function.name.as_str()) {
            report(errors, &function.name, function.loc, "another function has the same name".to_owned());
        }
    }
    if program.entry >= program.functions.len() {
        if let Some(first) = program.functions.first() {
            report(errors, &first.name, first.loc, "the program's entry is none of its functions".to_owned());
        }
        return;
    }
    for caller in &program.functions {
        for_each_call(&caller.body, &mut |op| {
            if let Err(message) = check_call(program, caller, op) {
                report(errors, &caller.name, op.loc, format!("`call`: {message}"));
            }
        });
        if reaches(program, &caller.name, &caller.name, &mut HashSet::new()) {
            report(errors, &caller.name, caller.loc, "the function calls itself".to_owned());
        }
    }
}

fn for_each_call<'a>(block: &'a Block, f: &mut impl FnMut(&'a Op)) {
    for op in &block.ops {
        if op.kind == OpKind::Call {
            f(op);
        }
        op.regions.iter().for_each(|region| for_each_call(region, f));
    }
}

fn reaches(program: &Program, from: &str, target: &str, seen: &mut HashSet<String>) -> bool {
    let Some(function) = program.function(from) else { return false };
    let mut callees = Vec::new();
    for_each_call(&function.body, &mut |op| callees.extend(op.attrs.text(AttrKey::Callee)));
    callees
        .into_iter()
        .any(|callee| callee == target || (seen.insert(callee.to_owned()) && reaches(program, callee, target, seen)))
}

fn check_call(program: &Program, caller: &Function, op: &Op) -> Result<(), String> {
    let name = op.attrs.text(AttrKey::Callee).ok_or("has no callee")?;
    let callee = program.function(name).ok_or_else(|| format!("there is no function `{name}`"))?;
    let in_core = |kind| matches!(kind, FunctionKind::InCore | FunctionKind::Inline);
    if caller.kind == FunctionKind::InCore && !in_core(callee.kind) {
        return Err(format!("an in-core function calls `{name}`, which is {}", callee.kind.name()));
    }
    let after = usize::try_from(op.attrs.int(AttrKey::After).unwrap_or(0)).map_err(|_| "`after` is negative")?;
    let count = op.operands.len().checked_sub(after).ok_or("`after` exceeds the operands")?;
    if count != callee.params.len() {
        return Err(format!("`{name}` takes {} arguments, found {count}", callee.params.len()));
    }
    let ty = |v: crate::ir::ValueId| caller.values.get(v.0 as usize).map(|i| &i.ty);
    for event in &op.operands[count..] {
        if ty(*event) != Some(&Type::Event) {
            return Err("an operand to wait for is no event".to_owned());
        }
    }
    for (param, value) in callee.params.iter().zip(&op.operands) {
        let (Some(found), Some(expected)) = (ty(*value), callee.values.get(param.value.0 as usize)) else { continue };
        if !compatible(&expected.ty, found) {
            let (expected, found) = (shown(&expected.ty), shown(found));
            return Err(format!("parameter `{}` of `{name}` is {expected}, the argument is {found}", param.name));
        }
    }
    let yields = callee.body.yields.len();
    let (results, event) = match op.results.split_last() {
        Some((last, rest)) if ty(*last) == Some(&Type::Event) => (rest, true),
        _ => (&op.results[..], false),
    };
    if results.len() != yields {
        let extra = if event { " besides the event" } else { "" };
        return Err(format!("`{name}` yields {yields} values, the call has {} results{extra}", results.len()));
    }
    for (yielded, result) in callee.body.yields.iter().zip(results) {
        let (Some(expected), Some(found)) = (callee.values.get(yielded.0 as usize), ty(*result)) else { continue };
        if !compatible(&expected.ty, found) {
            return Err(format!("`{name}` yields {}, the result is {}", shown(&expected.ty), shown(found)));
        }
    }
    Ok(())
}

/// Whether types of two functions agree as far as constants tell.
fn compatible(a: &Type, b: &Type) -> bool {
    let constants_agree = |x: &[Extent], y: &[Extent]| {
        x.len() == y.len()
            && x.iter().zip(y).all(|(p, q)| match (p, q) {
                (Extent::Const(p), Extent::Const(q)) => p == q,
                _ => true,
            })
    };
    match (a, b) {
        (Type::Scalar(x), Type::Scalar(y)) => x == y,
        (Type::Tile(x), Type::Tile(y)) => x.dtype == y.dtype && constants_agree(&x.dims, &y.dims),
        (Type::Tensor(x), Type::Tensor(y)) => {
            x.dtype == y.dtype && constants_agree(&x.dims, &y.dims) && constants_agree(&x.strides, &y.strides)
        }
        (Type::Event, Type::Event) => true,
        _ => false,
    }
}
