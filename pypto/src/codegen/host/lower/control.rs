//! Loops and conditionals. Carried scalars are LIR values; carried tiles live in slots.
//!
//! A loop's tile variable has one slot for the whole loop. The value that becomes the next variable is computed right into that slot where
//! nothing needs the old value any more (see `in_place` of [`super::build`] and [`super::movement::take_over`]); otherwise it is copied at
//! the end of the iteration.

use std::cell::RefCell;

use super::access::Access;
use super::block::BlockState;
use super::context::{Bound, Lowering, Tile};
use super::cost;
use super::movement::take_over;
use super::trace::StepKind;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};
use crate::ir::{Block, DType, Op, ValueId};
use crate::ops::{Class, OpKind};

/// Lowers `for`, `if` or `while`; no group is open.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    match op.kind {
        OpKind::For => lower_for(l, b, state, op),
        OpKind::If => lower_if(l, b, state, op),
        _ => lower_while(l, b, state, op),
    }
}

/// The carried values of a loop: scalars as LIR values, tiles in slots.
struct Carried {
    scalars: Vec<Value>,
    /// One entry per carried value; `None` for scalars.
    slots: Vec<Option<Access>>,
}

fn start_carried<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    state: &mut BlockState<'f>,
    op: &'f Op,
    initial: &[ValueId],
) -> Carried {
    let mut carried = Carried { scalars: Vec::new(), slots: Vec::new() };
    for (&value, &result) in initial.iter().zip(&op.results) {
        if !l.is_tile(value) {
            carried.scalars.push(l.scalar(b, value));
            carried.slots.push(None);
            continue;
        }
        let access = match take_over(l, state, value, result) {
            Some(access) => {
                // What the dying value held, the loop holds: its body may change the slot like any other of its own.
                let held = state.live.iter().position(|&live| live == value);
                if let Some(at) = held {
                    state.live.swap_remove(at);
                } else {
                    l.hold(&access);
                }
                access
            }
            None => {
                let access = l.take_slot_for(b, result, op.loc);
                if let Some(tile) = l.tile(value).cloned() {
                    l.copy(b, &tile, l.tile_type(value), &access);
                }
                access
            }
        };
        carried.slots.push(Some(access));
    }
    carried
}

/// Binds block arguments to the carried values.
fn bind_arguments<'f>(
    l: &mut Lowering<'f>,
    state: &mut BlockState<'f>,
    args: &[ValueId],
    slots: &[Option<Access>],
    scalars: &[Value],
) {
    let mut scalars = scalars.iter();
    for (&arg, slot) in args.iter().zip(slots) {
        match slot {
            Some(access) => l.define_view(state, arg, Tile::Memory(access.clone())),
            None => {
                if let Some(&value) = scalars.next() {
                    l.bind_scalar(arg, value);
                }
            }
        }
    }
}

/// Makes the values that the body yields computed in the loop variables' slots where that is possible.
fn aim_yields(l: &mut Lowering<'_>, block: &Block, slots: &[Option<Access>]) {
    let args = &block.args[block.args.len() - slots.len()..];
    for ((&value, slot), &arg) in block.yields.iter().zip(slots).zip(args) {
        if let Some(access) = slot {
            aim(l, block, value, access, Some(arg));
        }
    }
}

/// Notes that `value`, if this block computes it, should be computed in that slot; so should the operand that it may take the place of.
fn aim(l: &mut Lowering<'_>, block: &Block, value: ValueId, access: &Access, owner: Option<ValueId>) {
    let Some((position, op)) = block.ops.iter().enumerate().find(|(_, op)| op.results.contains(&value)) else { return };
    l.destinations.insert(value, (access.clone(), owner));
    let replaced = match op.kind {
        OpKind::MatmulAcc | OpKind::Assemble => Some(op.operands[0]),
        OpKind::For => op.results.iter().position(|&r| r == value).and_then(|i| op.operands.get(3 + i)).copied(),
        _ => None,
    };
    if let Some(operand) = replaced.filter(|&o| l.uses.dies_at(o, block, position)) {
        aim(l, block, operand, access, owner);
    }
}

/// After a body: brings every yielded tile into its slot, and gives the yielded scalars.
fn finish_yields(
    l: &mut Lowering<'_>,
    b: &mut Builder<'_>,
    yields: &[ValueId],
    slots: &[Option<Access>],
) -> Vec<Value> {
    let (mut moves, mut saved) = (Vec::new(), Vec::new());
    for (&value, slot) in yields.iter().zip(slots) {
        let (Some(to), Some(from)) = (slot, l.tile(value).cloned()) else { continue };
        let source = match from {
            Tile::Memory(access) if access.whole_slot() == to.whole_slot() => continue,
            // A value that lies in another variable's slot must be saved before that slot is written.
            Tile::Memory(access) if slots.iter().flatten().any(|slot| slot.shares_memory(&access)) => {
                let ty = l.tile_type(value);
                let temporary = l.take_slot_for(b, value, l.function.info(value).loc);
                l.copy(b, &Tile::Memory(access), ty, &temporary);
                saved.push(temporary.clone());
                Tile::Memory(temporary)
            }
            other => other,
        };
        moves.push((value, source, to.clone()));
    }
    for (value, source, to) in moves {
        l.copy(b, &source, l.tile_type(value), &to);
    }
    for access in saved {
        l.release(&access);
    }
    yields.iter().zip(slots).filter(|(_, slot)| slot.is_none()).map(|(&v, _)| l.scalar(b, v)).collect()
}

/// Binds the results of a loop or conditional; the loop's hold on each slot passes to the result.
fn bind_results<'f>(
    l: &mut Lowering<'f>,
    state: &mut BlockState<'f>,
    results: &[ValueId],
    slots: &[Option<Access>],
    scalars: &[Value],
) {
    let mut scalars = scalars.iter();
    for (&result, slot) in results.iter().zip(slots) {
        match slot {
            Some(access) => l.define(state, result, Tile::Memory(access.clone())),
            None => {
                if let Some(&value) = scalars.next() {
                    l.bind(result, Bound::Scalar(value));
                }
            }
        }
    }
}

/// Lowers a body whose first arguments are bound: the rest of the arguments, operations, yields.
fn lower_body<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    block: &'f Block,
    slots: &[Option<Access>],
    scalars: &[Value],
) -> Vec<Value> {
    let mut state = BlockState::new(block);
    let args = &block.args[block.args.len() - slots.len()..];
    bind_arguments(l, &mut state, args, slots, scalars);
    aim_yields(l, block, slots);
    l.lower_block(b, &mut state);
    let next = finish_yields(l, b, &block.yields, slots);
    l.close(state);
    next
}

fn lower_for<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let (lower, upper) = (l.scalar(b, op.operands[0]), l.scalar(b, op.operands[1]));
    let step = checked_step(l, b, op);
    let carried = start_carried(l, b, state, op, &op.operands[3..]);
    let body = &op.regions[0];
    let outer = l.trips;
    let known = match (b.as_const(lower), b.as_const(upper), b.as_const(step)) {
        (Some(lo), Some(hi), Some(step)) => Some(hi.saturating_sub(lo).max(0).saturating_add(step - 1) / step.max(1)),
        _ => None,
    };
    l.trips *= cost::trips(known);
    l.trace.enter(op.loc, StepKind::Loop { trips: known });
    let scalars = b.for_loop(lower, upper, step, &carried.scalars, |b, index, scalars| {
        l.bind_scalar(body.args[0], index);
        lower_body(l, b, body, &carried.slots, scalars)
    });
    l.trace.leave();
    l.trips = outer;
    bind_results(l, state, &op.results, &carried.slots, &scalars);
}

/// The step of a loop; anything below 1 is reported, and 1 taken instead.
fn checked_step(l: &mut Lowering<'_>, b: &mut Builder<'_>, op: &Op) -> Value {
    let (step, one) = (l.scalar(b, op.operands[2]), b.index(1));
    let bad = b.cmp(Cmp::Lt, step, one);
    if b.as_const(bad) != Some(0) {
        let site = l.site(op.loc, "the step of a loop is not positive");
        b.fail_if(bad, site);
    }
    b.max(step, one)
}

fn lower_if<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let condition = l.scalar(b, op.operands[0]);
    let slots: Vec<Option<Access>> =
        op.results.iter().map(|&r| l.is_tile(r).then(|| l.take_slot_for(b, r, op.loc))).collect();
    let types: Vec<Type> = op.results.iter().filter(|&&r| !l.is_tile(r)).map(|&r| scalar_type(l, r)).collect();
    l.trace.enter(op.loc, StepKind::Branch);
    let shared = RefCell::new(&mut *l);
    let branch = |b: &mut Builder<'_>, block: &'f Block| {
        let mut l = shared.borrow_mut();
        let mut inner = BlockState::new(block);
        for (&value, slot) in block.yields.iter().zip(&slots) {
            if let Some(access) = slot {
                aim(&mut l, block, value, access, None);
            }
        }
        l.lower_block(b, &mut inner);
        let scalars = finish_yields(&mut l, b, &block.yields, &slots);
        l.close(inner);
        // After an error the types may be wrong; the module is not used then.
        scalars.into_iter().zip(&types).map(|(v, &ty)| if b.ty(v) == ty { v } else { b.constant(ty, 0) }).collect()
    };
    let scalars = b.if_else(
        condition,
        |b| branch(b, &op.regions[0]),
        |b| match op.regions.get(1) {
            Some(block) => branch(b, block),
            None => Vec::new(),
        },
    );
    l.trace.leave();
    bind_results(l, state, &op.results, &slots, &scalars);
}

fn scalar_type(l: &Lowering<'_>, value: ValueId) -> Type {
    let dtype = l.function.ty(value).dtype().unwrap_or(DType::I64);
    Type::Scalar(if dtype == DType::Bool { Elem::I1 } else { super::access::computing(dtype) })
}

/// The condition region must hand on its own arguments: LIR passes carried values only.
fn lower_while<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    let (test, body) = (&op.regions[0], &op.regions[1]);
    let passes_arguments = test.yields.get(1..) == Some(&test.args[..]);
    if !passes_arguments || test.ops.iter().any(|op| op.kind.class() == Class::Control) {
        return l.unsupported(op.loc, "a `while` whose condition computes values for the body");
    }
    let carried = start_carried(l, b, state, op, &op.operands);
    let outer = l.trips;
    l.trips *= cost::trips(None);
    l.trace.enter(op.loc, StepKind::Loop { trips: None });
    let shared = RefCell::new(&mut *l);
    let scalars = b.while_loop(
        &carried.scalars,
        |b, scalars| {
            let mut l = shared.borrow_mut();
            let mut inner = BlockState::new(test);
            bind_arguments(&mut l, &mut inner, &test.args, &carried.slots, scalars);
            l.lower_block(b, &mut inner);
            let condition = l.scalar(b, test.yields[0]);
            l.close(inner);
            condition
        },
        |b, scalars| lower_body(&mut shared.borrow_mut(), b, body, &carried.slots, scalars),
    );
    l.trace.leave();
    l.trips = outer;
    bind_results(l, state, &op.results, &carried.slots, &scalars);
}
