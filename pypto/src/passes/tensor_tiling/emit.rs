//! Writes a plan out as loops over blocks.
//!
//! Each operation of a group is made again with blocks in the place of whole extents: offsets of loads and stores move
//! with the loop indices, and valid extents are what of the original ones lies inside the block.

use std::collections::HashMap;

use super::placement::{self, Placement};
use super::plan::{Group, Run};
use crate::ir::{Attr, AttrKey, Attrs, Block, DType, Extent, Function, Loc, LoopKind, Op, TileType, Type, ValueId};
use crate::ops::OpKind;
use crate::passes::extract::simple_op;
use crate::passes::outline::index_constant;

/// Tensors that hold values of the run, by index of the operation.
pub type Holders = HashMap<usize, ValueId>;

/// The operations of one group.
pub fn group(run: &Run<'_>, group: &Group, holders: &Holders, function: &mut Function, out: &mut Vec<Op>) {
    let mut members: Vec<usize> = group.members.keys().copied().collect();
    members.sort_unstable();
    let Some(first) = members.first() else { return };
    let loc = run.ops[*first].loc;
    let indices: Vec<ValueId> = group.loops.iter().map(|_| function.add_value(Type::INDEX, None, loc)).collect();
    let mut emitter = Emitter {
        run,
        group,
        holders,
        function,
        indices: indices.clone(),
        ops: Vec::new(),
        values: HashMap::new(),
        valids: HashMap::new(),
        loc,
    };
    for index in members {
        emitter.member(index);
    }
    let body = emitter.ops;
    let ends: Vec<Extent> = (0..group.loops.len()).map(|number| end(run, group, number)).collect();
    wrap(group, &ends, &indices, body, function, loc, out);
}

/// Where a loop ends: behind a valid part of known extent, there are only blocks without elements.
fn end(run: &Run<'_>, group: &Group, number: usize) -> Extent {
    let whole = group.loops[number].extent;
    let effects =
        group.members.iter().filter(|(index, _)| run.ops[**index].results.is_empty() || group.stored.contains(index));
    let valid = |(index, p): (&usize, &Placement)| {
        let axis = p.iter().position(|placed| *placed == Some(number))?;
        run.valid(*index).get(axis)?.constant()
    };
    match effects.map(valid).collect::<Option<Vec<i64>>>() {
        Some(valid) => valid.into_iter().max().map_or(whole, Extent::Const),
        None => whole,
    }
}

/// Nests the body in the loops.
fn wrap(
    group: &Group,
    ends: &[Extent],
    indices: &[ValueId],
    body: Vec<Op>,
    function: &mut Function,
    loc: Loc,
    out: &mut Vec<Op>,
) {
    let kind = if group.sequential { LoopKind::Sequential } else { LoopKind::Parallel };
    let mut body = body;
    for ((plan, end), index) in group.loops.iter().zip(ends).zip(indices).rev() {
        let mut around = Vec::new();
        let lower = index_constant(function, 0, &mut around, loc);
        let upper = match *end {
            Extent::Const(n) => index_constant(function, n, &mut around, loc),
            Extent::Value(v) => v,
        };
        let step = index_constant(function, plan.block, &mut around, loc);
        around.push(Op {
            kind: OpKind::For,
            operands: vec![lower, upper, step],
            attrs: Attrs::new().with(AttrKey::Loop, Attr::Loop(kind)),
            regions: vec![Block { args: vec![*index], ops: body, yields: Vec::new() }],
            results: Vec::new(),
            loc,
        });
        body = around;
    }
    out.extend(body);
}

struct Emitter<'a, 'r> {
    run: &'a Run<'r>,
    group: &'a Group,
    holders: &'a Holders,
    function: &'a mut Function,
    indices: Vec<ValueId>,
    ops: Vec<Op>,
    /// Blocks made so far, by value and placement.
    values: HashMap<(ValueId, Placement), ValueId>,
    /// Valid extents within blocks, by loop and extent.
    valids: HashMap<(usize, Extent), Extent>,
    loc: Loc,
}

impl Emitter<'_, '_> {
    fn member(&mut self, index: usize) {
        let op = &self.run.ops[index];
        self.loc = op.loc;
        let p = self.group.members[&index].clone();
        let mut operands = op.operands.clone();
        for (position, q) in placement::operands(op, &p, self.run.function).unwrap_or_default() {
            operands[position] = self.block_of(op.operands[position], &q);
        }
        match op.kind {
            OpKind::Store => {
                self.move_offsets(&mut operands[2..], &p);
                self.ops.push(simple_op(OpKind::Store, operands, op.attrs.clone(), Vec::new(), op.loc));
                return;
            }
            OpKind::ScatterRows => {
                self.ops.push(simple_op(OpKind::ScatterRows, operands, op.attrs.clone(), Vec::new(), op.loc));
                return;
            }
            _ => {}
        }
        let result = self.remake(op, operands, &p);
        self.values.insert((op.results[0], p.clone()), result);
        if self.group.stored.contains(&index) {
            let mut operands = vec![result, self.holders[&index]];
            operands.extend(self.block_offsets(&p));
            self.ops.push(simple_op(OpKind::Store, operands, Attrs::new(), Vec::new(), op.loc));
        }
    }

    /// The operation with blocked operands, for a block of its result.
    fn remake(&mut self, op: &Op, mut operands: Vec<ValueId>, p: &Placement) -> ValueId {
        let ty = self.block_type(op.results[0], p);
        match op.kind {
            OpKind::Load => self.move_offsets(&mut operands[1..], p),
            OpKind::Iota => {
                let axis = op.attrs.int(AttrKey::Axis).unwrap_or(0) as usize;
                if let Some(number) = p[axis] {
                    operands[0] = self.advance_start(operands[0], number);
                }
            }
            // Padding makes the block valid to its end, which may lie behind that of the whole.
            OpKind::Fillpad if ty.valid != ty.dims => {
                let padded = self.define(op, operands, TileType::full(ty.dtype, ty.dims.clone()));
                let cut = simple_op(OpKind::SetValid, vec![padded], Attrs::new(), Vec::new(), op.loc);
                return self.define(&cut, vec![padded], ty);
            }
            // So does repeating an extent of 1.
            OpKind::Broadcast => {
                let valid = self.repeated_valid(operands[0], &ty);
                if valid != ty.valid {
                    let repeated = self.define(op, operands, TileType { valid, ..ty.clone() });
                    let cut = simple_op(OpKind::SetValid, vec![repeated], Attrs::new(), Vec::new(), op.loc);
                    return self.define(&cut, vec![repeated], ty);
                }
            }
            _ => {}
        }
        self.define(op, operands, ty)
    }

    /// The valid extents of `source` repeated to a block.
    fn repeated_valid(&self, source: ValueId, block: &TileType) -> Vec<Extent> {
        let Some(source) = self.function.ty(source).as_tile() else { return block.valid.clone() };
        let axis = |axis: usize| match source.valid[axis] {
            valid if source.dims[axis] == block.dims[axis] => valid,
            Extent::Const(0) => Extent::Const(0),
            Extent::Const(_) => block.dims[axis],
            Extent::Value(_) => block.valid[axis],
        };
        (0..block.dims.len()).map(axis).collect()
    }

    fn define(&mut self, op: &Op, operands: Vec<ValueId>, ty: TileType) -> ValueId {
        let name = op.results.first().and_then(|v| self.run.function.info(*v).name.clone());
        let value = self.function.add_value(Type::Tile(ty), name, op.loc);
        self.ops.push(simple_op(op.kind, operands, op.attrs.clone(), vec![value], op.loc));
        value
    }

    /// The block of a value that the group makes, of one that it can make anywhere, or of one that is stored.
    fn block_of(&mut self, value: ValueId, q: &Placement) -> ValueId {
        if let Some(made) = self.values.get(&(value, q.clone())) {
            return *made;
        }
        let Some((index, op)) = self.run.producer(value) else { return value };
        let block = match self.holders.get(&index) {
            Some(holder) => {
                let mut operands = vec![*holder];
                operands.extend(self.block_offsets(q));
                let load = simple_op(OpKind::Load, Vec::new(), Attrs::new(), vec![value], op.loc);
                let ty = self.block_type(value, q);
                self.define(&load, operands, ty)
            }
            None => self.remake(op, op.operands.clone(), q),
        };
        self.values.insert((value, q.clone()), block);
        block
    }

    /// Offsets of the block in a tensor of the value's own extents.
    fn block_offsets(&mut self, p: &Placement) -> Vec<ValueId> {
        let index = |this: &mut Self, loop_number: Option<usize>| match loop_number {
            Some(number) => this.indices[number],
            None => index_constant(this.function, 0, &mut this.ops, this.loc),
        };
        p.iter().map(|number| index(self, *number)).collect()
    }

    fn move_offsets(&mut self, offsets: &mut [ValueId], p: &Placement) {
        for (offset, number) in offsets.iter_mut().zip(p) {
            if let Some(number) = number {
                let index = self.indices[*number];
                *offset = self.scalar(OpKind::Add, *offset, index, DType::I64);
            }
        }
    }

    fn advance_start(&mut self, start: ValueId, number: usize) -> ValueId {
        let dtype = self.function.ty(start).dtype().unwrap_or(DType::I64);
        let mut index = self.indices[number];
        if dtype != DType::I64 {
            let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(dtype));
            let cast = self.function.add_value(Type::Scalar(dtype), None, self.loc);
            self.ops.push(simple_op(OpKind::Cast, vec![index], attrs, vec![cast], self.loc));
            index = cast;
        }
        self.scalar(OpKind::Add, start, index, dtype)
    }

    fn scalar(&mut self, kind: OpKind, a: ValueId, b: ValueId, dtype: DType) -> ValueId {
        let value = self.function.add_value(Type::Scalar(dtype), None, self.loc);
        self.ops.push(simple_op(kind, vec![a, b], Attrs::new(), vec![value], self.loc));
        value
    }

    fn block_type(&mut self, value: ValueId, p: &Placement) -> TileType {
        let Some(mut tile) = self.run.function.ty(value).as_tile().cloned() else {
            return TileType::full(DType::F32, Vec::<i64>::new());
        };
        for (axis, number) in p.iter().enumerate() {
            if let Some(number) = number {
                tile.dims[axis] = Extent::Const(self.group.loops[*number].block);
                tile.valid[axis] = self.valid_in_block(*number, tile.valid[axis]);
            }
        }
        tile
    }

    /// How much of `valid` lies inside the block: `min(block, valid - index)`, not below 0.
    fn valid_in_block(&mut self, number: usize, valid: Extent) -> Extent {
        if let Some(known) = self.valids.get(&(number, valid)) {
            return *known;
        }
        let plan = &self.group.loops[number];
        let whole = valid == plan.extent;
        let block = plan.block;
        let within = match plan.extent {
            Extent::Const(n) if whole && n % block == 0 => Extent::Const(block),
            _ => {
                let limit = match valid {
                    Extent::Const(n) => index_constant(self.function, n, &mut self.ops, self.loc),
                    Extent::Value(v) => v,
                };
                let rest = self.scalar(OpKind::Sub, limit, self.indices[number], DType::I64);
                let size = index_constant(self.function, block, &mut self.ops, self.loc);
                let mut inside = self.scalar(OpKind::Min, size, rest, DType::I64);
                if !whole {
                    let zero = index_constant(self.function, 0, &mut self.ops, self.loc);
                    inside = self.scalar(OpKind::Max, inside, zero, DType::I64);
                }
                Extent::Value(inside)
            }
        };
        self.valids.insert((number, valid), within);
        within
    }
}
