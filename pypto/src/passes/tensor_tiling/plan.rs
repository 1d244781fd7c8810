//! Divides a run of operations on whole tensors into groups, each of which becomes one nest of loops over blocks.
//!
//! The run is read backwards from what has an effect. A store opens a group; the operations that make its value join
//! the group as long as each block of the result needs one block of them. An operation whose value is needed as a
//! whole, or in differently cut blocks, or by several groups, is stored to a tensor: by a group of its own, or by the
//! earliest group that makes it anyway. Groups run in the reverse order of their creation.

use std::collections::{HashMap, HashSet};

use super::blocks::{self, LoopPlan};
use super::placement::{self, Placement, is_leaf};
use crate::ir::{Extent, Function, Op, TileType, ValueId};
use crate::ops::{Class, OpKind};
use crate::passes::tensor_tiling::Limits;

/// Operations that run in one nest of loops.
#[derive(Debug, Default)]
pub struct Group {
    pub loops: Vec<LoopPlan>,
    /// Operations of the run by index, with the placement of their result (for a store, of what it stores).
    pub members: HashMap<usize, Placement>,
    /// Members whose value also goes to its holder.
    pub stored: Vec<usize>,
    /// Blocks have to run in order.
    pub sequential: bool,
}

/// The groups of a run, in the order in which they run, and the values that go through memory.
#[derive(Debug, Default)]
pub struct Plan {
    pub groups: Vec<Group>,
    /// Operations of the run, by index, whose value is stored to a tensor.
    pub stored: HashSet<usize>,
}

/// A run of operations on tiles, in program order, without control flow.
pub struct Run<'a> {
    pub ops: &'a [Op],
    pub function: &'a Function,
    /// Index of the operation that defines a value.
    pub defined: HashMap<ValueId, usize>,
    /// Values that are used after the run.
    pub live_out: HashSet<ValueId>,
    /// The parameter or allocation behind a tensor.
    pub root: &'a dyn Fn(ValueId) -> ValueId,
}

impl<'a> Run<'a> {
    /// Indexes the operations.
    pub fn new(
        ops: &'a [Op],
        function: &'a Function,
        live_out: HashSet<ValueId>,
        root: &'a dyn Fn(ValueId) -> ValueId,
    ) -> Run<'a> {
        let defined = ops.iter().enumerate().flat_map(|(i, op)| op.results.iter().map(move |v| (*v, i))).collect();
        Run { ops, function, defined, live_out, root }
    }

    /// Index and operation that an operand comes from.
    pub fn producer(&self, value: ValueId) -> Option<(usize, &'a Op)> {
        self.defined.get(&value).map(|i| (*i, &self.ops[*i]))
    }

    /// Extents of the tile that an operation makes or stores.
    pub fn dims(&self, index: usize) -> Vec<Extent> {
        self.tile(index).map(|t| t.dims.clone()).unwrap_or_default()
    }

    /// Valid extents of the tile that an operation makes or stores.
    pub fn valid(&self, index: usize) -> Vec<Extent> {
        self.tile(index).map(|t| t.valid.clone()).unwrap_or_default()
    }

    /// Whether a factor of a product is made in loops of its own because it is computed from a product itself: one nest for both would have
    /// to be cut by rows alone, and would copy all of the other factors for every few of them.
    pub fn is_apart(&self, op: &Op, producer: usize, limits: &Limits) -> bool {
        limits.copies_factors && op.kind.class() == Class::Matmul && self.is_product(producer)
    }

    /// Whether an operation makes a product, or, element by element, something out of one.
    fn is_product(&self, index: usize) -> bool {
        let op = &self.ops[index];
        match op.kind.class() {
            Class::Matmul => true,
            Class::Unary | Class::Binary | Class::Select | Class::Cast => {
                let mut producers = op.operands.iter().filter_map(|operand| self.producer(*operand));
                producers.any(|(producer, from)| !is_leaf(from) && self.is_product(producer))
            }
            _ => false,
        }
    }

    fn tile(&self, index: usize) -> Option<&'a TileType> {
        let op = &self.ops[index];
        self.function.ty(if op.results.is_empty() { op.operands[0] } else { op.results[0] }).as_tile()
    }
}

/// Makes the plan.
pub fn plan(run: &Run<'_>, limits: &Limits) -> Plan {
    let count = run.ops.len();
    let mut planner =
        Planner { run, limits, groups: Vec::new(), demands: vec![Vec::new(); count], whole: vec![false; count] };
    let mut stored = HashSet::new();
    planner.keep_overwritten();
    for index in (0..count).rev() {
        let op = &run.ops[index];
        match op.kind {
            OpKind::Store => planner.store(index),
            OpKind::ScatterRows => planner.scatter(index),
            _ if is_leaf(op) && !planner.whole[index] => {}
            _ => {
                if planner.value(index) {
                    stored.insert(index);
                }
            }
        }
    }
    let mut groups = planner.groups;
    groups.reverse();
    Plan { groups, stored }
}

struct Planner<'a, 'r> {
    run: &'a Run<'r>,
    limits: &'a Limits,
    groups: Vec<Group>,
    /// Who needs an operation's value, and how placed.
    demands: Vec<Vec<(usize, Placement)>>,
    /// Whether the value has to be in memory before any group that needs it.
    whole: Vec<bool>,
}

impl Planner<'_, '_> {
    /// Loads that are used after the run, of tensors that the run writes, are kept in a copy.
    fn keep_overwritten(&mut self) {
        let written: HashSet<ValueId> = self
            .run
            .ops
            .iter()
            .filter(|op| matches!(op.kind, OpKind::Store | OpKind::ScatterRows))
            .map(|op| (self.run.root)(op.operands[1]))
            .collect();
        for (index, op) in self.run.ops.iter().enumerate() {
            let lost = op.kind == OpKind::Load && written.contains(&(self.run.root)(op.operands[0]));
            self.whole[index] = lost && self.run.live_out.contains(&op.results[0]);
        }
    }

    fn store(&mut self, index: usize) {
        let dims = self.run.dims(index);
        let source = self.run.producer(self.run.ops[index].operands[0]).map(|(i, _)| i);
        let (group, p) = match source.and_then(|s| self.shared_group(s, &dims)) {
            Some(found) => found,
            None => self.open(index),
        };
        if let Some(source) = source.filter(|_| self.overwrites_what_it_reads(index, 0, &p)) {
            self.whole[source] = true;
        }
        self.join(group, index, p);
    }

    fn scatter(&mut self, index: usize) {
        let dims = self.run.dims(index);
        let block = blocks::rows_in_order(&dims, self.limits);
        let p: Placement = vec![Some(0), None];
        for operand in [0, 2] {
            let source = self.run.producer(self.run.ops[index].operands[operand]);
            if let Some((source, _)) = source.filter(|_| self.overwrites_what_it_reads(index, operand, &p)) {
                self.whole[source] = true;
            }
        }
        self.groups.push(Group { loops: vec![block], sequential: true, ..Group::default() });
        self.join(self.groups.len() - 1, index, p);
    }

    /// Places an operation that makes a value; tells whether the value is stored.
    fn value(&mut self, index: usize) -> bool {
        let result = self.run.ops[index].results[0];
        let live = self.run.live_out.contains(&result);
        let demands = self.demands[index].clone();
        if demands.is_empty() && !live && !self.whole[index] {
            return false;
        }
        // The group created last runs first: what it makes, the others can load.
        let earliest = demands.iter().map(|(group, _)| *group).max();
        if let Some(group) = earliest.filter(|_| !self.whole[index]) {
            let mut placements = demands.iter().filter(|(g, _)| *g == group).map(|(_, p)| p.clone());
            let first = placements.next().unwrap_or_default();
            let agree = placements.all(|p| p == first);
            if agree && placement::operands(&self.run.ops[index], &first, self.run.function).is_some() {
                let stored = live || demands.iter().any(|(g, _)| *g != group);
                self.join(group, index, first);
                if stored {
                    self.groups[group].stored.push(index);
                }
                return stored;
            }
        }
        let (group, p) = self.open(index);
        self.join(group, index, p);
        self.groups[group].stored.push(index);
        true
    }

    /// A new group for an operation whose value it stores.
    fn open(&mut self, index: usize) -> (usize, Placement) {
        let (loops, p) = blocks::choose(self.run, index, self.limits);
        self.groups.push(Group { loops, ..Group::default() });
        (self.groups.len() - 1, p)
    }

    /// Adds a member and passes its needs on to the operations before it.
    fn join(&mut self, group: usize, index: usize, p: Placement) {
        let op = &self.run.ops[index];
        for (position, q) in placement::operands(op, &p, self.run.function).unwrap_or_default() {
            let Some((producer, _)) = self.run.producer(op.operands[position]) else { continue };
            // What every iteration needs all of is made once, before; so is what is worth loops of its own.
            // A group without loops is one block, which values of the same extents are in; but several threads want blocks of their own.
            let same_block = self.limits.threads == 1 && self.run.dims(producer) == self.run.dims(index);
            let alone = self.groups[group].loops.is_empty() && (same_block || self.is_small(producer));
            let cut = q.iter().any(Option::is_some) || alone;
            let apart = !self.groups[group].loops.is_empty() && self.run.is_apart(op, producer, self.limits);
            self.whole[producer] |= (!cut || apart) && !is_leaf(&self.run.ops[producer]);
            if !self.demands[producer].contains(&(group, q.clone())) {
                self.demands[producer].push((group, q));
            }
        }
        self.groups[group].members.insert(index, p);
    }

    fn is_small(&self, index: usize) -> bool {
        let op = &self.run.ops[index];
        op.results.iter().chain(&op.operands).all(|v| blocks::bytes(*v, self.run.function) <= self.limits.small_bytes)
    }

    /// The group opened last, where it already makes something of the chain behind `source` in the same blocks.
    fn shared_group(&self, source: usize, dims: &[Extent]) -> Option<(usize, Placement)> {
        let group = self.groups.len().checked_sub(1)?;
        let opened = &self.groups[group];
        if opened.sequential || opened.loops.is_empty() {
            return None;
        }
        let mut p: Placement = vec![None; dims.len()];
        for (number, plan) in opened.loops.iter().enumerate() {
            if dims.get(plan.axis) != Some(&plan.extent) {
                return None;
            }
            p[plan.axis] = Some(number);
        }
        self.makes(group, source, &p).then_some((group, p))
    }

    fn makes(&self, group: usize, index: usize, p: &Placement) -> bool {
        let op = &self.run.ops[index];
        if is_leaf(op) || self.whole[index] {
            return false;
        }
        if self.demands[index].contains(&(group, p.clone())) {
            return true;
        }
        placement::operands(op, p, self.run.function).unwrap_or_default().iter().any(|(position, q)| {
            self.run.producer(op.operands[*position]).is_some_and(|(producer, _)| self.makes(group, producer, q))
        })
    }

    /// Whether blocks that run before others would overwrite what those still read: the tensor that is stored to is
    /// also loaded, and not exactly block by block.
    fn overwrites_what_it_reads(&self, index: usize, operand: usize, p: &Placement) -> bool {
        let op = &self.run.ops[index];
        let root = (self.run.root)(op.operands[1]);
        let mut work = vec![(op.operands[operand], Some(p.clone()))];
        let mut seen = HashSet::new();
        while let Some((value, p_here)) = work.pop() {
            let Some((producer, from)) = self.run.producer(value) else { continue };
            if !seen.insert((producer, p_here.clone())) {
                continue;
            }
            let tensor = match from.kind {
                OpKind::Load | OpKind::GatherRows => Some(from.operands[0]),
                _ => None,
            };
            if let Some(tensor) = tensor.filter(|t| (self.run.root)(*t) == root) {
                let same_block = op.kind == OpKind::Store
                    && from.kind == OpKind::Load
                    && tensor == op.operands[1]
                    && from.operands[1..] == op.operands[2..]
                    && p_here.as_ref() == Some(p);
                if !same_block {
                    return true;
                }
            }
            let rule = p_here.and_then(|p| placement::operands(from, &p, self.run.function));
            for (position, operand) in from.operands.iter().enumerate() {
                if self.run.function.ty(*operand).as_tile().is_some() {
                    let q = rule.as_ref().and_then(|r| r.iter().find(|(i, _)| *i == position)).map(|(_, q)| q.clone());
                    work.push((*operand, q));
                }
            }
        }
        false
    }
}
