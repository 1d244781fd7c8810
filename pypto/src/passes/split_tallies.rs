//! Loops that count: `bins[x[i]] += 1`.
//!
//! Which element an iteration changes is known only at run time, so that no proof makes such a loop parallel. But sums of integers, which
//! wrap, do not depend on their order: parts of the loop run side by side, each on a tensor of its own, and what they counted is added to the
//! tensor in the end. Iterations that are left over, fewer than there are parts, run on the tensor itself.
//!
//! Requires: kinds of loops are settled, and equal values are computed once.

use std::collections::{HashMap, HashSet};

use super::accesses::root;
use super::definitions::{Definitions, for_each_defined};
use super::extract::simple_op;
use super::outline::{index_constant, row_major};
use super::ranges::Ranges;
use super::transplant::{ValueMap, copy_op};
use crate::ir::{
    Attr, AttrKey, Attrs, Block, DType, Extent, Function, Loc, LoopKind, Op, Program, TensorType, TileType, Type,
    ValueId,
};
use crate::ops::fold::Literal;
use crate::ops::{Class, OpKind};

/// Parts of a loop for each thread: one that is interrupted leaves the others something to do.
const PARTS_PER_THREAD: i64 = 2;
/// Iterations that an element of a part's own tensor must pay for.
const ITERATIONS_PER_ELEMENT: i64 = 16;

/// Splits the loops at the top level of every function.
pub fn split_tallies(program: &mut Program, threads: usize) {
    if threads < 2 {
        return;
    }
    let parts = threads as i64 * PARTS_PER_THREAD;
    for function in &mut program.functions {
        let found = {
            let ranges = Ranges::new(Definitions::of(function));
            let tally = |(position, op): (usize, &Op)| Some((position, Tally::of(op, &ranges, parts)?));
            function.body.ops.iter().enumerate().filter_map(tally).collect::<HashMap<_, _>>()
        };
        if found.is_empty() {
            continue;
        }
        let body = std::mem::take(&mut function.body);
        let mut ops = Vec::new();
        for (position, op) in body.ops.into_iter().enumerate() {
            match found.get(&position) {
                Some(tally) => tally.split(&op, function, &mut ops),
                None => ops.push(op),
            }
        }
        function.body = Block { ops, ..body };
    }
}

/// A loop that counts into a tensor.
struct Tally {
    tensor: ValueId,
    dtype: DType,
    dims: Vec<i64>,
    lower: i64,
    step: i64,
    /// Iterations of the whole loop.
    trips: i64,
    parts: i64,
}

impl Tally {
    fn of(op: &Op, ranges: &Ranges<'_>, parts: i64) -> Option<Tally> {
        let in_order = op.kind == OpKind::For && op.attrs.loop_kind() == LoopKind::Sequential && op.results.is_empty();
        let (tensor, ty) = counted(in_order.then(|| &op.regions[0])?, ranges)?;
        let dims: Vec<i64> = ty.dims.iter().map(|d| d.constant()).collect::<Option<_>>()?;
        let constant = |operand: usize| ranges.form(op.operands[operand]).as_constant();
        let (lower, upper, step) = (constant(0)?, constant(1)?, constant(2).filter(|step| *step > 0)?);
        let trips = upper.checked_sub(lower)?.checked_add(step - 1)? / step;
        let elements = dims.iter().try_fold(parts, |n, d| n.checked_mul(*d))?;
        let pays = elements.checked_mul(ITERATIONS_PER_ELEMENT)? <= trips;
        pays.then_some(Tally { tensor, dtype: ty.dtype, dims, lower, step, trips, parts })
    }

    /// Writes the loop as parts, what is left over, and the sum.
    fn split(&self, op: &Op, function: &mut Function, out: &mut Vec<Op>) {
        let loc = op.loc;
        let dims: Vec<Extent> = [self.parts].iter().chain(&self.dims).map(|&n| Extent::Const(n)).collect();
        let strides = row_major(&dims, function, out, loc);
        let (dtype, own) = (self.dtype, TensorType { dtype: self.dtype, dims, strides });
        let own = function.add_value(Type::Tensor(own), None, loc);
        let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(dtype));
        out.push(simple_op(OpKind::Alloc, Vec::new(), attrs, vec![own], loc));

        // Copies read types of the loop's own values, which the table keeps.
        let source = function.clone();
        let part = self.part(op, own, &source, function);
        out.extend(self.loop_over(part, self.parts, LoopKind::Parallel, function, loc));
        let done = self.trips / self.parts * self.parts;
        if done < self.trips {
            let mut rest = copy_op(op, &source, function, &mut ValueMap::new());
            rest.operands[0] = index_constant(function, self.lower + done * self.step, out, loc);
            out.push(rest);
        }
        self.add_up(own, function, out, loc);
    }

    /// One part: clears its tensor, and counts.
    fn part(&self, op: &Op, own: ValueId, source: &Function, function: &mut Function) -> Block {
        let (loc, trips) = (op.loc, self.trips / self.parts);
        let number = function.add_value(Type::INDEX, None, loc);
        let mut ops = Vec::new();
        let view = self.view(own, number, function, &mut ops, loc);
        let zero = index_constant(function, 0, &mut ops, loc);
        let none = if self.dtype == DType::I64 { zero } else { self.literal_zero(function, &mut ops, loc) };
        let cleared = function.add_value(self.tile(), None, loc);
        let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(self.dtype));
        ops.push(simple_op(OpKind::Full, vec![none], attrs, vec![cleared], loc));
        let at = vec![zero; self.dims.len()];
        ops.push(simple_op(OpKind::Store, [vec![cleared, view], at].concat(), Attrs::new(), Vec::new(), loc));

        let size = index_constant(function, trips * self.step, &mut ops, loc);
        let lower = index_constant(function, self.lower, &mut ops, loc);
        let start = binary(OpKind::Mul, number, size, function, &mut ops, loc);
        let start = binary(OpKind::Add, start, lower, function, &mut ops, loc);
        let step = index_constant(function, self.step, &mut ops, loc);
        // From 0 on, so that the number of iterations is seen to be constant.
        let offset = function.add_value(Type::INDEX, None, loc);
        let mut nested = Vec::new();
        let index = binary(OpKind::Add, start, offset, function, &mut nested, loc);
        let body = &op.regions[0];
        let mut map = ValueMap::from([(self.tensor, view), (body.args[0], index)]);
        nested.extend(body.ops.iter().map(|op| copy_op(op, source, function, &mut map)));
        ops.push(Op {
            kind: OpKind::For,
            operands: vec![zero, size, step],
            attrs: op.attrs.clone(),
            regions: vec![Block { args: vec![offset], ops: nested, yields: Vec::new() }],
            results: Vec::new(),
            loc,
        });
        Block { args: vec![number], ops, yields: Vec::new() }
    }

    fn loop_over(&self, body: Block, count: i64, kind: LoopKind, function: &mut Function, loc: Loc) -> Vec<Op> {
        let mut ops = Vec::new();
        let bounds = [0, count, 1].map(|n| index_constant(function, n, &mut ops, loc));
        ops.push(Op {
            kind: OpKind::For,
            operands: bounds.to_vec(),
            attrs: Attrs::new().with(AttrKey::Loop, Attr::Loop(kind)),
            regions: vec![body],
            results: Vec::new(),
            loc,
        });
        ops
    }

    /// Adds what the parts counted to the tensor.
    fn add_up(&self, own: ValueId, function: &mut Function, out: &mut Vec<Op>, loc: Loc) {
        let zero = index_constant(function, 0, out, loc);
        let at = vec![zero; self.dims.len()];
        let load = |tensor: ValueId, function: &mut Function, out: &mut Vec<Op>| {
            let tile = function.add_value(self.tile(), None, loc);
            out.push(simple_op(OpKind::Load, [vec![tensor], at.clone()].concat(), Attrs::new(), vec![tile], loc));
            tile
        };
        let mut sum = load(self.tensor, function, out);
        for part in 0..self.parts {
            let number = index_constant(function, part, out, loc);
            let view = self.view(own, number, function, out, loc);
            let counted = load(view, function, out);
            let both = function.add_value(self.tile(), None, loc);
            out.push(simple_op(OpKind::Add, vec![sum, counted], Attrs::new(), vec![both], loc));
            sum = both;
        }
        out.push(simple_op(
            OpKind::Store,
            [vec![sum, self.tensor], at.clone()].concat(),
            Attrs::new(),
            Vec::new(),
            loc,
        ));
    }

    fn tile(&self) -> Type {
        Type::Tile(TileType::full(self.dtype, self.dims.iter().map(|&n| Extent::Const(n))))
    }

    fn literal_zero(&self, function: &mut Function, out: &mut Vec<Op>, loc: Loc) -> ValueId {
        let value = function.add_value(Type::Scalar(self.dtype), None, loc);
        out.push(simple_op(OpKind::Constant, Vec::new(), Literal::Int(0).attrs(self.dtype), vec![value], loc));
        value
    }

    /// The tensor of a part.
    fn view(&self, own: ValueId, number: ValueId, function: &mut Function, out: &mut Vec<Op>, loc: Loc) -> ValueId {
        let zero = index_constant(function, 0, out, loc);
        let dims: Vec<Extent> = self.dims.iter().map(|&n| Extent::Const(n)).collect();
        let strides = row_major(&dims, function, out, loc);
        let view = function.add_value(Type::Tensor(TensorType { dtype: self.dtype, dims, strides }), None, loc);
        let operands = [vec![own, number], vec![zero; self.dims.len()]].concat();
        out.push(simple_op(OpKind::View, operands, Attrs::new(), vec![view], loc));
        view
    }
}

fn binary(kind: OpKind, a: ValueId, b: ValueId, function: &mut Function, out: &mut Vec<Op>, loc: Loc) -> ValueId {
    let value = function.add_value(Type::INDEX, None, loc);
    out.push(simple_op(kind, vec![a, b], Attrs::new(), vec![value], loc));
    value
}

/// The tensor that a loop's body counts into, and its type: the body reads an element of it, adds to it, and writes it back, uses it for
/// nothing else, and has no other effect but assertions.
fn counted<'f>(body: &Block, ranges: &Ranges<'f>) -> Option<(ValueId, &'f TensorType)> {
    let function = ranges.definitions.function;
    let scalar =
        |op: &Op| op.regions.is_empty() && op.results.iter().all(|v| matches!(function.ty(*v), Type::Scalar(_)));
    let allowed = |op: &&Op| {
        let computes = matches!(op.kind.class(), Class::Constant | Class::Cast) || op.kind.is_elementwise();
        scalar(op) && (computes || matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Assert))
    };
    if body.args.len() != 1 || !body.ops.iter().all(|op| allowed(&op)) {
        return None;
    }
    let mut writes = body.ops.iter().filter(|op| op.kind == OpKind::Write);
    let write = writes.next().filter(|_| writes.next().is_none())?;
    let (value, tensor, place) = (write.operands[0], write.operands[1], &write.operands[2..]);
    let ty = function.ty(tensor).as_tensor().filter(|ty| ty.dtype.is_integer() && !ty.dims.is_empty())?;
    let made_by = |value: ValueId| body.ops.iter().find(|op| op.results.contains(&value));
    let once = |value: ValueId| body.ops.iter().flat_map(|op| &op.operands).filter(|v| **v == value).count() == 1;
    let sum = made_by(value).filter(|op| op.kind == OpKind::Add && once(value))?;
    let is_old = |op: &&Op| op.kind == OpKind::Read && op.operands[0] == tensor && op.operands[1..] == *place;
    let old = sum.operands.iter().find_map(|v| made_by(*v).filter(|op| is_old(op) && once(*v)))?;
    let own = root(tensor, ranges);
    let others = body.ops.iter().filter(|op| op.kind == OpKind::Read && !std::ptr::eq(*op, old));
    let apart = others.into_iter().all(|op| root(op.operands[0], ranges) != own);
    let mut defined = HashSet::new();
    for_each_defined(body, &mut |v| {
        defined.insert(v);
    });
    (apart && !defined.contains(&tensor)).then_some((tensor, ty))
}
