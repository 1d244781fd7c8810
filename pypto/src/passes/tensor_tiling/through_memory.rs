//! Rearrangements of large tiles as transfers: what is joined, cut out or picked is a store and a load; what is shown is a
//! tensor.

use std::collections::HashMap;

use super::blocks::bytes;
use super::runs::{allocate, zeros};
use crate::ir::{Attr, AttrKey, Attrs, DType, Extent, Function, Loc, Op, TensorType, Type, ValueId};
use crate::ops::OpKind;
use crate::passes::extract::simple_op;
use crate::passes::outline::index_constant;

/// Replaces `slice`, `concat`, `assemble` and `extract` where they touch more than `limit` bytes.
pub fn rewrite(ops: Vec<Op>, function: &mut Function, limit: i64) -> Vec<Op> {
    let mut loads: HashMap<ValueId, Op> = HashMap::new();
    let mut out = Vec::with_capacity(ops.len());
    for op in ops {
        let large = op.results.iter().chain(&op.operands).any(|v| bytes(*v, function) > limit);
        match op.kind {
            OpKind::Load => {
                loads.insert(op.results[0], op.clone());
                out.push(op);
            }
            OpKind::Store | OpKind::ScatterRows | OpKind::Call | OpKind::For | OpKind::If | OpKind::While => {
                // What was loaded before may be overwritten: a part of it has to be taken from the value.
                loads.clear();
                out.push(op);
            }
            OpKind::Slice if large => slice(op, &loads, function, &mut out),
            OpKind::Concat if large => concat(op, function, &mut out),
            OpKind::Assemble if large => assemble(op, function, &mut out),
            OpKind::Extract if large => extract(op, &loads, function, &mut out),
            OpKind::Print | OpKind::Checkpoint if large => report(op, limit, function, &mut out),
            _ => out.push(op),
        }
    }
    out
}

/// A load at the sum of the offsets, from the tensor that the operand was loaded from, or from one that it is put into.
fn slice(mut op: Op, loads: &HashMap<ValueId, Op>, function: &mut Function, out: &mut Vec<Op>) {
    let mut operands = located(op.operands[0], loads, function, out);
    add_offsets(&mut operands[1..], &op.operands[1..], function, out, op.loc);
    op.kind = OpKind::Load;
    op.operands = operands;
    out.push(op);
}

fn extract(mut op: Op, loads: &HashMap<ValueId, Op>, function: &mut Function, out: &mut Vec<Op>) {
    let mut operands = located(op.operands[0], loads, function, out);
    add_offsets(&mut operands[1..], &op.operands[1..], function, out, op.loc);
    op.kind = OpKind::Read;
    op.operands = operands;
    out.push(op);
}

/// A tensor with offsets at which the value lies in memory.
fn located(value: ValueId, loads: &HashMap<ValueId, Op>, function: &mut Function, out: &mut Vec<Op>) -> Vec<ValueId> {
    if let Some(load) = loads.get(&value) {
        return load.operands.clone();
    }
    let tensor = allocate(value, function, out);
    let offsets = zeros(value, function, out);
    store(value, tensor, &offsets, function, out);
    [vec![tensor], offsets].concat()
}

fn store(value: ValueId, tensor: ValueId, offsets: &[ValueId], function: &Function, out: &mut Vec<Op>) {
    let operands = [&[value, tensor], offsets].concat();
    out.push(simple_op(OpKind::Store, operands, Attrs::new(), Vec::new(), function.info(value).loc));
}

fn add_offsets(to: &mut [ValueId], added: &[ValueId], function: &mut Function, out: &mut Vec<Op>, loc: Loc) {
    for (offset, more) in to.iter_mut().zip(added) {
        let sum = function.add_value(Type::Scalar(DType::I64), None, loc);
        out.push(simple_op(OpKind::Add, vec![*offset, *more], Attrs::new(), vec![sum], loc));
        *offset = sum;
    }
}

/// Both parts into one tensor, side by side.
fn concat(mut op: Op, function: &mut Function, out: &mut Vec<Op>) {
    let (a, b) = (op.operands[0], op.operands[1]);
    let axis = op.attrs.int(AttrKey::Axis).unwrap_or(0) as usize;
    let tensor = allocate(op.results[0], function, out);
    let offsets = zeros(op.results[0], function, out);
    store(a, tensor, &offsets, function, out);
    let mut behind = offsets.clone();
    if let Some(extent) = function.ty(a).as_tile().and_then(|t| t.dims.get(axis)).copied() {
        behind[axis] = match extent {
            Extent::Const(n) => index_constant(function, n, out, op.loc),
            Extent::Value(v) => v,
        };
    }
    store(b, tensor, &behind, function, out);
    op.kind = OpKind::Load;
    op.attrs = Attrs::new();
    op.operands = [vec![tensor], offsets].concat();
    out.push(op);
}

/// Shows what is valid of large tiles as tensors that they are stored to.
fn report(mut op: Op, limit: i64, function: &mut Function, out: &mut Vec<Op>) {
    let mut tiles = Vec::new();
    for (position, operand) in op.operands.iter_mut().enumerate() {
        if bytes(*operand, function) <= limit {
            continue;
        }
        tiles.push(position.to_string());
        let Some(tile) = function.ty(*operand).as_tile().cloned() else { continue };
        let tensor = allocate(*operand, function, out);
        let offsets = zeros(*operand, function, out);
        store(*operand, tensor, &offsets, function, out);
        *operand = match function.ty(tensor).as_tensor().cloned() {
            Some(whole) if whole.dims != tile.valid => {
                let info = function.info(*operand).clone();
                let part = Type::Tensor(TensorType { dims: tile.valid, ..whole });
                let view = function.add_value(part, info.name, info.loc);
                let operands = [vec![tensor], offsets].concat();
                out.push(simple_op(OpKind::View, operands, Attrs::new(), vec![view], op.loc));
                view
            }
            _ => tensor,
        };
    }
    if op.kind == OpKind::Print {
        // They are still printed as what they are in the source.
        op.attrs.set(AttrKey::Origin, Attr::Text(tiles.join(" ")));
    }
    out.push(op);
}

/// The target, then the source over it.
fn assemble(mut op: Op, function: &mut Function, out: &mut Vec<Op>) {
    let (target, source) = (op.operands[0], op.operands[1]);
    let tensor = allocate(op.results[0], function, out);
    let offsets = zeros(op.results[0], function, out);
    store(target, tensor, &offsets, function, out);
    store(source, tensor, &op.operands[2..], function, out);
    op.kind = OpKind::Load;
    op.operands = [vec![tensor], offsets].concat();
    out.push(op);
}
