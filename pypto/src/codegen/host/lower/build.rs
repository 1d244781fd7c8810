//! Turns a collected group into an expression graph with sinks, plans it, and emits it.

use std::collections::{HashMap, HashSet};

use super::access::Access;
use super::block::BlockState;
use super::column_reduce::{accumulator_type, as_row};
use super::context::{Bound, Lowering, Tile};
use super::cost;
use super::elementwise::{can_fail, cast_target, failure};
use super::graph::{ColumnKind, ColumnReduction, Node, NodeId, NodeKind, Sink};
use super::group::{Group, is_narrow};
use super::plan::{Plan, plan};
use super::row_group::RowGroup;
use super::row_stages::{self, Parts, Stages};
use super::sign;
use super::turned::{self, Needs, TurnedGroup};
use crate::codegen::host::lir::{Builder, Reduce, Value};
use crate::ir::{Block, DType, Extent, Op, TileType, ValueId};
use crate::ops::{Class, OpKind};

/// The graph under construction.
pub(super) struct GraphBuilder<'l, 'f> {
    pub lowering: &'l mut Lowering<'f>,
    /// Physical extents of the iteration space.
    dims: Vec<Extent>,
    pub nodes: Vec<Node<'f>>,
    pub sinks: Vec<Sink>,
    known: HashMap<ValueId, NodeId>,
    /// Results of column reductions, which exist only after the group.
    column_results: HashMap<ValueId, Access>,
    /// Slots taken for the duration of the group.
    temporary: Vec<Access>,
    /// Slots that the group overwrites in place.
    overwritten: HashSet<super::scratch::SlotId>,
    /// The fusion group that it is, for the trace: its block and the positions of its members.
    group: Option<(&'f Block, Vec<usize>)>,
}

/// The reduction that an operation stands for on elements of that type.
fn reduce_of(kind: OpKind, dtype: DType) -> Reduce {
    let unsigned = dtype.is_unsigned_integer();
    match kind {
        OpKind::RowSum | OpKind::ColSum => Reduce::Add,
        OpKind::RowProd | OpKind::ColProd => Reduce::Mul,
        OpKind::RowMax | OpKind::ColMax | OpKind::RowArgmax if unsigned => Reduce::Umax,
        OpKind::RowMax | OpKind::ColMax | OpKind::RowArgmax => Reduce::Max,
        _ if unsigned => Reduce::Umin,
        _ => Reduce::Min,
    }
}

impl<'l, 'f> GraphBuilder<'l, 'f> {
    /// A graph over the iteration space of those physical extents.
    pub fn new(lowering: &'l mut Lowering<'f>, dims: Vec<Extent>) -> GraphBuilder<'l, 'f> {
        GraphBuilder {
            lowering,
            dims,
            nodes: Vec::new(),
            sinks: Vec::new(),
            known: HashMap::new(),
            column_results: HashMap::new(),
            temporary: Vec::new(),
            overwritten: HashSet::new(),
            group: None,
        }
    }

    fn push(&mut self, kind: NodeKind<'f>, dtype: DType, narrow: bool) -> NodeId {
        self.nodes.push(Node { kind, dtype, narrow });
        self.nodes.len() - 1
    }

    /// The node of an operand: a member's result, or a value from outside.
    pub fn node_of(&mut self, b: &mut Builder<'_>, value: ValueId) -> NodeId {
        if let Some(&node) = self.known.get(&value) {
            return node;
        }
        let node = match self.lowering.bound(value) {
            Some(Bound::Tile(tile)) => {
                let (tile, ty) = (tile.clone(), self.lowering.tile_type(value));
                self.source(b, &tile, ty)
            }
            _ => {
                let (scalar, dtype) = (self.lowering.scalar(b, value), self.lowering.function.ty(value).dtype());
                self.push(NodeKind::Uniform(scalar), dtype.unwrap_or(DType::I64), true)
            }
        };
        self.known.insert(value, node);
        node
    }

    /// A value from outside the group, seen at the positions of the group.
    pub fn source(&mut self, b: &mut Builder<'_>, tile: &Tile, ty: &TileType) -> NodeId {
        let one = Extent::Const(1);
        let narrow = ty.dims.last() == Some(&one);
        let repeated: Vec<bool> =
            ty.dims.iter().zip(&self.dims).map(|(&mine, &all)| mine == one && all != one).collect();
        match tile {
            Tile::Memory(access) => {
                let access = access.repeat(b, &repeated);
                self.push(NodeKind::Memory(access), ty.dtype, narrow)
            }
            Tile::Iota { axis, start } if !repeated.get(*axis).copied().unwrap_or(false) => {
                self.push(NodeKind::Iota { axis: *axis, start: *start }, ty.dtype, narrow)
            }
            Tile::Full(value) | Tile::Iota { start: value, .. } => self.push(NodeKind::Uniform(*value), ty.dtype, true),
            Tile::Pending => {
                let zero = b.index(0);
                self.push(NodeKind::Uniform(zero), ty.dtype, true)
            }
        }
    }

    /// Adds a member operation.
    fn member(&mut self, b: &mut Builder<'_>, op: &'f Op) {
        match op.kind.class() {
            Class::RowReduce => {
                let node = self.row_reduce(b, op);
                self.known.insert(op.result(), node);
            }
            Class::RowArg => {
                let node = self.row_position(b, op);
                self.known.insert(op.result(), node);
            }
            Class::ColReduce | Class::ColArg => self.column_reduce(b, op),
            _ => match op.kind {
                OpKind::Store => self.store(b, op),
                OpKind::ScatterRows => self.scatter(b, op),
                _ => {
                    let node = self.value_member(b, op);
                    self.known.insert(op.result(), node);
                }
            },
        }
    }

    fn value_member(&mut self, b: &mut Builder<'_>, op: &'f Op) -> NodeId {
        let ty = self.lowering.tile_type(op.result());
        match op.kind {
            OpKind::Broadcast | OpKind::SetValid => self.node_of(b, op.operands[0]),
            OpKind::Fillpad => {
                let (arg, value) = (self.node_of(b, op.operands[0]), self.node_of(b, op.operands[1]));
                let inside = self.lowering.tile_type(op.operands[0]).valid.clone();
                let inside = self.lowering.extents(b, &inside);
                self.push(NodeKind::Fillpad { arg, value, inside }, ty.dtype, is_narrow(ty))
            }
            OpKind::GatherRows => {
                let index = self.node_of(b, op.operands[1]);
                let site = self.lowering.site(op.loc, "a row index is outside the tensor");
                match self.lowering.tensor(op.operands[0]).cloned() {
                    Some(tensor) => self.push(NodeKind::Gather { tensor, index, site }, ty.dtype, is_narrow(ty)),
                    None => index,
                }
            }
            _ => {
                let args: Vec<NodeId> = op.operands.iter().map(|&o| self.node_of(b, o)).collect();
                let typed = if op.kind == OpKind::Select { 1 } else { 0 };
                let dtype = self.lowering.function.ty(op.operands[typed]).dtype().unwrap_or(ty.dtype);
                let site = can_fail(op.kind, dtype).then(|| self.lowering.site(op.loc, failure(op.kind)));
                let result = if op.kind.class() == Class::Cast { cast_target(op, ty.dtype) } else { ty.dtype };
                // A result of uniform operands is uniform over the columns too.
                let narrow = args.iter().all(|&a| self.nodes[a].narrow);
                let is_power = matches!(op.kind, OpKind::Exp | OpKind::Exp2);
                let at_most_zero = is_power && sign::is_at_most_zero(b, &self.nodes, args[0]);
                self.push(NodeKind::Apply { op, dtype, args, site, at_most_zero }, result, narrow)
            }
        }
    }

    fn columns_of(&mut self, b: &mut Builder<'_>, value: ValueId) -> Value {
        let last = self.lowering.tile_type(value).valid.last().copied().unwrap_or(Extent::Const(1));
        self.lowering.extent(b, last)
    }

    fn row_reduce(&mut self, b: &mut Builder<'_>, op: &'f Op) -> NodeId {
        let arg = self.wide_operand(b, op.operands[0]);
        let (dtype, columns) = (self.nodes[arg].dtype, self.columns_of(b, op.operands[0]));
        self.push(NodeKind::Reduce { reduce: reduce_of(op.kind, dtype), arg, columns }, dtype, true)
    }

    /// The operand of a reduction. A value that is the same in all columns must still be counted once per column.
    fn wide_operand(&mut self, b: &mut Builder<'_>, value: ValueId) -> NodeId {
        let node = self.node_of(b, value);
        if !self.nodes[node].narrow || is_narrow(self.lowering.tile_type(value)) {
            return node;
        }
        let dtype = self.nodes[node].dtype;
        let inside = Vec::new();
        self.push(NodeKind::Fillpad { arg: node, value: node, inside }, dtype, false)
    }

    /// The position of an extremum: the extremum first, then the least column that equals it or is NaN.
    fn row_position(&mut self, b: &mut Builder<'_>, op: &'f Op) -> NodeId {
        let arg = self.wide_operand(b, op.operands[0]);
        let (dtype, columns) = (self.nodes[arg].dtype, self.columns_of(b, op.operands[0]));
        let narrow = self.nodes[arg].narrow;
        let extremum = self.push(NodeKind::Reduce { reduce: reduce_of(op.kind, dtype), arg, columns }, dtype, true);
        let hits = self.push(NodeKind::FirstIndex { arg, extremum }, DType::I32, narrow);
        let first = self.push(NodeKind::Reduce { reduce: Reduce::Min, arg: hits, columns }, DType::I32, true);
        self.push(NodeKind::EmptyIsZero { arg: first }, DType::I32, true)
    }

    fn column_reduce(&mut self, b: &mut Builder<'_>, op: &'f Op) {
        let node = self.wide_operand(b, op.operands[0]);
        let (dtype, result) = (self.nodes[node].dtype, op.result());
        let ty = self.lowering.tile_type(result);
        let access = self.result_slot(b, result, op);
        let columns = ty.dims.last().and_then(|d| d.constant()).unwrap_or(0);
        let accumulator = self.lowering.take_slot(b, accumulator_type(dtype), &[columns]);
        self.temporary.push(accumulator.clone());
        let (kind, index) = if op.kind.class() == Class::ColArg {
            let index = self.lowering.take_slot(b, DType::I32, &[columns]);
            self.temporary.push(index.clone());
            (ColumnKind::Position { maximum: op.kind == OpKind::ColArgmax }, Some(index))
        } else {
            (ColumnKind::Combine(reduce_of(op.kind, dtype)), None)
        };
        let accumulator = as_row(accumulator);
        let valid = self.columns_of(b, op.operands[0]);
        self.column_results.insert(result, access.clone());
        self.sinks.push(Sink::Columns(ColumnReduction {
            node,
            kind,
            dtype,
            columns: valid,
            accumulator,
            index,
            result: access,
        }));
    }

    fn store(&mut self, b: &mut Builder<'_>, op: &'f Op) {
        let node = self.node_of(b, op.operands[0]);
        let ty = self.lowering.tile_type(op.operands[0]);
        let Some(access) = self.lowering.tensor_access(b, op.operands[1], &op.operands[2..], ty) else { return };
        let node = self.as_wide_as(node, ty);
        self.sinks.push(Sink::Store { node, access });
    }

    /// A value that is the same in all columns, made to have as many columns as the tile that is written.
    fn as_wide_as(&mut self, node: NodeId, ty: &TileType) -> NodeId {
        if !self.nodes[node].narrow || is_narrow(ty) {
            return node;
        }
        let dtype = self.nodes[node].dtype;
        self.push(NodeKind::Fillpad { arg: node, value: node, inside: Vec::new() }, dtype, false)
    }

    fn scatter(&mut self, b: &mut Builder<'_>, op: &'f Op) {
        let (node, index) = (self.node_of(b, op.operands[0]), self.node_of(b, op.operands[2]));
        let node = self.as_wide_as(node, self.lowering.tile_type(op.operands[0]));
        let site = self.lowering.site(op.loc, "a row index is outside the tensor");
        let Some(tensor) = self.lowering.tensor(op.operands[1]).cloned() else { return };
        self.sinks.push(Sink::Scatter { node, tensor, index, site });
    }

    /// The slot for the result of a member.
    fn result_slot(&mut self, b: &mut Builder<'_>, value: ValueId, op: &Op) -> Access {
        match self.lowering.destinations.get(&value).filter(|(_, owner)| owner.is_none()) {
            Some((access, _)) => {
                let access = access.clone();
                self.lowering.hold(&access);
                access
            }
            None => self.lowering.take_slot_for(b, value, op.loc),
        }
    }

    /// Adds a sink that writes a node to a region.
    pub fn write(&mut self, node: NodeId, ty: &TileType, access: Access) {
        let node = self.as_wide_as(node, ty);
        self.sinks.push(Sink::Store { node, access });
    }

    /// Plans and emits the graph over valid extents `rows` and `columns`.
    pub fn emit(mut self, b: &mut Builder<'_>, rows: &[Extent], columns: Extent) {
        let plan = plan(&self.nodes, &self.sinks);
        let mut buffers = HashMap::new();
        let width = self.dims.last().and_then(|d| d.constant()).unwrap_or(0);
        for (n, _) in plan.home.iter().enumerate().filter(|(_, home)| home.is_some()) {
            if self.dims.last().is_some_and(|d| d.constant().is_none()) {
                let loc = self.lowering.function.loc;
                self.lowering.unsupported(loc, "a row whose extent is known only at run time must be kept in memory");
            }
            let buffer = self.lowering.take_slot(b, accumulator_type(self.nodes[n].dtype), &[width]);
            self.temporary.push(buffer.clone());
            buffers.insert(n, buffer);
        }
        let bytes = cost::bytes(b, &self.nodes, &self.sinks, &plan);
        cost::add_group(self.lowering, &plan, rows, columns, &self.dims, b.lanes(), bytes);
        let turned = turned::needs(b, &self.nodes, &self.sinks, &plan, &self.dims, columns);
        if let Some((block, positions)) = self.group.take() {
            let vectorized = self.nodes.iter().any(|node| !node.narrow);
            self.lowering.trace.group(block, &positions, &plan, vectorized);
        }
        let rows = self.lowering.extents(b, rows);
        let columns = self.lowering.extent(b, columns);
        let stages = row_stages::of(b, &self.nodes, &self.sinks, &plan, &self.dims);
        match (turned, stages) {
            (Some(needs), _) => self.emit_turned(b, &needs, plan, rows[0], columns),
            (None, Some(stages)) => self.emit_stages(b, &stages, plan, &rows, columns),
            (None, None) => {
                let (nodes, sinks) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.sinks));
                RowGroup { nodes, sinks, plan, rows, columns, buffers }.emit(b);
            }
        }
        for access in self.temporary {
            self.lowering.release(&access);
        }
    }

    fn emit_turned(&mut self, b: &mut Builder<'_>, needs: &Needs, plan: Plan, rows: Value, columns: Value) {
        let width = self.dims.last().and_then(|d| d.constant()).unwrap_or(0);
        let strips = self.vectors(b, &needs.strips, width);
        let partials = self.vectors(b, &needs.partials, turned::PARTIALS);
        let (nodes, sinks) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.sinks));
        let whole_vectors = needs.whole_vectors;
        TurnedGroup { nodes, sinks, plan, rows, columns, whole_vectors, strips, partials }.emit(b);
    }

    /// Memory for `count` vectors of each of those nodes.
    fn vectors(&mut self, b: &mut Builder<'_>, nodes: &[NodeId], count: i64) -> HashMap<NodeId, Access> {
        let lanes = b.lanes() as i64;
        let mut memory = HashMap::new();
        for &n in nodes {
            let access = self.lowering.take_slot(b, accumulator_type(self.nodes[n].dtype), &[count, lanes]);
            self.temporary.push(access.clone());
            memory.insert(n, access);
        }
        memory
    }

    fn emit_stages(&mut self, b: &mut Builder<'_>, stages: &Stages, plan: Plan, rows: &[Value], columns: Value) {
        let length = self.dims.first().and_then(|d| d.constant()).unwrap_or(0);
        let mut buffers = HashMap::new();
        for &n in &stages.handed_on {
            let buffer = self.lowering.take_slot(b, accumulator_type(self.nodes[n].dtype), &[length]);
            self.temporary.push(buffer.clone());
            buffers.insert(n, buffer);
        }
        let (nodes, sinks) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.sinks));
        stages.emit(b, &Parts { nodes, sinks, plan, height: length, rows: rows[0], columns, buffers });
    }
}

impl<'f> Lowering<'f> {
    /// Emits the collected group, if any, and binds its results that later operations use.
    pub(super) fn flush(&mut self, b: &mut Builder<'_>, state: &mut BlockState<'f>) {
        let Some(group) = state.group.take() else { return };
        let one = (Extent::Const(1), Extent::Const(1));
        let columns = group.columns.unwrap_or(one);
        let dims = group.rows.iter().map(|r| r.0).chain([columns.0]).collect();
        let mut graph = GraphBuilder::new(self, dims);
        for &position in &group.ops {
            graph.member(b, &state.block.ops[position]);
        }
        let mut bindings = Vec::new();
        for &position in &group.ops {
            let op = &state.block.ops[position];
            for &result in &op.results {
                bindings.extend(graph.result(b, state, &group, op, result));
            }
        }
        let valid: Vec<Extent> = group.rows.iter().map(|r| r.1).collect();
        graph.group = Some((state.block, group.ops.clone()));
        graph.emit(b, &valid, columns.1);
        for (value, access) in bindings {
            self.bind_tile(value, Tile::Memory(access));
            state.live.push(value);
        }
        if let Some(&last) = group.ops.last() {
            self.release_dead(state, last);
        }
    }
}

impl<'f> GraphBuilder<'_, 'f> {
    /// Where the result of a member goes, when anything after the group uses it.
    fn result(
        &mut self,
        b: &mut Builder<'_>,
        state: &BlockState<'f>,
        group: &Group,
        op: &'f Op,
        result: ValueId,
    ) -> Option<(ValueId, Access)> {
        if let Some(access) = self.column_results.get(&result) {
            return Some((result, access.clone()));
        }
        let outside = self.lowering.uses.positions(result).iter().any(|p| !group.ops.contains(p));
        if !outside {
            return None;
        }
        let &node = self.known.get(&result)?;
        let ty = self.lowering.tile_type(result);
        let access = match self
            .in_place(state, group, result)
            .or_else(|| self.in_the_place_of_a_dying_tile(state, group, result))
        {
            Some(access) => {
                self.overwritten.extend(access.slot());
                self.lowering.hold(&access);
                access
            }
            None => self.result_slot(b, result, op),
        };
        self.write(node, ty, access.clone());
        Some((result, access))
    }

    /// The slot of a tile that this group is the last to read, where the result has its type and order: less memory is touched.
    fn in_the_place_of_a_dying_tile(&self, state: &BlockState<'f>, group: &Group, result: ValueId) -> Option<Access> {
        if self.lowering.destinations.contains_key(&result) {
            return None;
        }
        let last = group.ops.last().copied()?;
        let ty = self.lowering.tile_type(result);
        let fits = |&&value: &&ValueId| {
            let Some(Tile::Memory(access)) = self.lowering.tile(value) else { return false };
            let Some(slot) = access.whole_slot() else { return false };
            let from = self.lowering.tile_type(value);
            let turned = |v: &ValueId| self.lowering.turned.contains(v);
            let alike = from.dtype == ty.dtype && from.dims == ty.dims && turned(&value) == turned(&result);
            let dies = self.lowering.uses.last(value).is_some_and(|p| p <= last);
            let read = |node: &Node<'_>| matches!(&node.kind, NodeKind::Memory(read) if read.slot() == Some(slot));
            let in_order =
                |node: &Node<'_>| matches!(&node.kind, NodeKind::Memory(read) if read.slot_of_rows() == Some(slot));
            let aligned = self.nodes.iter().any(read) && self.nodes.iter().all(|node| !read(node) || in_order(node));
            alike && dies && aligned && self.lowering.slots.holders(slot) == 1 && !self.overwritten.contains(&slot)
        };
        let value = state.live.iter().find(fits)?;
        match self.lowering.tile(*value) {
            Some(Tile::Memory(access)) => Some(access.clone()),
            _ => None,
        }
    }

    /// The slot of the loop variable that the result becomes, when nothing needs the variable's old value beyond this group, and the group
    /// reads it only at the position it writes.
    fn in_place(&self, state: &BlockState<'f>, group: &Group, result: ValueId) -> Option<Access> {
        let (access, owner) = self.lowering.destinations.get(&result)?;
        let (owner, slot) = ((*owner)?, access.slot()?);
        let last = group.ops.last().copied()?;
        let outlives = self.lowering.uses.last(owner).is_some_and(|p| p > last);
        let aligned = self.nodes.iter().all(|node| match &node.kind {
            NodeKind::Memory(read) => read.slot() != Some(slot) || read.slot_of_rows() == Some(slot),
            _ => true,
        });
        let taken = self.overwritten.contains(&slot);
        let held = self.lowering.slots.holders(slot) > state.expected_holders(owner);
        (!outlives && aligned && !taken && !held).then(|| access.clone())
    }
}
