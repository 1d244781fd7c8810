//! Regions of memory that hold tile elements: slots of scratch memory and parts of tensors, read and written a vector at a time.
//!
//! Registers hold values in their *computing* form: `f16` and `bf16` as f32, `bool` as `i1` or a lane mask, everything else as it is.
//! Memory holds the *stored* form: `bool` as a byte of 0 or 1. Conversion happens here and nowhere else.

use super::scratch::SlotId;
use crate::codegen::host::lir::{Builder, Elem, Type, Value};
use crate::ir::{DType, ValueId};

/// What memory an access touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// A slot, and how much of it.
    Slot { slot: SlotId, cover: Cover },
    /// A part of a tensor: its root, the address and offsets that tell whether two regions are the same (empty: unlike any other), and
    /// whether the whole is known to be [`FAR`](super::context::FAR) at least.
    Tensor { root: ValueId, region: Vec<Value>, far: bool },
}

/// How much of a slot an access covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// The slot in its own layout, element for element.
    Whole,
    /// The same of a tile of one column, which is repeated.
    Column,
    Part,
}

impl Memory {
    /// Whether it comes from memory, as no cache holds it.
    pub fn is_far(&self) -> bool {
        matches!(self, Memory::Tensor { far: true, .. })
    }

    /// The same memory, seen in another arrangement.
    pub fn part(&self) -> Memory {
        match self {
            Memory::Slot { slot, .. } => Memory::Slot { slot: *slot, cover: Cover::Part },
            Memory::Tensor { root, far, .. } => Memory::Tensor { root: *root, region: Vec::new(), far: *far },
        }
    }
}

/// A strided region of memory with the extents of some tile.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// Element type in memory.
    pub dtype: DType,
    /// Address of the first element.
    pub base: Value,
    /// Distance between neighbours along each dimension, in elements.
    pub strides: Vec<Value>,
    /// Per dimension, how many elements may be touched; `None` for as many as the tile has.
    pub limits: Vec<Option<Value>>,
    pub memory: Memory,
}

/// A position in a loop over tiles: the indices of the leading dimensions, and the lanes along the last.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    pub rows: &'a [Row],
    /// Index of the first lane.
    pub column: Value,
    /// One past the last column that the loop visits.
    pub columns: Value,
    /// The lanes that are inside, `None` for all.
    pub mask: Option<Value>,
}

/// An index along one leading dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub index: Value,
    /// One past the last index that the loop visits.
    pub end: Value,
}

/// The type that registers have for an element type.
pub(super) fn computing(dtype: DType) -> Elem {
    match dtype {
        DType::Bool => Elem::I1,
        DType::I8 | DType::U8 => Elem::I8,
        DType::I16 | DType::U16 => Elem::I16,
        DType::I32 | DType::U32 => Elem::I32,
        DType::I64 => Elem::I64,
        DType::F16 | DType::BF16 | DType::F32 => Elem::F32,
    }
}

/// The type that memory has for an element type.
pub(super) fn stored(dtype: DType) -> Elem {
    match dtype {
        DType::Bool => Elem::I8,
        DType::F16 => Elem::F16,
        DType::BF16 => Elem::BF16,
        _ => computing(dtype),
    }
}

/// Stored form to computing form.
pub(super) fn from_stored(b: &mut Builder<'_>, value: Value, dtype: DType) -> Value {
    match dtype {
        DType::Bool => {
            let zero = b.constant(b.ty(value), 0);
            b.cmp(crate::codegen::host::lir::Cmp::Ne, value, zero)
        }
        _ => b.widen(value),
    }
}

/// Computing form to stored form.
pub(super) fn to_stored(b: &mut Builder<'_>, value: Value, dtype: DType) -> Value {
    match dtype {
        DType::Bool => b.resize(value, Elem::I8, false),
        DType::F16 => b.cvt(crate::codegen::host::lir::Cvt::Round, value, Elem::F16),
        DType::BF16 => b.cvt(crate::codegen::host::lir::Cvt::Round, value, Elem::BF16),
        _ => value,
    }
}

/// Whether the loop bound never exceeds the limit, as far as constants tell.
fn is_within(b: &Builder<'_>, bound: Value, limit: Value) -> bool {
    bound == limit || matches!((b.as_const(bound), b.as_const(limit)), (Some(x), Some(y)) if x <= y)
}

impl Access {
    /// Address of the first element of the row that the indices name.
    pub fn row_address(&self, b: &mut Builder<'_>, rows: &[Row]) -> Value {
        let mut offset = b.index(0);
        for (row, &stride) in rows.iter().zip(&self.strides) {
            let step = b.mul(row.index, stride);
            offset = b.add(offset, step);
        }
        b.addr(self.base, stored(self.dtype), offset)
    }

    /// Whether the row lies inside the limits; `None` when it always does.
    pub fn row_guard(&self, b: &mut Builder<'_>, rows: &[Row]) -> Option<Value> {
        let mut guard = None;
        for (row, limit) in rows.iter().zip(&self.limits) {
            let Some(limit) = *limit else { continue };
            if !is_within(b, row.end, limit) {
                let inside = b.cmp(crate::codegen::host::lir::Cmp::Lt, row.index, limit);
                guard = Some(guard.map_or(inside, |g| b.and(g, inside)));
            }
        }
        guard
    }

    /// The lanes that may be touched at the cursor: the cursor's own mask, cut to the limits.
    fn mask(&self, b: &mut Builder<'_>, at: &Cursor<'_>) -> Option<Value> {
        let mut mask = at.mask;
        if let Some(limit) = self.limits.last().copied().flatten()
            && !is_within(b, at.columns, limit)
        {
            let remaining = b.sub(limit, at.column);
            let inside = b.tail_mask(remaining);
            mask = Some(mask.map_or(inside, |m| b.and(m, inside)));
        }
        if let Some(guard) = self.row_guard(b, at.rows) {
            let guard = b.splat(guard);
            mask = Some(mask.map_or(guard, |m| b.and(m, guard)));
        }
        mask
    }

    fn column_stride(&self, b: &mut Builder<'_>) -> Value {
        self.strides.last().copied().unwrap_or_else(|| b.index(1))
    }

    /// The elements at the cursor in computing form; lanes outside are 0.
    pub fn load(&self, b: &mut Builder<'_>, at: &Cursor<'_>) -> Value {
        let (row, mask, stride) = (self.row_address(b, at.rows), self.mask(b, at), self.column_stride(b));
        let value = if b.as_const(stride) == Some(1) {
            b.load_vec(stored(self.dtype), row, at.column, None, mask)
        } else {
            let index = b.mul(at.column, stride);
            b.load_vec(stored(self.dtype), row, index, Some(stride), mask)
        };
        from_stored(b, value, self.dtype)
    }

    /// Writes the elements at the cursor, given in computing form.
    pub fn store(&self, b: &mut Builder<'_>, value: Value, at: &Cursor<'_>) {
        let (row, mask, stride) = (self.row_address(b, at.rows), self.mask(b, at), self.column_stride(b));
        let value = b.splat(value);
        let value = to_stored(b, value, self.dtype);
        if b.as_const(stride) == Some(1) {
            b.store_vec(value, row, at.column, None, mask);
        } else {
            let index = b.mul(at.column, stride);
            b.store_vec(value, row, index, Some(stride), mask);
        }
    }

    /// Whether the only column of a one-column tile may be touched; `None` when it always may.
    fn narrow_guard(&self, b: &mut Builder<'_>, rows: &[Row]) -> Option<Value> {
        let guard = self.row_guard(b, rows);
        let (zero, one) = (b.index(0), b.index(1));
        match self.limits.last().copied().flatten() {
            Some(limit) if !is_within(b, one, limit) => {
                let inside = b.cmp(crate::codegen::host::lir::Cmp::Lt, zero, limit);
                Some(guard.map_or(inside, |g| b.and(g, inside)))
            }
            _ => guard,
        }
    }

    /// The first element of a row as a scalar; 0 outside the limits.
    pub fn load_narrow(&self, b: &mut Builder<'_>, rows: &[Row]) -> Value {
        let ty = Type::Scalar(stored(self.dtype));
        let zero = b.index(0);
        let guard = self.narrow_guard(b, rows);
        let row = self.row_address(b, rows);
        let value = match guard {
            None => b.load(ty, row, zero),
            Some(guard) => b.if_else(guard, |b| vec![b.load(ty, row, zero)], |b| vec![b.constant(ty, 0)])[0],
        };
        from_stored(b, value, self.dtype)
    }

    /// Writes the first element of a row.
    pub fn store_narrow(&self, b: &mut Builder<'_>, value: Value, rows: &[Row]) {
        let zero = b.index(0);
        let guard = self.narrow_guard(b, rows);
        let row = self.row_address(b, rows);
        let value = to_stored(b, value, self.dtype);
        match guard {
            None => b.store(value, row, zero),
            Some(guard) => b.if_then(guard, |b| b.store(value, row, zero)),
        }
    }

    /// The access with some dimensions repeated: `repeated[d]` says whether dimension d of extent 1 serves all indices.
    pub fn repeat(&self, b: &mut Builder<'_>, repeated: &[bool]) -> Access {
        let mut access = self.clone();
        for (d, _) in repeated.iter().enumerate().filter(|(_, r)| **r) {
            access.strides[d] = b.index(0);
            access.limits[d] = None;
        }
        match (repeated, &mut access.memory) {
            ([false, true], Memory::Slot { cover: cover @ Cover::Whole, .. }) => *cover = Cover::Column,
            _ if repeated.contains(&true) => access.memory = access.memory.part(),
            _ => {}
        }
        access
    }

    /// Whether both lie in the same slot or tensor.
    pub fn shares_memory(&self, other: &Access) -> bool {
        match (&self.memory, &other.memory) {
            (Memory::Slot { slot: a, .. }, Memory::Slot { slot: b, .. }) => a == b,
            (Memory::Tensor { root: a, .. }, Memory::Tensor { root: b, .. }) => a == b,
            _ => false,
        }
    }

    /// The slot that the access covers element for element.
    pub fn whole_slot(&self) -> Option<SlotId> {
        match self.memory {
            Memory::Slot { slot, cover: Cover::Whole } => Some(slot),
            _ => None,
        }
    }

    /// The slot of which the access covers, row by row, all that there is.
    pub fn slot_of_rows(&self) -> Option<SlotId> {
        match self.memory {
            Memory::Slot { slot, cover: Cover::Whole | Cover::Column } => Some(slot),
            _ => None,
        }
    }

    /// Whether all rows that the tile can have, valid or not, have memory of their own.
    pub fn has_all_rows(&self) -> bool {
        self.slot_of_rows().is_some() && self.limits.first().is_some_and(Option::is_none)
    }

    /// The slot that the access lies in.
    pub fn slot(&self) -> Option<SlotId> {
        match self.memory {
            Memory::Slot { slot, .. } => Some(slot),
            Memory::Tensor { .. } => None,
        }
    }
}
