//! Cuts a function into an orchestration and kernels.
//!
//! The top level of every function that is no kernel is read in order. Parallel loops become kernels of their own, runs
//! of straight-line compute between them become one kernel each, and what is left dispatches them: scalar arithmetic,
//! reads, allocations, views, calls, and control flow around several kernels. A tile that one kernel makes and another
//! needs goes through a tensor; one that is cheap to make again (a load of memory that nobody writes in between, a
//! constant) is made again.
//!
//! Requires: loops are settled by `prove_parallel`, and functions other than the entry and kernels are inlined.
//! Establishes: the entry is an `Orchestration` and every other function `InCore`.

use std::collections::{HashMap, HashSet};

use super::accesses::{self, Directions};
use super::definitions::{Definitions, for_each_use};
use super::effects::must_stay;
use super::extract::{Outside, extract, simple_op};
use super::ranges::Ranges;
use super::segments::{Place, is_scalar, place};
use super::units::Units;
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::ir::{
    Attr, AttrKey, Attrs, Block, DType, Extent, Function, FunctionKind, Loc, Op, Program, TensorType, Type, ValueId,
};
use crate::ops::{Class, Effect, OpKind};

/// Outlines the compute of every function that is not a kernel.
///
/// # Errors
/// A tile that control flow around calls carries or yields: there is no tensor to hold it.
pub fn outline(program: &mut Program) -> Result<(), Diagnostics> {
    outline_with(program, false)
}

/// As [`outline`], and every kernel is for one unit of a core: compute is cut where the unit changes, and control flow
/// with work for both dispatches.
///
/// # Errors
/// As [`outline`].
pub fn outline_units(program: &mut Program) -> Result<(), Diagnostics> {
    outline_with(program, true)
}

fn outline_with(program: &mut Program, by_unit: bool) -> Result<(), Diagnostics> {
    let mut directions = accesses::directions(program);
    let mut kernels = Vec::new();
    for (index, function) in program.functions.iter_mut().enumerate() {
        let keep = function.kind == FunctionKind::InCore && index != program.entry;
        if keep || function.kind == FunctionKind::Inline {
            continue;
        }
        let units = by_unit.then(|| Units::of(function));
        let body = std::mem::take(&mut function.body);
        let mut outliner = Outliner {
            units,
            roots: Roots::of(function, &body),
            function,
            kernels: &mut kernels,
            taken: &mut directions,
            outside: Outside::default(),
        };
        let body = outliner.block(body)?;
        function.body = body;
        function.kind = FunctionKind::Orchestration;
        remove_dead(function);
    }
    program.functions.extend(kernels);
    Ok(())
}

/// Drops what the orchestration no longer needs itself: scalars that only kernels use, and memory that nobody touches.
fn remove_dead(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    let mut used: HashSet<ValueId> = body.yields.iter().copied().collect();
    sweep(&mut body, function, &mut used);
    function.body = body;
}

fn sweep(block: &mut Block, function: &Function, used: &mut HashSet<ValueId>) {
    used.extend(block.yields.iter().copied());
    let ops = std::mem::take(&mut block.ops);
    for mut op in ops.into_iter().rev() {
        let removable = matches!(op.kind, OpKind::Read | OpKind::Alloc | OpKind::View) || is_scalar(&op, function);
        if removable && !op.results.iter().any(|v| used.contains(v)) {
            continue;
        }
        for region in &mut op.regions {
            // What one iteration yields, the next one uses.
            sweep(region, function, used);
        }
        for_each_use(&op, function, &mut |v| {
            used.insert(v);
        });
        block.ops.push(op);
    }
    block.ops.reverse();
}

/// What tensors stem from, and which roots each operation writes.
struct Roots {
    root: HashMap<ValueId, ValueId>,
}

impl Roots {
    fn of(function: &mut Function, body: &Block) -> Roots {
        // The analysis wants the function whole.
        function.body = body.clone();
        let root = {
            let ranges = Ranges::new(Definitions::of(function));
            let tensors =
                (0..function.values.len() as u32).map(ValueId).filter(|v| function.ty(*v).as_tensor().is_some());
            tensors.map(|v| (v, accesses::root(v, &ranges))).collect()
        };
        function.body = Block::default();
        Roots { root }
    }

    fn root(&self, tensor: ValueId) -> ValueId {
        self.root.get(&tensor).copied().unwrap_or(tensor)
    }

    /// Roots that an operation, or one nested in it, writes.
    fn written(&self, op: &Op, function: &Function, directions: &Directions) -> HashSet<ValueId> {
        let mut written = HashSet::new();
        self.collect(op, function, directions, &mut written);
        written
    }

    fn collect(&self, op: &Op, function: &Function, directions: &Directions, written: &mut HashSet<ValueId>) {
        match op.kind {
            OpKind::Store | OpKind::ScatterRows | OpKind::Write => {
                written.insert(self.root(op.operands[1]));
            }
            OpKind::Call => {
                let callee = op.attrs.text(AttrKey::Callee).and_then(|name| directions.get(name));
                for (i, argument) in op.operands.iter().enumerate() {
                    let only_read = callee.and_then(|d| d.get(i)) == Some(&crate::ir::Direction::In);
                    if function.ty(*argument).as_tensor().is_some() && !only_read {
                        written.insert(self.root(*argument));
                    }
                }
            }
            _ => {}
        }
        for region in &op.regions {
            region.ops.iter().for_each(|nested| self.collect(nested, function, directions, written));
        }
    }
}

struct Outliner<'a> {
    function: &'a mut Function,
    kernels: &'a mut Vec<Function>,
    /// Names of functions, with the directions of their parameters.
    taken: &'a mut Directions,
    roots: Roots,
    outside: Outside,
    /// The units of operations, where kernels are for one each.
    units: Option<Units>,
}

/// Position of the last operation of a block that uses a value.
type LastUse = HashMap<ValueId, usize>;

impl Outliner<'_> {
    fn block(&mut self, block: Block) -> Result<Block, Diagnostics> {
        let last_use = self.last_uses(&block);
        self.note_repeatable(&block, &last_use);
        let mut out = Vec::new();
        let mut pending: Vec<Op> = Vec::new();
        for (position, op) in block.ops.into_iter().enumerate() {
            let kind = self.place(&op);
            let depends = kind != Place::Compute && self.depends(&op, &pending);
            if depends || self.must_flush(kind, &pending) || self.changes_unit(kind, &op, &pending) {
                self.flush(&mut pending, &mut out, &last_use, position);
            }
            match kind {
                Place::Scalar | Place::Read | Place::Call => out.push(op),
                Place::Nest => {
                    let nest = self.nest(op)?;
                    out.push(nest);
                }
                Place::Compute => pending.push(op),
                Place::ParallelLoop => {
                    pending.push(op);
                    self.flush(&mut pending, &mut out, &last_use, position + 1);
                }
            }
        }
        self.flush(&mut pending, &mut out, &last_use, usize::MAX);
        Ok(Block { args: block.args, ops: out, yields: block.yields })
    }

    fn place(&self, op: &Op) -> Place {
        match &self.units {
            Some(units) if !op.regions.is_empty() && units.is_mixed(op, self.function) => Place::Nest,
            // No unit stops a program; this side does, before work whose results nobody would see.
            Some(_) if op.kind == OpKind::Assert => Place::Scalar,
            _ => place(op, self.function),
        }
    }

    /// Whether an operation is for another unit than the pending ones.
    fn changes_unit(&self, kind: Place, op: &Op, pending: &[Op]) -> bool {
        let Some(units) = self.units.as_ref().filter(|_| kind == Place::Compute) else { return false };
        let Some(unit) = units.unit(op, self.function) else { return false };
        pending.iter().filter_map(|p| units.unit(p, self.function)).any(|other| other != unit)
    }

    fn last_uses(&self, block: &Block) -> LastUse {
        let mut last = LastUse::new();
        for (position, op) in block.ops.iter().enumerate() {
            for_each_use(op, self.function, &mut |v| {
                last.insert(v, position);
                // A kernel that loads a tile needs to know how much of it is valid.
                let extents = self.function.ty(v).extents().filter_map(|extent| extent.value());
                last.extend(extents.map(|extent| (extent, position)));
            });
        }
        for v in &block.yields {
            last.insert(*v, usize::MAX);
        }
        last
    }

    /// Enters the operations of a block that kernels may repeat instead of being handed their result.
    fn note_repeatable(&mut self, block: &Block, last_use: &LastUse) {
        let written: Vec<HashSet<ValueId>> =
            block.ops.iter().map(|op| self.roots.written(op, self.function, self.taken)).collect();
        // Position of the operation that changes what a value was read from.
        let mut changes: HashMap<ValueId, usize> = HashMap::new();
        for (position, op) in block.ops.iter().enumerate() {
            if !self.can_repeat(op) {
                continue;
            }
            let mut change = op.operands.iter().filter_map(|v| changes.get(v)).copied().min();
            if matches!(op.kind, OpKind::Load | OpKind::Read) {
                let root = self.roots.root(op.operands[0]);
                let next = written[position + 1..].iter().position(|w| w.contains(&root));
                change = change.into_iter().chain(next.map(|n| n + position + 1)).min();
            }
            let last = last_use.get(&op.results[0]).copied().unwrap_or(position);
            if change.is_none_or(|change| last < change) {
                self.outside.repeatable.insert(op.results[0], op.clone());
                changes.extend(change.map(|change| (op.results[0], change)));
            }
        }
    }

    fn can_repeat(&self, op: &Op) -> bool {
        let made_again = |v: &ValueId| self.outside.repeatable.contains_key(v);
        match op.kind {
            OpKind::View | OpKind::Full | OpKind::Iota | OpKind::Load | OpKind::Read => true,
            OpKind::Transpose | OpKind::Broadcast | OpKind::SetValid | OpKind::Slice => made_again(&op.operands[0]),
            OpKind::Div | OpKind::Rem => is_scalar(op, self.function) && self.divides_by_constant(op),
            _ => is_scalar(op, self.function) && op.kind.info().effect == Effect::Pure,
        }
    }

    fn divides_by_constant(&self, op: &Op) -> bool {
        let divisor = self.outside.repeatable.get(&op.operands[1]);
        divisor
            .is_some_and(|d| d.kind.class() == Class::Constant && !matches!(d.attrs.int(AttrKey::Value), Some(0 | -1)))
    }

    /// Whether an operation uses a result of the pending ones.
    fn depends(&self, op: &Op, pending: &[Op]) -> bool {
        let made: HashSet<ValueId> = pending.iter().flat_map(|p| p.results.iter().copied()).collect();
        let mut depends = false;
        for_each_use(op, self.function, &mut |v| {
            depends |= made.contains(&v) && !self.outside.repeatable.contains_key(&v);
        });
        depends
    }

    fn must_flush(&self, kind: Place, pending: &[Op]) -> bool {
        match kind {
            Place::Scalar | Place::Compute => false,
            Place::Read => pending.iter().any(|op| !self.roots.written(op, self.function, self.taken).is_empty()),
            Place::Nest | Place::Call | Place::ParallelLoop => !pending.is_empty(),
        }
    }

    fn nest(&mut self, mut op: Op) -> Result<Op, Diagnostics> {
        if let Some(tile) = op.results.iter().find(|v| self.function.ty(**v).as_tile().is_some()) {
            let loc = self.function.info(*tile).loc;
            let title = "control flow around calls cannot carry a tile";
            return Err(Diagnostic::error(codes::UNSUPPORTED, op.loc, title, "this runs on the orchestrating side")
                .label(loc, "this tile")
                .help("keep the value in a `Tensor::temp` and load it where it is needed")
                .into());
        }
        for region in &mut op.regions {
            let block = std::mem::take(region);
            *region = self.block(block)?;
        }
        Ok(op)
    }

    /// Turns the pending operations into a kernel and a call of it; `position` is that of the next operation.
    fn flush(&mut self, pending: &mut Vec<Op>, out: &mut Vec<Op>, last_use: &LastUse, position: usize) {
        let mut ops = std::mem::take(pending);
        let crosses = |v: &ValueId, outside: &Outside| {
            !outside.repeatable.contains_key(v) && last_use.get(v).is_some_and(|last| *last >= position)
        };
        let mut needed: HashSet<ValueId> =
            ops.iter().flat_map(|op| &op.results).filter(|v| crosses(v, &self.outside)).copied().collect();
        let outputs: Vec<ValueId> =
            ops.iter().flat_map(|op| op.results.clone()).filter(|v| needed.contains(v)).collect();
        self.remove_unneeded(&mut ops, &mut needed);
        if ops.is_empty() {
            return;
        }
        let loc = ops[0].loc;
        let tensors: Vec<(ValueId, ValueId)> = outputs.iter().map(|v| (*v, self.holder(*v, out))).collect();
        let name = self.kernel_name();
        let extracted = extract(name.clone(), &ops, &tensors, self.function, &self.outside, loc);
        self.taken.insert(name.clone(), extracted.kernel.params.iter().map(|p| p.direction).collect());
        self.kernels.push(extracted.kernel);
        let attrs = Attrs::new().with(AttrKey::Callee, Attr::Text(name));
        out.push(simple_op(OpKind::Call, extracted.arguments, attrs, Vec::new(), loc));
        for (value, tensor) in tensors {
            self.hand_over(value, tensor, out);
        }
    }

    /// Drops operations without effect whose results nobody in the kernel, or after it, needs.
    fn remove_unneeded(&self, ops: &mut Vec<Op>, needed: &mut HashSet<ValueId>) {
        let mut keep: Vec<bool> = vec![false; ops.len()];
        for (position, op) in ops.iter().enumerate().rev() {
            let effect = !matches!(op.kind.info().effect, Effect::Pure | Effect::Reads);
            keep[position] = effect || must_stay(op, self.function) || op.results.iter().any(|v| needed.contains(v));
            if keep[position] {
                for_each_use(op, self.function, &mut |v| {
                    needed.insert(v);
                });
            }
        }
        let mut kept = keep.into_iter();
        ops.retain(|_| kept.next().unwrap_or(true));
    }

    /// A new tensor that can hold a value between kernels.
    fn holder(&mut self, value: ValueId, out: &mut Vec<Op>) -> ValueId {
        let info = self.function.info(value).clone();
        let (dtype, dims) = match &info.ty {
            Type::Tile(tile) => (tile.dtype, tile.dims.clone()),
            other => (other.dtype().unwrap_or(DType::I64), vec![Extent::Const(1)]),
        };
        let strides = row_major(&dims, self.function, out, info.loc);
        let ty = Type::Tensor(TensorType { dtype, dims, strides });
        let tensor = self.function.add_value(ty, info.name, info.loc);
        let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(dtype));
        out.push(simple_op(OpKind::Alloc, Vec::new(), attrs, vec![tensor], info.loc));
        tensor
    }

    /// Makes a stored value known to what comes after: kernels load a tile, a scalar is read here.
    fn hand_over(&mut self, value: ValueId, tensor: ValueId, out: &mut Vec<Op>) {
        if self.function.ty(value).as_tile().is_some() {
            self.outside.stored.insert(value, tensor);
            return;
        }
        let loc = self.function.info(value).loc;
        let zero = index_constant(self.function, 0, out, loc);
        let read = simple_op(OpKind::Read, vec![tensor, zero], Attrs::new(), vec![value], loc);
        self.outside.repeatable.insert(zero, out[out.len() - 1].clone());
        self.outside.repeatable.insert(value, read.clone());
        out.push(read);
    }

    fn kernel_name(&self) -> String {
        let mut number = self.kernels.len();
        loop {
            let name = format!("{}_{number}", self.function.name);
            if !self.taken.contains_key(&name) {
                return name;
            }
            number += 1;
        }
    }
}

/// A constant of the index type.
pub fn index_constant(function: &mut Function, n: i64, out: &mut Vec<Op>, loc: Loc) -> ValueId {
    let value = function.add_value(Type::INDEX, None, loc);
    let attrs = Attrs::new().with(AttrKey::Value, Attr::Int(n)).with(AttrKey::DType, Attr::DType(DType::I64));
    out.push(simple_op(OpKind::Constant, Vec::new(), attrs, vec![value], loc));
    value
}

/// Strides of a contiguous tensor, with the arithmetic that run-time extents need.
pub fn row_major(dims: &[Extent], function: &mut Function, out: &mut Vec<Op>, loc: Loc) -> Vec<Extent> {
    let mut strides = vec![Extent::Const(1); dims.len()];
    for axis in (0..dims.len().saturating_sub(1)).rev() {
        strides[axis] = product(strides[axis + 1], dims[axis + 1], function, out, loc);
    }
    strides
}

fn product(a: Extent, b: Extent, function: &mut Function, out: &mut Vec<Op>, loc: Loc) -> Extent {
    let mut operand = |e: Extent, function: &mut Function| match e {
        Extent::Const(n) => index_constant(function, n, out, loc),
        Extent::Value(v) => v,
    };
    match (a, b) {
        (Extent::Const(1), other) | (other, Extent::Const(1)) => other,
        (Extent::Const(x), Extent::Const(y)) => Extent::Const(x.saturating_mul(y)),
        _ => {
            let operands = vec![operand(a, function), operand(b, function)];
            let value = function.add_value(Type::INDEX, None, loc);
            out.push(simple_op(OpKind::Mul, operands, Attrs::new(), vec![value], loc));
            Extent::Value(value)
        }
    }
}
