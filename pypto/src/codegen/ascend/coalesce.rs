//! Lets the producer of a carried tile write it where the next iteration looks for it, instead of copying it there.

use super::dialect::{Function, Inst, Kind, TileOp, Value};

/// Removes the copy into `place` at the end of a loop's body where the copied tile is made by one instruction of the body,
/// and nothing between that and the copy reads what `place` held before.
pub fn into_place(body: &mut Vec<Inst>, place: Value, function: &Function) {
    let Some((copy, source)) = last_copy(body, place) else { return };
    let Some(alloc) = body.iter().position(|i| matches!(i.kind, Kind::Alloc { result, .. } if result == source)) else {
        return;
    };
    let writes = |i: &Inst| matches!(i.kind, Kind::Tile { out, .. } if out == source);
    let mut writers = body.iter().enumerate().filter(|(_, i)| writes(i)).map(|(at, _)| at);
    let (Some(writer), None) = (writers.next(), writers.next()) else { return };
    let Kind::Tile { op, ins, .. } = &body[writer].kind else { return };
    if function.ty(source) != function.ty(place) || (!op.works_in_place() && ins.contains(&place)) {
        return;
    }
    let aliased = |v: Value| body.iter().any(|i| matches!(i.kind, Kind::Alias { source, .. } if source == v));
    if aliased(place) || aliased(source) || body[writer + 1..copy].iter().any(|i| mentions(i, place)) {
        return;
    }
    body.remove(copy);
    body.remove(alloc);
    for inst in body.iter_mut() {
        rename(inst, source, place);
    }
}

/// The last instruction that writes `place`, where it is a copy: its position, and what it copies.
fn last_copy(body: &[Inst], place: Value) -> Option<(usize, Value)> {
    let at = body.iter().rposition(|i| matches!(i.kind, Kind::Tile { out, .. } if out == place))?;
    match &body[at].kind {
        Kind::Tile { op: TileOp::Move, ins, .. } => Some((at, ins[0])),
        _ => None,
    }
}

/// Whether an instruction, or one inside of it, uses or writes a value.
fn mentions(inst: &Inst, value: Value) -> bool {
    let written = matches!(inst.kind, Kind::Tile { out, .. } if out == value);
    written || inst.operands().contains(&value) || inst.bodies().iter().any(|b| b.iter().any(|i| mentions(i, value)))
}

fn rename(inst: &mut Inst, from: Value, to: Value) {
    let swap = |v: &mut Value| {
        if *v == from {
            *v = to;
        }
    };
    match &mut inst.kind {
        Kind::Tile { ins, out, .. } => {
            ins.iter_mut().for_each(swap);
            swap(out);
        }
        Kind::Alias { source, .. } => swap(source),
        Kind::GetElement { tile, .. } => swap(tile),
        Kind::Report { values, .. } => values.iter_mut().for_each(swap),
        Kind::For { body, .. } => body.iter_mut().for_each(|i| rename(i, from, to)),
        Kind::If { then, otherwise, .. } => {
            then.body.iter_mut().chain(&mut otherwise.body).for_each(|i| rename(i, from, to));
        }
        _ => {}
    }
}
