//! Collects row-local operations into fusion groups: which operations may share one loop over rows.
//!
//! Operations join in program order while they have the same rows (physical and valid) and, where they have more than one column, the same
//! columns. Tensors that the kernel both reads and writes need care: within one group a region may be written once, and read only if the
//! very same region is written, element by element in place.

use super::access::{Access, Memory};
use super::context::{Lowering, Tile};
use super::uses::written_tensor;
use crate::codegen::host::lir::Value;
use crate::ir::{Extent, Op, TileType, ValueId};
use crate::ops::{Class, OpKind};

/// Physical and valid extent of a dimension.
type Dim = (Extent, Extent);

/// A group that is being collected.
#[derive(Debug)]
pub(super) struct Group {
    /// Leading dimensions.
    pub rows: Vec<Dim>,
    /// The last dimension of the members that have more than one column.
    pub columns: Option<Dim>,
    /// Positions of the members in their block, ascending.
    pub ops: Vec<usize>,
    /// Regions read of tensors that the kernel writes: root and region.
    reads: Vec<(ValueId, Vec<Value>)>,
    /// Roots of tensors that the group writes.
    writes: Vec<ValueId>,
    /// Results that exist only after the loop over rows.
    late: Vec<ValueId>,
}

/// The tile whose extents are the iteration space of a row-local operation; `None` for operations that are not row-local.
pub(super) fn space<'f>(lowering: &Lowering<'f>, op: &Op) -> Option<&'f TileType> {
    let of = |value: ValueId| lowering.is_tile(value).then(|| lowering.tile_type(value));
    match op.kind.class() {
        Class::Unary | Class::Binary | Class::Compare | Class::Select | Class::Cast => of(op.result()),
        Class::RowReduce | Class::RowArg | Class::ColReduce | Class::ColArg => of(op.operands[0]),
        _ => match op.kind {
            OpKind::Store | OpKind::ScatterRows => of(op.operands[0]),
            OpKind::GatherRows | OpKind::Fillpad => of(op.result()),
            // Only as names for values of the group itself; see `block`.
            OpKind::Broadcast | OpKind::SetValid => of(op.result()),
            _ => None,
        },
    }
}

/// Whether a tile of that type has exactly one column.
pub(super) fn is_narrow(ty: &TileType) -> bool {
    let one = Some(&Extent::Const(1));
    ty.dims.last() == one && ty.valid.last() == one
}

fn dims_of(ty: &TileType) -> (Vec<Dim>, Option<Dim>) {
    let mut rows: Vec<Dim> = ty.dims.iter().copied().zip(ty.valid.iter().copied()).collect();
    let last = rows.pop();
    (rows, last.filter(|_| !is_narrow(ty)))
}

impl Group {
    /// A group with that iteration space and no members yet.
    pub fn new(ty: &TileType) -> Group {
        let (rows, columns) = dims_of(ty);
        Group { rows, columns, ops: Vec::new(), reads: Vec::new(), writes: Vec::new(), late: Vec::new() }
    }

    /// Whether an operation with that iteration space may join.
    pub fn accepts(&self, ty: &TileType) -> bool {
        let (rows, columns) = dims_of(ty);
        rows == self.rows && (columns.is_none() || self.columns.is_none() || columns == self.columns)
    }

    /// Adds the operation at `position`.
    pub fn join(&mut self, lowering: &Lowering<'_>, op: &Op, position: usize, ty: &TileType) {
        let (_, columns) = dims_of(ty);
        self.columns = self.columns.or(columns);
        self.ops.push(position);
        self.reads.extend(tensor_reads(lowering, op));
        if let Some(tensor) = written_tensor(op) {
            self.writes.push(lowering.uses.root(tensor));
        }
        if matches!(op.kind.class(), Class::ColReduce | Class::ColArg) {
            self.late.extend(&op.results);
        }
    }

    /// Whether the group writes the tensor memory of that root.
    pub fn writes(&self, root: ValueId) -> bool {
        self.writes.contains(&root)
    }

    /// Whether a write to `region` of the tensor `root` (empty: to places known only at run time) may join.
    pub fn may_write(&self, root: ValueId, region: &[Value]) -> bool {
        !self.writes(root) && self.reads.iter().all(|(r, read)| *r != root || (!region.is_empty() && read == region))
    }

    /// Whether everything that the operation reads is available inside the group.
    pub fn may_read(&self, lowering: &Lowering<'_>, op: &Op) -> bool {
        let reads_written = tensor_reads(lowering, op).iter().any(|(root, _)| self.writes(*root));
        !reads_written && !op.operands.iter().any(|operand| self.late.contains(operand))
    }
}

/// The regions of written tensors that an operation reads, through operands that stand for memory.
pub(super) fn tensor_reads(lowering: &Lowering<'_>, op: &Op) -> Vec<(ValueId, Vec<Value>)> {
    let mut reads = Vec::new();
    for &operand in &op.operands {
        if let Some(Tile::Memory(Access { memory: Memory::Tensor { root, region, .. }, .. })) = lowering.tile(operand)
            && lowering.uses.is_written(*root)
        {
            reads.push((*root, region.clone()));
        }
    }
    if op.kind == OpKind::GatherRows {
        let root = lowering.uses.root(op.operands[0]);
        if lowering.uses.is_written(root) {
            reads.push((root, Vec::new()));
        }
    }
    reads
}
