//! Keeps tiles that control flow carries in tensors where it dispatches kernels: what one kernel hands to another goes
//! through memory. Such is control flow around calls and allocations, and on cores with two units, with work for both.
//!
//! A loop gets a tensor for each carried tile, into which the initial value and then what each iteration yields are
//! stored; the body begins with loads of them. A branch stores what it gives.

use super::extract::simple_op;
use super::tensor_tiling::runs::{allocate, zeros};
use super::units::Units;
use crate::ir::{Attrs, Block, Function, Op, Program, ValueId};
use crate::ops::OpKind;

/// Rewrites control flow with work for both units, in every function.
pub fn carry_through_memory(program: &mut Program) {
    for function in &mut program.functions {
        let units = Units::of(function);
        let body = std::mem::take(&mut function.body);
        function.body = block(body, function, &|op, function| units.is_mixed(op, function));
    }
}

/// Rewrites control flow around calls and allocations, in every function.
pub fn carry_around_calls(program: &mut Program) {
    for function in &mut program.functions {
        let body = std::mem::take(&mut function.body);
        function.body = block(body, function, &|op, _| dispatches(op));
    }
}

fn dispatches(op: &Op) -> bool {
    matches!(op.kind, OpKind::Call | OpKind::Alloc) || op.regions.iter().any(|region| region.ops.iter().any(dispatches))
}

fn block(body: Block, function: &mut Function, in_parts: &impl Fn(&Op, &Function) -> bool) -> Block {
    let mut ops = Vec::new();
    for mut op in body.ops {
        let apart = !op.regions.is_empty() && in_parts(&op, function);
        for region in &mut op.regions {
            let nested = std::mem::take(region);
            *region = block(nested, function, in_parts);
        }
        match op.kind {
            OpKind::For if apart => rewrite_loop(op, function, &mut ops),
            OpKind::If if apart => rewrite_branch(op, function, &mut ops),
            _ => ops.push(op),
        }
    }
    Block { args: body.args, ops, yields: body.yields }
}

/// Which results are tiles, the last first, so that one can be removed after the other.
fn tiles(op: &Op, function: &Function) -> Vec<usize> {
    let is_tile = |position: &usize| function.ty(op.results[*position]).as_tile().is_some();
    (0..op.results.len()).rev().filter(is_tile).collect()
}

fn rewrite_loop(mut op: Op, function: &mut Function, out: &mut Vec<Op>) {
    let mut loads = Vec::new();
    let mut after = Vec::new();
    for position in tiles(&op, function) {
        let result = op.results.remove(position);
        let initial = op.operands.remove(3 + position);
        let region = &mut op.regions[0];
        let argument = region.args.remove(1 + position);
        let yielded = region.yields.remove(position);
        let holder = allocate(argument, function, out);
        store(initial, holder, function, out);
        let mut load_argument = Vec::new();
        load(argument, holder, function, &mut load_argument);
        loads.push(load_argument);
        let mut store_yielded = Vec::new();
        store(yielded, holder, function, &mut store_yielded);
        region.ops.extend(store_yielded);
        load(result, holder, function, &mut after);
    }
    op.regions[0].ops.splice(0..0, loads.into_iter().rev().flatten());
    out.push(op);
    out.extend(after);
}

fn rewrite_branch(mut op: Op, function: &mut Function, out: &mut Vec<Op>) {
    let mut after = Vec::new();
    for position in tiles(&op, function) {
        let result = op.results.remove(position);
        let holder = allocate(result, function, out);
        for region in &mut op.regions {
            let yielded = region.yields.remove(position);
            let mut ops = Vec::new();
            store(yielded, holder, function, &mut ops);
            region.ops.extend(ops);
        }
        load(result, holder, function, &mut after);
    }
    out.push(op);
    out.extend(after);
}

fn store(value: ValueId, tensor: ValueId, function: &mut Function, out: &mut Vec<Op>) {
    let mut operands = vec![value, tensor];
    operands.extend(zeros(value, function, out));
    let loc = function.info(value).loc;
    out.push(simple_op(OpKind::Store, operands, Attrs::new(), Vec::new(), loc));
}

fn load(value: ValueId, tensor: ValueId, function: &mut Function, out: &mut Vec<Op>) {
    let mut operands = vec![tensor];
    operands.extend(zeros(value, function, out));
    let loc = function.info(value).loc;
    out.push(simple_op(OpKind::Load, operands, Attrs::new(), vec![value], loc));
}
