//! The state of lowering one kernel: what each IR value is bound to, scratch slots, failure sites.

use std::collections::{HashMap, HashSet};

use super::access::{Access, Cover, Memory, stored};
use super::kernel::Site;
use super::scratch::{SlotId, Slots};
use super::trace::Trace;
use super::uses::Uses;
use crate::codegen::host::cpu::Target;
use crate::codegen::host::gemm::panels::PanelParameter;
use crate::codegen::host::lir::{Builder, Elem, Value};
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::{DType, Extent, Function, Loc, TensorType, TileType, Type, ValueId};

/// A tensor: where it starts and how it is laid out.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub base: Value,
    pub strides: Vec<Value>,
    pub dims: Vec<Value>,
    pub dtype: DType,
}

/// How a tile is available.
#[derive(Clone, Debug)]
pub(super) enum Tile {
    /// In memory.
    Memory(Access),
    /// The same scalar everywhere, in computing form.
    Full(Value),
    /// `start + index` along an axis.
    Iota { axis: usize, start: Value },
    /// Computed by an operation of the group that is being collected.
    Pending,
}

/// What an IR value is bound to.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    Scalar(Value),
    Tensor(Tensor),
    Tile(Tile),
}

/// Lowering of one function.
pub(super) struct Lowering<'f> {
    pub function: &'f Function,
    pub uses: Uses,
    bound: Vec<Option<Bound>>,
    pub slots: Slots,
    pub sites: Vec<Site>,
    /// Parameters that may come in panels too: words after those of the parameters.
    pub panels: Vec<PanelParameter>,
    /// The first error; lowering goes on with harmless values after it.
    pub error: Option<Diagnostic>,
    /// Where a value should be written when it is computed: the slot of the loop variable that it becomes.
    pub destinations: HashMap<ValueId, (Access, Option<ValueId>)>,
    /// Tiles whose slots hold them column by column.
    pub turned: HashSet<ValueId>,
    /// Nanoseconds spent by the code emitted so far, with the trip counts of the loops around it.
    pub cost: f64,
    /// Product of the trip counts of the loops around the point of emission.
    pub trips: f64,
    pub trace: Trace,
}

impl<'f> Lowering<'f> {
    pub fn new(function: &'f Function, target: Target) -> Lowering<'f> {
        Lowering {
            function,
            uses: Uses::of(function),
            bound: vec![None; function.values.len()],
            slots: Slots::default(),
            sites: Vec::new(),
            panels: Vec::new(),
            error: None,
            destinations: HashMap::new(),
            turned: super::turned::turned(function, target.lanes),
            cost: 0.0,
            trips: 1.0,
            trace: Trace::default(),
        }
    }

    /// Notes an error; the first one counts.
    pub fn fail(&mut self, error: Diagnostic) {
        self.error.get_or_insert(error);
    }

    /// Notes that the construct at `loc` is not supported.
    pub fn unsupported(&mut self, loc: Loc, what: impl Into<String>) {
        self.fail(Diagnostic::error(codes::UNSUPPORTED, loc, what, "not translated to host code"));
    }

    /// Binds a value.
    pub fn bind(&mut self, value: ValueId, bound: Bound) {
        self.bound[value.0 as usize] = Some(bound);
    }

    /// Binds a scalar.
    pub fn bind_scalar(&mut self, value: ValueId, lir: Value) {
        self.bind(value, Bound::Scalar(lir));
    }

    /// Binds a tile.
    pub fn bind_tile(&mut self, value: ValueId, tile: Tile) {
        self.bind(value, Bound::Tile(tile));
    }

    /// What the value is bound to.
    pub fn bound(&self, value: ValueId) -> Option<&Bound> {
        self.bound[value.0 as usize].as_ref()
    }

    /// The scalar that the value is bound to.
    pub fn scalar(&mut self, b: &mut Builder<'_>, value: ValueId) -> Value {
        match self.bound(value) {
            Some(Bound::Scalar(lir)) => *lir,
            _ => {
                self.unsupported(self.function.info(value).loc, "a scalar is used before the code generator knows it");
                b.index(0)
            }
        }
    }

    /// The tile that the value is bound to.
    pub fn tile(&self, value: ValueId) -> Option<&Tile> {
        match self.bound(value) {
            Some(Bound::Tile(tile)) => Some(tile),
            _ => None,
        }
    }

    /// The tensor that the value is bound to.
    pub fn tensor(&self, value: ValueId) -> Option<&Tensor> {
        match self.bound(value) {
            Some(Bound::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The type of a tile value.
    pub fn tile_type(&self, value: ValueId) -> &'f TileType {
        static SCALAR: TileType = TileType { dtype: DType::I64, dims: Vec::new(), valid: Vec::new() };
        self.function.ty(value).as_tile().unwrap_or(&SCALAR)
    }

    /// Whether the value is a tile.
    pub fn is_tile(&self, value: ValueId) -> bool {
        matches!(self.function.ty(value), Type::Tile(_))
    }

    /// An extent as an index.
    pub fn extent(&mut self, b: &mut Builder<'_>, extent: Extent) -> Value {
        match extent {
            Extent::Const(n) => b.index(n),
            Extent::Value(v) => self.scalar(b, v),
        }
    }

    /// Several extents.
    pub fn extents(&mut self, b: &mut Builder<'_>, extents: &[Extent]) -> Vec<Value> {
        extents.iter().map(|&e| self.extent(b, e)).collect()
    }

    /// A tensor of that type at an address.
    pub fn describe_tensor(&mut self, b: &mut Builder<'_>, base: Value, ty: &TensorType) -> Tensor {
        let (dims, strides) = (self.extents(b, &ty.dims), self.extents(b, &ty.strides));
        Tensor { base, strides, dims, dtype: ty.dtype }
    }

    /// The number of a failure site.
    pub fn site(&mut self, loc: Loc, message: &str) -> u32 {
        self.site_of(Site { loc, message: message.to_owned(), values: Vec::new() })
    }

    /// The number of that failure site.
    pub fn site_of(&mut self, site: Site) -> u32 {
        let at = self.sites.iter().position(|s| *s == site).unwrap_or_else(|| {
            self.sites.push(site);
            self.sites.len() - 1
        });
        at as u32 + 1
    }

    /// The word of the argument list with the address of such panels.
    pub fn panel_word(&mut self, panels: PanelParameter) -> usize {
        let at = self.panels.iter().position(|known| *known == panels).unwrap_or_else(|| {
            self.panels.push(panels);
            self.panels.len() - 1
        });
        self.function.params.len() + at
    }

    /// Takes a fresh slot for elements of that type and extents, held once by the caller.
    pub fn take_slot(&mut self, b: &mut Builder<'_>, dtype: DType, dims: &[i64]) -> Access {
        let count = dims.iter().fold(1i64, |n, &d| n.saturating_mul(d.max(0)));
        let slot = self.slots.take(count.saturating_mul(dtype.size() as i64));
        let strides = row_major(dims).into_iter().map(|s| b.index(s)).collect();
        let base = self.slot_address(b, slot);
        Access {
            dtype,
            base,
            strides,
            limits: vec![None; dims.len()],
            memory: Memory::Slot { slot, cover: Cover::Whole },
        }
    }

    fn slot_address(&mut self, b: &mut Builder<'_>, slot: SlotId) -> Value {
        let (scratch, offset) = (b.scratch(), b.index(self.slots.offset(slot)));
        b.addr(scratch, Elem::I8, offset)
    }

    /// Takes a slot for a tile of that type. Its physical extents must be constants.
    pub fn take_tile_slot(&mut self, b: &mut Builder<'_>, ty: &TileType, loc: Loc) -> Access {
        let dims = ty.constant_dims().unwrap_or_else(|| {
            self.unsupported(loc, "a tile whose extents are known only at run time must be kept in memory");
            vec![0; ty.rank()]
        });
        let count = dims.iter().fold(1i64, |n, &d| n.saturating_mul(d.max(0)));
        if count.saturating_mul(ty.dtype.size() as i64) > MAX_SLOT {
            self.fail(Diagnostic::error(codes::MEMORY, loc, "a tile is too large", format!("{count} elements")));
            return self.take_slot(b, ty.dtype, &vec![0; ty.rank()]);
        }
        self.take_slot(b, ty.dtype, &dims)
    }

    /// Takes a slot for that tile value.
    pub fn take_slot_for(&mut self, b: &mut Builder<'_>, value: ValueId, loc: Loc) -> Access {
        let ty = self.tile_type(value);
        let mut access = self.take_tile_slot(b, ty, loc);
        if self.turned.contains(&value) {
            let rows = ty.dims[0].constant().unwrap_or(1);
            access.strides = vec![b.index(1), b.index(rows)];
        }
        access
    }

    /// One more holder for the slot of an access, if it lies in one.
    pub fn hold(&mut self, access: &Access) {
        if let Some(slot) = access.slot() {
            self.slots.hold(slot);
        }
    }

    /// One holder less for the slot of an access.
    pub fn release(&mut self, access: &Access) {
        if let Some(slot) = access.slot() {
            self.slots.release(slot);
        }
    }

    /// Whether a tensor is known to have [`FAR`] bytes at least.
    fn is_far(&self, b: &Builder<'_>, tensor: ValueId) -> bool {
        self.tensor(tensor).is_some_and(|tensor| {
            let elements = tensor.dims.iter().try_fold(1i64, |n, &dim| Some(n.saturating_mul(b.as_const(dim)?)));
            elements.is_some_and(|n| n.saturating_mul(tensor.dtype.size() as i64) >= FAR)
        })
    }

    /// The part of a tensor at the offsets, as far as the valid extents of the tile type reach.
    pub fn tensor_access(
        &mut self,
        b: &mut Builder<'_>,
        tensor_value: ValueId,
        offsets: &[ValueId],
        ty: &TileType,
    ) -> Option<Access> {
        let tensor = self.tensor(tensor_value)?.clone();
        let offsets: Vec<Value> = offsets.iter().map(|&o| self.scalar(b, o)).collect();
        let mut at = b.index(0);
        for (&offset, &stride) in offsets.iter().zip(&tensor.strides) {
            let step = b.mul(offset, stride);
            at = b.add(at, step);
        }
        let base = b.addr(tensor.base, stored(tensor.dtype), at);
        let limits = ty.valid.iter().map(|&e| Some(self.extent(b, e))).collect();
        let region = [tensor.base].into_iter().chain(offsets).collect();
        let root = self.uses.root(tensor_value);
        let memory = Memory::Tensor { root, region, far: self.is_far(b, root) };
        Some(Access { dtype: tensor.dtype, base, strides: tensor.strides, limits, memory })
    }
}

/// Bytes of a tensor that no cache holds: each pass over it waits for memory.
pub(super) const FAR: i64 = 32 << 20;

/// The largest slot in bytes: tiles beyond it are a mistake, not a plan.
const MAX_SLOT: i64 = 1 << 30;

/// Strides of a contiguous layout.
pub(super) fn row_major(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; dims.len()];
    for k in (1..dims.len()).rev() {
        strides[k - 1] = strides[k] * dims[k].max(1);
    }
    strides
}
