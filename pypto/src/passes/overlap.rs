//! What to say about a parallel loop whose iterations are not independent: where both touch, and with which numbers.

use super::accesses::{Access, Interval};
use super::affine::Affine;
use super::ranges::Ranges;
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::{Function, LoopKind, Op, ValueId};

/// A loop that carries values and was called independent.
pub fn carried(op: &Op, function: &Function) -> Diagnostic {
    let name = op.regions[0].args.get(1).and_then(|v| function.info(*v).name.as_deref()).unwrap_or("a value");
    let kind = loop_name(op);
    Diagnostic::error(
        codes::NOT_DISJOINT,
        op.loc,
        format!("iterations of `{kind}` depend on each other through `{name}`"),
        format!("`{name}` goes from one iteration to the next"),
    )
    .help(format!("drop `{kind}` so that the iterations run in order, or keep one `{name}` for each iteration"))
}

/// Two accesses that may meet in different iterations.
pub fn conflict(op: &Op, a: &Access, b: &Access, ranges: &Ranges<'_>) -> Diagnostic {
    let function = ranges.definitions.function;
    let kind = loop_name(op);
    let tensor = function.info(a.root).name.clone().unwrap_or_else(|| "a tensor".to_owned());
    let (first, second) = if a.writes { (a, b) } else { (b, a) };
    let verb = if first.writes && second.writes { "both write" } else { "write and read" };
    let concrete = meeting(op, first, second, ranges);
    let mut diagnostic = match &concrete {
        Some((iterations, place)) => Diagnostic::error(
            codes::OVERLAPPING_WRITES,
            first.loc,
            format!("iterations {} and {} of `{kind}` {verb} `{tensor}[{place}]`", iterations.0, iterations.1),
            format!("`{tensor}` is written here"),
        ),
        None => Diagnostic::error(
            codes::NOT_DISJOINT,
            first.loc,
            format!("iterations of `{kind}` may {} the same elements of `{tensor}`", verb.trim_start_matches("both ")),
            format!("`{tensor}` is written here"),
        ),
    };
    if second.loc != first.loc {
        let text = if second.writes { "and written here" } else { "and read here" };
        diagnostic = diagnostic.label(second.loc, text);
    }
    diagnostic = diagnostic.label(op.loc, format!("in this `{kind}` loop"));
    advise(diagnostic, op, first, ranges)
}

fn advise(diagnostic: Diagnostic, op: &Op, access: &Access, ranges: &Ranges<'_>) -> Diagnostic {
    let kind = loop_name(op);
    let index = op.regions[0].args[0];
    let step = ranges.form(op.operands[2]);
    let region = access.region.as_deref().unwrap_or_default();
    let mut moves = false;
    for (axis, interval) in region.iter().enumerate() {
        let Some((factor, _)) = interval.offset.split(index) else { continue };
        if factor.as_constant() == Some(0) {
            moves |= interval.offset.values().iter().any(|v| depends(*v, index, ranges));
            continue;
        }
        moves = true;
        let reach = factor.mul(&step).and_then(|r| r.as_constant());
        let extent = interval.extents.iter().filter_map(Affine::as_constant).min();
        if let (Some(reach), Some(extent)) = (reach, extent)
            && reach.abs() < extent
        {
            return diagnostic
                .note(format!(
                    "an iteration covers {extent} elements of dimension {axis}, the next starts {reach} further"
                ))
                .help(format!(
                    "advance by {extent} for each iteration, or access {reach} elements in dimension {axis}"
                ));
        }
    }
    if !moves && access.region.is_some() {
        return diagnostic
            .note("the place does not depend on the index of the loop")
            .help(format!("drop `{kind}` so that the iterations run in order"));
    }
    diagnostic.help(format!(
        "write places that are a multiple of the index apart, or drop `{kind}` so that the iterations run in order"
    ))
}

fn depends(value: ValueId, index: ValueId, ranges: &Ranges<'_>) -> bool {
    value == index
        || ranges.definitions.op(value).is_some_and(|op| {
            op.operands.iter().any(|operand| ranges.form(*operand).values().iter().any(|v| depends(*v, index, ranges)))
        })
}

/// The first two iterations whose accesses certainly meet, counted from 0, and where.
fn meeting(op: &Op, a: &Access, b: &Access, ranges: &Ranges<'_>) -> Option<((i64, i64), String)> {
    let (lower, step) = (ranges.form(op.operands[0]).as_constant()?, ranges.form(op.operands[2]).as_constant()?);
    let upper = ranges.form(op.operands[1]).as_constant()?;
    let index = op.regions[0].args[0];
    let (a_region, b_region) = (a.region.as_deref()?, b.region.as_deref()?);
    // Close iterations are the ones that meet; far ones would take a user longer to see.
    for (x, y) in [(0, 1), (1, 0), (0, 2), (2, 0)] {
        let at = |n: i64| step.checked_mul(n)?.checked_add(lower).filter(|i| *i < upper);
        let (Some(i), Some(j)) = (at(x), at(y)) else { continue };
        let common: Option<Vec<(i64, i64)>> = a_region
            .iter()
            .zip(b_region)
            .map(|(p, q)| {
                let ((p_low, p_high), (q_low, q_high)) = (numbers(p, index, i)?, numbers(q, index, j)?);
                let (low, high) = (p_low.max(q_low), p_high.min(q_high));
                (low < high).then_some((low, high))
            })
            .collect();
        if let Some(common) = common {
            return Some(((x.min(y), x.max(y)), place(&common, a.root, ranges)));
        }
    }
    None
}

/// First element and the one behind the last, exactly.
fn numbers(interval: &Interval, index: ValueId, at: i64) -> Option<(i64, i64)> {
    let at = Affine::constant(at);
    let low = interval.offset.substitute(index, &at)?.as_constant()?;
    let extents = interval.extents.iter().filter_map(|e| e.substitute(index, &at)?.as_constant());
    Some((low, low.checked_add(extents.min()?)?))
}

/// `64..128, ..` with `..` for a dimension that is covered.
fn place(common: &[(i64, i64)], root: ValueId, ranges: &Ranges<'_>) -> String {
    let dims = ranges.definitions.function.ty(root).as_tensor().map(|t| t.dims.clone()).unwrap_or_default();
    let part = |(axis, (low, high)): (usize, &(i64, i64))| match dims.get(axis).and_then(|d| d.constant()) {
        Some(n) if *low == 0 && *high == n => "..".to_owned(),
        _ => format!("{low}..{high}"),
    };
    common.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
}

fn loop_name(op: &Op) -> &'static str {
    if op.attrs.loop_kind() == LoopKind::Spmd { "spmd" } else { "parallel" }
}
