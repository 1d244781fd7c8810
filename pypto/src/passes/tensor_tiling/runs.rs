//! Finds runs of operations on tiles and replaces those with large values.
//!
//! A run never loads what it has stored, and ends with a store to what it has loaded, so that its operations may be
//! ordered by their values alone.

use std::collections::{HashMap, HashSet};

use super::blocks::bytes;
use super::emit::{self, Holders};
use super::plan::{Run, plan};
use super::{Limits, through_memory};
use crate::ir::{Attr, AttrKey, Attrs, Block, Extent, Function, Op, TensorType, Type, ValueId};
use crate::ops::{Class, Effect, OpKind};
use crate::passes::accesses;
use crate::passes::definitions::{Definitions, for_each_use};
use crate::passes::extract::simple_op;
use crate::passes::outline::{index_constant, row_major};
use crate::passes::ranges::Ranges;
use crate::passes::segments::is_scalar;

/// Rewrites a function's body.
pub fn rewrite_function(function: &mut Function, limits: &Limits) {
    let roots = {
        let ranges = Ranges::new(Definitions::of(function));
        let tensors = (0..function.values.len() as u32).map(ValueId).filter(|v| function.ty(*v).as_tensor().is_some());
        tensors.map(|v| (v, accesses::root(v, &ranges))).collect()
    };
    let body = std::mem::take(&mut function.body);
    let mut written = HashSet::new();
    note_written(&body, &roots, &mut written);
    let mut tiler = Tiler { function, limits, roots, written, reloads: HashMap::new() };
    let body = tiler.block(body, true);
    function.body = body;
}

struct Tiler<'a> {
    function: &'a mut Function,
    limits: &'a Limits,
    roots: HashMap<ValueId, ValueId>,
    /// Roots of tensors that the function writes.
    written: HashSet<ValueId>,
    /// Loads of stored values, and what else can be repeated anywhere later.
    reloads: HashMap<ValueId, Op>,
}

fn note_written(block: &Block, roots: &HashMap<ValueId, ValueId>, written: &mut HashSet<ValueId>) {
    for op in &block.ops {
        let tensors = match op.kind {
            OpKind::Store | OpKind::ScatterRows | OpKind::Write => &op.operands[1..2],
            OpKind::Call => &op.operands[..],
            _ => &[],
        };
        written.extend(tensors.iter().map(|v| roots.get(v).copied().unwrap_or(*v)));
        op.regions.iter().for_each(|region| note_written(region, roots, written));
    }
}

/// The largest value that is made again rather than kept.
const CHEAP_BYTES: i64 = 16 << 10;

/// Position of the last operation of a block that uses a value.
type LastUse = HashMap<ValueId, usize>;

impl Tiler<'_> {
    fn block(&mut self, block: Block, top: bool) -> Block {
        let limit = if top { self.limits.small_bytes } else { self.limits.nested_bytes };
        let ops = through_memory::rewrite(block.ops, self.function, limit);
        let last_use = last_uses(&ops, &block.yields, self.function);
        let mut out = Vec::new();
        let mut run: Vec<Op> = Vec::new();
        for (position, mut op) in ops.into_iter().enumerate() {
            if stays_outside(&op, self.function) {
                out.push(op);
                continue;
            }
            if !joins_run(&op) {
                self.flush(&mut run, &last_use, position, top, &mut out);
                out.append(&mut run);
                for region in &mut op.regions {
                    let nested = std::mem::take(region);
                    *region = self.block(nested, false);
                }
                out.push(op);
                continue;
            }
            if self.uses_stored(&run, &op) {
                self.flush(&mut run, &last_use, position, top, &mut out);
            }
            let ends = self.overwrites_loaded(&run, &op);
            run.push(op);
            if ends {
                self.flush(&mut run, &last_use, position + 1, top, &mut out);
            }
        }
        self.flush(&mut run, &last_use, usize::MAX, top, &mut out);
        out.append(&mut run);
        Block { args: block.args, ops: out, yields: block.yields }
    }

    fn root(&self, tensor: ValueId) -> ValueId {
        self.roots.get(&tensor).copied().unwrap_or(tensor)
    }

    /// Whether the operation touches a tensor that the run has stored to.
    fn uses_stored(&self, run: &[Op], op: &Op) -> bool {
        let Some((tensor, _)) = touched(op) else { return false };
        run.iter().filter_map(touched).any(|(t, writes)| writes && self.root(t) == self.root(tensor))
    }

    /// Whether the operation stores to a tensor that the run has loaded from.
    fn overwrites_loaded(&self, run: &[Op], op: &Op) -> bool {
        let Some((tensor, true)) = touched(op) else { return false };
        run.iter().filter_map(touched).any(|(t, _)| self.root(t) == self.root(tensor))
    }

    /// Replaces a run that has large values, and leaves in `run` the loads that bring back what is used from
    /// `position` on; a run without goes to `out` as it is.
    fn flush(&mut self, run: &mut Vec<Op>, last_use: &LastUse, position: usize, top: bool, out: &mut Vec<Op>) {
        let mut ops = std::mem::take(run);
        if !self.is_large(&ops, top) || self.continues_tile_code(&ops) {
            self.note_remakeable(&ops);
            out.extend(ops);
            return;
        }
        self.bring_in(&mut ops, out);
        let live = |v: &ValueId| last_use.get(v).is_some_and(|last| *last >= position);
        let live_out: HashSet<ValueId> = ops.iter().flat_map(|op| &op.results).filter(|v| live(v)).copied().collect();
        let source = self.function.clone();
        let root = |tensor: ValueId| self.roots.get(&tensor).copied().unwrap_or(tensor);
        let described = Run::new(&ops, &source, live_out.clone(), &root);
        let plan = plan(&described, self.limits);
        let mut stored: Vec<usize> = plan.stored.iter().copied().collect();
        stored.sort_unstable();
        let mut holders = Holders::new();
        for index in stored {
            holders.insert(index, allocate(ops[index].results[0], self.function, out));
        }
        for group in &plan.groups {
            emit::group(&described, group, &holders, self.function, out);
        }
        for (index, op) in ops.iter().enumerate() {
            let Some(value) = op.results.first().filter(|v| live_out.contains(v)) else { continue };
            let back = match holders.get(&index) {
                Some(holder) => self.load_back(*value, *holder, out),
                None => op.clone(),
            };
            run.push(back);
        }
    }

    /// Notes small values that can be made again: loads of what nobody writes, and arithmetic on such.
    fn note_remakeable(&mut self, ops: &[Op]) {
        if !self.limits.remakes {
            return;
        }
        for op in ops {
            let [result] = op.results[..] else { continue };
            let is_tile = |v: &&ValueId| self.function.ty(**v).as_tile().is_some();
            let possible = match op.kind {
                OpKind::Load => !self.written.contains(&self.root(op.operands[0])),
                OpKind::Full | OpKind::Iota => true,
                kind if kind.is_elementwise() && kind.info().effect == Effect::Pure => {
                    op.operands.iter().filter(is_tile).all(|v| self.reloads.contains_key(v))
                }
                _ => false,
            };
            if possible && bytes(result, self.function) <= CHEAP_BYTES {
                self.reloads.insert(result, op.clone());
            }
        }
    }

    /// At the top level everything together counts, for it would be one kernel without parallelism. Inside of loops
    /// the tiles are the user's choice, unless one is out of all proportion.
    fn is_large(&self, ops: &[Op], top: bool) -> bool {
        let values: HashSet<ValueId> =
            ops.iter().flat_map(|op| op.results.iter().chain(&op.operands)).copied().collect();
        let sizes = values.into_iter().map(|v| bytes(v, self.function));
        if top {
            sizes.fold(0, i64::saturating_add) > self.limits.small_bytes
        } else {
            sizes.max().is_some_and(|largest| largest > self.limits.nested_bytes)
        }
    }

    /// Whether the run goes on with tiles of constant extents that control flow made: they are in a kernel already, and
    /// taking them apart again would cost a trip through memory.
    fn continues_tile_code(&self, ops: &[Op]) -> bool {
        let values: HashSet<ValueId> =
            ops.iter().flat_map(|op| op.results.iter().chain(&op.operands)).copied().collect();
        let constant =
            values.iter().all(|v| self.function.ty(*v).as_tile().is_none_or(|t| t.constant_dims().is_some()));
        let made: HashSet<ValueId> = ops.iter().flat_map(|op| op.results.iter().copied()).collect();
        let from_outside = |v: &&ValueId| self.function.ty(**v).as_tile().is_some() && !made.contains(*v);
        constant && values.iter().filter(from_outside).any(|v| !self.reloads.contains_key(v))
    }

    /// Tiles from outside of the run come from memory: loaded again, or stored first.
    fn bring_in(&mut self, ops: &mut Vec<Op>, out: &mut Vec<Op>) {
        let defined: HashSet<ValueId> = ops.iter().flat_map(|op| op.results.clone()).collect();
        let mut renamed: HashMap<ValueId, ValueId> = HashMap::new();
        let mut loads = Vec::new();
        for operand in ops.iter().flat_map(|op| op.operands.clone()) {
            let outside = self.function.ty(operand).as_tile().is_some() && !defined.contains(&operand);
            if !outside || renamed.contains_key(&operand) {
                continue;
            }
            if !self.reloads.contains_key(&operand) {
                let tensor = allocate(operand, self.function, out);
                self.store_whole(operand, tensor, out);
                self.load_back(operand, tensor, out);
            }
            self.repeat(operand, &mut renamed, &mut loads);
        }
        for operand in ops.iter_mut().flat_map(|op| &mut op.operands) {
            *operand = renamed.get(operand).copied().unwrap_or(*operand);
        }
        ops.splice(0..0, loads);
    }

    /// Makes a value again, with what it is made of.
    fn repeat(&mut self, value: ValueId, renamed: &mut HashMap<ValueId, ValueId>, ops: &mut Vec<Op>) {
        let Some(mut op) = self.reloads.get(&value).cloned().filter(|_| !renamed.contains_key(&value)) else { return };
        for operand in op.operands.clone() {
            self.repeat(operand, renamed, ops);
        }
        for operand in &mut op.operands {
            *operand = renamed.get(operand).copied().unwrap_or(*operand);
        }
        let info = self.function.info(value).clone();
        let fresh = self.function.add_value(info.ty, info.name, info.loc);
        op.results = vec![fresh];
        renamed.insert(value, fresh);
        ops.push(op);
    }

    fn store_whole(&mut self, value: ValueId, tensor: ValueId, out: &mut Vec<Op>) {
        let loc = self.function.info(value).loc;
        let mut operands = vec![value, tensor];
        operands.extend(zeros(value, self.function, out));
        out.push(simple_op(OpKind::Store, operands, Attrs::new(), Vec::new(), loc));
    }

    fn load_back(&mut self, value: ValueId, tensor: ValueId, out: &mut Vec<Op>) -> Op {
        let loc = self.function.info(value).loc;
        let mut operands = vec![tensor];
        operands.extend(zeros(value, self.function, out));
        let load = simple_op(OpKind::Load, operands, Attrs::new(), vec![value], loc);
        self.reloads.insert(value, load.clone());
        load
    }
}

fn last_uses(ops: &[Op], yields: &[ValueId], function: &Function) -> LastUse {
    let mut last = LastUse::new();
    for (position, op) in ops.iter().enumerate() {
        for_each_use(op, function, &mut |v| {
            last.insert(v, position);
        });
    }
    last.extend(yields.iter().map(|v| (*v, usize::MAX)));
    last
}

/// Operations that no run contains and that may move ahead of one.
fn stays_outside(op: &Op, function: &Function) -> bool {
    matches!(op.kind, OpKind::Alloc | OpKind::View) || is_scalar(op, function)
}

/// Operations on tiles that blocks can be made of.
fn joins_run(op: &Op) -> bool {
    let class = matches!(
        op.kind.class(),
        Class::RowReduce
            | Class::ColReduce
            | Class::RowArg
            | Class::ColArg
            | Class::Create
            | Class::Layout
            | Class::Permute
            | Class::Matmul
            | Class::Transfer
    );
    class || op.kind.is_elementwise()
}

/// The tensor that a transfer touches, and whether it writes.
fn touched(op: &Op) -> Option<(ValueId, bool)> {
    match op.kind {
        OpKind::Load | OpKind::GatherRows => Some((op.operands[0], false)),
        OpKind::Store | OpKind::ScatterRows => Some((op.operands[1], true)),
        _ => None,
    }
}

/// A new tensor with the extents of a tile.
pub fn allocate(value: ValueId, function: &mut Function, out: &mut Vec<Op>) -> ValueId {
    let info = function.info(value).clone();
    let (dtype, dims) = match &info.ty {
        Type::Tile(tile) => (tile.dtype, tile.dims.clone()),
        other => (other.dtype().unwrap_or(crate::ir::DType::I64), vec![Extent::Const(1)]),
    };
    let strides = row_major(&dims, function, out, info.loc);
    let tensor = function.add_value(Type::Tensor(TensorType { dtype, dims, strides }), info.name, info.loc);
    let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(dtype));
    out.push(simple_op(OpKind::Alloc, Vec::new(), attrs, vec![tensor], info.loc));
    tensor
}

/// Offsets of zero for a transfer of a whole tile.
pub fn zeros(value: ValueId, function: &mut Function, out: &mut Vec<Op>) -> Vec<ValueId> {
    let loc = function.info(value).loc;
    let rank = function.ty(value).as_tile().map_or(0, |t| t.rank());
    (0..rank).map(|_| index_constant(function, 0, out, loc)).collect()
}
