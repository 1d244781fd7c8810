//! Walks a block: joins row-local operations into groups, gives names to values that need no code, and hands everything else on.

use super::access::{Access, Memory};
use super::build::GraphBuilder;
use super::context::{Bound, Lowering, Tile};
use super::group::{Group, space};
use super::trace::{Reason, StepKind};
use super::uses::{written_tensor, written_tensors};
use super::{control, dot, movement, permute, report, rescale, scalars};
use crate::codegen::host::lir::Builder;
use crate::ir::{Block, Extent, Op, TileType, ValueId};
use crate::ops::{Class, OpKind};

/// What is under way in one block.
pub(super) struct BlockState<'f> {
    pub block: &'f Block,
    /// The group that is being collected.
    pub group: Option<Group>,
    /// Values of this block that hold slots.
    pub live: Vec<ValueId>,
    /// Values of this block that stand for parts of tensors that the kernel writes.
    loads: Vec<ValueId>,
    /// Positions of operations whose work another one has done already.
    pub skip: Vec<usize>,
    /// Slots that are held until the end of the block.
    temporary: Vec<Access>,
    /// The operation that is being lowered.
    pub position: usize,
}

impl<'f> BlockState<'f> {
    pub fn new(block: &'f Block) -> BlockState<'f> {
        BlockState {
            block,
            group: None,
            live: Vec::new(),
            loads: Vec::new(),
            skip: Vec::new(),
            temporary: Vec::new(),
            position: 0,
        }
    }

    /// How many holders the slot of loop variable `owner` has when nothing but the loop and the variable itself uses it.
    pub fn expected_holders(&self, owner: ValueId) -> usize {
        1 + usize::from(self.live.contains(&owner))
    }
}

impl<'f> Lowering<'f> {
    /// Lowers all operations of the block and leaves no group open. The caller takes the yields and then calls [`Lowering::close`].
    pub(super) fn lower_block(&mut self, b: &mut Builder<'_>, state: &mut BlockState<'f>) {
        for (position, op) in state.block.ops.iter().enumerate() {
            if self.error.is_some() {
                return;
            }
            state.position = position;
            if !state.skip.contains(&position) {
                self.lower_op(b, state, op);
            }
            if state.group.is_none() {
                self.release_dead(state, position);
            }
        }
        state.position = state.block.ops.len();
        self.trace.forget();
        self.flush(b, state);
    }

    /// Frees the slots of values whose last use is at `position` or before.
    pub(super) fn release_dead(&mut self, state: &mut BlockState<'f>, position: usize) {
        let (live, dead) = state.live.drain(..).partition(|&v| self.uses.last(v).is_none_or(|last| last > position));
        state.live = live;
        self.release_values(&dead);
    }

    fn release_values(&mut self, values: &[ValueId]) {
        for &value in values {
            if let Some(Bound::Tile(Tile::Memory(access))) = self.bound(value) {
                let access = access.clone();
                self.release(&access);
            }
        }
    }

    /// Frees the slots of all values of the block.
    pub(super) fn close(&mut self, state: BlockState<'f>) {
        self.release_values(&state.live);
        for access in &state.temporary {
            self.release(access);
        }
    }

    pub(super) fn lower_op(&mut self, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
        self.trace.forget();
        if rescale::lower(self, b, state, op) {
            return;
        }
        let pending = op.operands.iter().any(|&o| matches!(self.tile(o), Some(Tile::Pending)));
        let renames = matches!(op.kind, OpKind::Broadcast | OpKind::SetValid);
        if let Some(ty) = space(self, op).filter(|_| !renames || pending) {
            if self.join(b, state, op, ty) {
                return;
            }
            // A renaming of a value that is no longer pending needs no code.
        } else if pending {
            let product = op.kind.class() == Class::Matmul;
            self.trace.ends_at(op, if product { Reason::Product } else { Reason::NeedsWholeValue });
            self.flush(b, state);
        }
        self.lower_alone(b, state, op);
    }

    /// Adds the operation to the open group or to a new one; false when it turns out to be a mere renaming.
    fn join(&mut self, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op, ty: &TileType) -> bool {
        self.before_write(b, state, op);
        let fits = |lowering: &mut Self, b: &mut Builder<'_>, group: &Group| {
            group.accepts(ty) && group.may_read(lowering, op) && lowering.may_write(b, group, op)
        };
        if let Some(group) = &state.group {
            let joins = group.accepts(ty) && group.may_read(self, op) && self.may_write(b, group, op);
            if !joins {
                let other = if group.accepts(ty) { Reason::ReadsWhatIsWritten } else { Reason::OtherExtents };
                self.trace.ends_at(op, other);
                self.flush(b, state);
            }
        }
        if state.group.is_none() {
            if matches!(op.kind, OpKind::Broadcast | OpKind::SetValid) {
                return false;
            }
            let group = Group::new(ty);
            if !fits(self, b, &group) {
                self.unsupported(op.loc, format!("`{}` of this form", op.kind.name()));
            }
            state.group = Some(group);
        }
        if let Some(group) = &mut state.group {
            group.join(self, op, state.position, ty);
        }
        for &result in &op.results {
            self.bind_tile(result, Tile::Pending);
        }
        true
    }

    /// Whether the group allows what the operation writes.
    fn may_write(&mut self, b: &mut Builder<'_>, group: &Group, op: &Op) -> bool {
        let Some(tensor) = written_tensor(op) else { return true };
        let (root, region) = (self.uses.root(tensor), self.written_region(b, op));
        // The written tile itself may be read from the same tensor.
        let own = super::group::tensor_reads(self, op);
        group.may_write(root, &region)
            && own.iter().all(|(r, read)| *r != root || (!region.is_empty() && *read == region))
    }

    /// The region that a store writes; empty for places known only at run time.
    fn written_region(&mut self, b: &mut Builder<'_>, op: &Op) -> Vec<crate::codegen::host::lir::Value> {
        if op.kind != OpKind::Store {
            return Vec::new();
        }
        let ty = self.tile_type(op.operands[0]);
        match self.tensor_access(b, op.operands[1], &op.operands[2..], ty) {
            Some(Access { memory: Memory::Tensor { region, .. }, .. }) => region,
            _ => Vec::new(),
        }
    }

    /// Before an operation writes tensors: brings into scratch memory whatever was loaded from them and is still needed.
    fn before_write(&mut self, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
        let mut written = Vec::new();
        written_tensors(op, &mut written);
        let roots: Vec<ValueId> = written.into_iter().map(|t| self.uses.root(t)).collect();
        if roots.is_empty() {
            return;
        }
        let region = if op.regions.is_empty() { self.written_region(b, op) } else { Vec::new() };
        let endangered: Vec<ValueId> =
            state.loads.iter().copied().filter(|&v| self.is_endangered(state, v, op, &roots, &region)).collect();
        if endangered.is_empty() {
            return;
        }
        self.trace.ends_at(op, Reason::WritesWhatIsRead);
        self.flush(b, state);
        for value in endangered {
            self.materialize(b, state, value);
        }
    }

    /// Whether a value that stands for tensor memory is still read when the operation has written that memory.
    fn is_endangered(
        &self,
        state: &BlockState<'f>,
        value: ValueId,
        op: &Op,
        roots: &[ValueId],
        region: &[crate::codegen::host::lir::Value],
    ) -> bool {
        let Some(Tile::Memory(Access { memory: Memory::Tensor { root, region: read, .. }, .. })) = self.tile(value)
        else {
            return false;
        };
        let last = self.uses.last(value);
        let later = last.is_some_and(|p| p > state.position);
        let now = last == Some(state.position);
        roots.contains(root) && (later || (now && (!op.regions.is_empty() || region.is_empty() || read != region)))
    }

    /// Whether a value that stands for memory of that root is used after the current operation.
    pub(super) fn is_read_later(&self, state: &BlockState<'f>, root: ValueId) -> bool {
        state.loads.iter().any(|&value| {
            let reads = matches!(self.tile(value), Some(Tile::Memory(Access { memory: Memory::Tensor { root: r, .. }, .. })) if *r == root);
            reads && self.uses.last(value).is_some_and(|last| last > state.position)
        })
    }

    /// A slot that holds the tile, its own one where the value is of this block.
    pub(super) fn materialize(
        &mut self,
        b: &mut Builder<'_>,
        state: &mut BlockState<'f>,
        value: ValueId,
    ) -> Option<Access> {
        let tile = self.tile(value)?.clone();
        if let Tile::Memory(access) = &tile
            && access.whole_slot().is_some()
        {
            return Some(access.clone());
        }
        let ty = self.tile_type(value);
        let loc = self.function.info(value).loc;
        self.trace.note(loc, StepKind::Kept);
        let access = self.take_slot_for(b, value, loc);
        self.copy(b, &tile, ty, &access);
        if !self.uses.is_defined_in(value, state.block) {
            // Other blocks must not see a copy that exists only here.
            state.temporary.push(access.clone());
            return Some(access);
        }
        if let Tile::Memory(old) = &tile
            && let Some(at) = state.live.iter().position(|&v| v == value)
        {
            state.live.swap_remove(at);
            self.release(old);
        }
        self.bind_tile(value, Tile::Memory(access.clone()));
        state.live.push(value);
        Some(access)
    }

    /// Copies the valid part of a tile to a region.
    pub(super) fn copy(&mut self, b: &mut Builder<'_>, tile: &Tile, ty: &TileType, to: &Access) {
        let mut graph = GraphBuilder::new(self, ty.dims.clone());
        let node = graph.source(b, tile, ty);
        graph.write(node, ty, to.clone());
        let (last, rows) = ty.valid.split_last().map_or((Extent::Const(1), &[][..]), |(l, r)| (*l, r));
        graph.emit(b, rows, last);
    }

    /// Binds a tile that holds a slot or stands for tensor memory.
    pub(super) fn define(&mut self, state: &mut BlockState<'f>, value: ValueId, tile: Tile) {
        if let Tile::Memory(access) = &tile {
            match &access.memory {
                Memory::Slot { .. } => state.live.push(value),
                Memory::Tensor { root, .. } if self.uses.is_written(*root) => state.loads.push(value),
                Memory::Tensor { .. } => {}
            }
        }
        self.bind_tile(value, tile);
    }

    /// Defines a value as another view of the memory of an access.
    pub(super) fn define_view(&mut self, state: &mut BlockState<'f>, value: ValueId, tile: Tile) {
        if let Tile::Memory(access) = &tile {
            self.hold(access);
        }
        self.define(state, value, tile);
    }

    /// Lowers an operation that is not part of a group; no operand is pending.
    fn lower_alone(&mut self, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
        match op.kind.class() {
            Class::Control => {
                self.trace.ends_at(op, Reason::ControlFlow);
                self.flush(b, state);
                self.before_write(b, state, op);
                control::lower(self, b, state, op);
            }
            Class::Matmul => {
                self.trace.ends_at(op, Reason::Product);
                self.flush(b, state);
                dot::lower(self, b, state, op);
            }
            Class::Layout | Class::Create => {
                self.trace.ends_at(op, Reason::NeedsWholeValue);
                movement::lower(self, b, state, op);
            }
            Class::Permute => {
                self.trace.ends_at(op, Reason::SingleElements);
                self.flush(b, state);
                permute::lower(self, b, state, op);
            }
            Class::Transfer => self.load(b, state, op),
            Class::Element => {
                self.before_element(b, state, op);
                scalars::lower_element(self, b, op);
            }
            Class::Tensor => movement::lower_tensor(self, b, state, op),
            Class::Check => scalars::lower_assert(self, b, op),
            Class::Report => report::lower(self, b, state, op),
            Class::Call => self.unsupported(op.loc, "a call inside a kernel"),
            _ => scalars::lower(self, b, op),
        }
    }

    fn load(&mut self, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
        let root = self.uses.root(op.operands[0]);
        if state.group.as_ref().is_some_and(|g| g.writes(root)) {
            self.trace.ends_at(op, Reason::ReadsWhatIsWritten);
            self.flush(b, state);
        }
        let ty = self.tile_type(op.result());
        match self.tensor_access(b, op.operands[0], &op.operands[1..], ty) {
            Some(access) => self.define(state, op.result(), Tile::Memory(access)),
            None => self.unsupported(op.loc, "a load from a tensor that is not known here"),
        }
    }

    /// Single elements of tensors are read and written at once, so open groups that touch the tensor go first.
    fn before_element(&mut self, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
        let tensor = match op.kind {
            OpKind::Write => op.operands[1],
            OpKind::Read => op.operands[0],
            _ => return,
        };
        self.trace.note(op.loc, StepKind::ByElement(op.kind));
        if self.uses.is_written(self.uses.root(tensor)) {
            self.trace.ends_at(op, Reason::SingleElements);
            self.flush(b, state);
        }
        self.before_write(b, state, op);
    }
}
