//! One method a family of operations, for those whose operands, attributes or extents need arranging.

use super::super::nodes::{Attr, AttrKey, Attrs, ValueId};
use super::super::types::{Extent, Type};
use super::super::{DType, Loc};
use super::Builder;
use crate::ops::OpKind;
use crate::ops::rules::{Request, RuleError};

impl Builder {
    /// A tile with every element equal to `value`.
    pub fn full(&mut self, value: ValueId, dims: &[Extent], loc: Loc) -> Result<ValueId, RuleError> {
        self.emit(OpKind::Full, &[value], Attrs::new(), &Request::dims(dims.iter().copied()), loc)
    }

    /// `start + index` along `axis`.
    pub fn iota(&mut self, start: ValueId, axis: i64, dims: &[Extent], loc: Loc) -> Result<ValueId, RuleError> {
        let attrs = Attrs::new().with(AttrKey::Axis, Attr::Int(axis));
        self.emit(OpKind::Iota, &[start], attrs, &Request::dims(dims.iter().copied()), loc)
    }

    /// `mask`, `a`, `b`, broadcast against each other.
    pub fn select(&mut self, mask: ValueId, a: ValueId, b: ValueId, loc: Loc) -> Result<ValueId, RuleError> {
        self.emit(OpKind::Select, &[mask, a, b], Attrs::new(), &Request::none(), loc)
    }

    /// The part of a tile at `offsets`.
    pub fn slice(&mut self, x: ValueId, offsets: &[ValueId], dims: &[Extent], loc: Loc) -> Result<ValueId, RuleError> {
        let operands = [&[x], offsets].concat();
        self.emit(OpKind::Slice, &operands, Attrs::new(), &Request::dims(dims.iter().copied()), loc)
    }

    /// `target` with `source` written into it at `offsets`.
    pub fn assemble(
        &mut self,
        target: ValueId,
        source: ValueId,
        offsets: &[ValueId],
        loc: Loc,
    ) -> Result<ValueId, RuleError> {
        let operands = [&[target, source], offsets].concat();
        self.emit(OpKind::Assemble, &operands, Attrs::new(), &Request::none(), loc)
    }

    /// `reshape` or `broadcast` to the given extents.
    pub fn with_dims(&mut self, kind: OpKind, x: ValueId, dims: &[Extent], loc: Loc) -> Result<ValueId, RuleError> {
        self.emit(kind, &[x], Attrs::new(), &Request::dims(dims.iter().copied()), loc)
    }

    /// Two tiles side by side along `axis`.
    pub fn concat(&mut self, a: ValueId, b: ValueId, axis: i64, loc: Loc) -> Result<ValueId, RuleError> {
        let attrs = Attrs::new().with(AttrKey::Axis, Attr::Int(axis));
        let mut request = Request::none();
        if let (Some(x), Some(y), Ok(k)) = (self.tile_type(a), self.tile_type(b), usize::try_from(axis))
            && let (Some(p), Some(q)) = (x.dims.get(k).copied(), y.dims.get(k).copied())
        {
            let mut dims = x.dims.clone();
            let (p, q) = (self.extent_value(p, loc), self.extent_value(q, loc));
            let sum = self.binary(OpKind::Add, p, q, loc)?;
            dims[k] = self.extent(sum);
            request = Request::dims(dims);
        }
        self.emit(OpKind::Concat, &[a, b], attrs, &request, loc)
    }

    /// `value` in every lane outside the valid extents.
    pub fn fillpad(&mut self, x: ValueId, value: ValueId, loc: Loc) -> Result<ValueId, RuleError> {
        self.emit(OpKind::Fillpad, &[x, value], Attrs::new(), &Request::none(), loc)
    }

    /// The same tile with other valid extents; the tile itself where they do not change.
    pub fn set_valid(&mut self, x: ValueId, valid: &[Extent], loc: Loc) -> Result<ValueId, RuleError> {
        if self.tile_type(x).is_some_and(|t| t.valid == valid) {
            return Ok(x);
        }
        let request = Request { valid: Some(valid.to_vec()), ..Request::none() };
        self.emit(OpKind::SetValid, &[x], Attrs::new(), &request, loc)
    }

    /// `matmul` `(a, b)`, `matmul_acc` `(acc, a, b)` or `matmul_bias` `(a, b, bias)`.
    pub fn matmul(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        transpose_a: bool,
        transpose_b: bool,
        loc: Loc,
    ) -> Result<ValueId, RuleError> {
        let mut attrs = Attrs::new();
        for (key, transposed) in [(AttrKey::TransposeA, transpose_a), (AttrKey::TransposeB, transpose_b)] {
            if transposed {
                attrs.set(key, Attr::Bool(true));
            }
        }
        self.emit(kind, operands, attrs, &Request::none(), loc)
    }

    /// The part of a tensor at `offsets`: valid is what lies inside the tensor, and inside `valid` where given.
    pub fn load(
        &mut self,
        tensor: ValueId,
        offsets: &[ValueId],
        dims: &[Extent],
        valid: Option<&[Extent]>,
        loc: Loc,
    ) -> Result<ValueId, RuleError> {
        let operands = [&[tensor], offsets].concat();
        let request = Request { dims: Some(dims.to_vec()), valid: valid.map(<[Extent]>::to_vec), strides: None };
        self.emit(OpKind::Load, &operands, Attrs::new(), &request, loc)
    }

    /// A whole tensor as a tile.
    pub fn load_all(&mut self, tensor: ValueId, loc: Loc) -> Result<ValueId, RuleError> {
        let dims = self.tensor_dims(OpKind::Load, 0, tensor)?;
        let zeros = vec![self.index(0, loc); dims.len()];
        self.load(tensor, &zeros, &dims, None, loc)
    }

    /// Writes the part of a tile that is valid, inside `valid` where given, and inside the tensor.
    pub fn store(
        &mut self,
        tile: ValueId,
        tensor: ValueId,
        offsets: &[ValueId],
        valid: Option<&[Extent]>,
        loc: Loc,
    ) -> Result<(), RuleError> {
        let limits = self.tensor_dims(OpKind::Store, 1, tensor)?;
        let mut narrowed = match self.tile_type(tile) {
            Some(t) if t.rank() == limits.len() && offsets.len() == limits.len() => t.valid.clone(),
            // The type rule of `store` says what is wrong.
            _ => Vec::new(),
        };
        for axis in 0..narrowed.len() {
            if let Some(place) = valid.and_then(|v| v.get(axis)) {
                narrowed[axis] = self.min_extent(narrowed[axis], *place, loc)?;
            }
            self.starts_inside(axis, offsets[axis], limits[axis])?;
            let rest = self.remaining(limits[axis], offsets[axis], loc)?;
            narrowed[axis] = self.min_extent(narrowed[axis], rest, loc)?;
        }
        let tile = if narrowed.is_empty() { tile } else { self.set_valid(tile, &narrowed, loc)? };
        let operands = [&[tile, tensor], offsets].concat();
        self.emit_effect(OpKind::Store, &operands, Attrs::new(), loc)
    }

    /// Narrowing would hide a store that starts outside of the tensor.
    fn starts_inside(&self, axis: usize, at: ValueId, limit: Extent) -> Result<(), RuleError> {
        match (self.constant(at), limit) {
            (Some(offset), Extent::Const(extent)) if offset < 0 || offset > extent => {
                Err(RuleError::OutOfBounds { op: OpKind::Store, operand: 1, axis, offset, size: 0, extent })
            }
            _ => Ok(()),
        }
    }

    /// A new tensor of the given extents, contiguous.
    pub fn alloc(&mut self, dtype: DType, dims: &[Extent], loc: Loc) -> Result<ValueId, RuleError> {
        let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(dtype));
        self.emit(OpKind::Alloc, &[], attrs, &Request::dims(dims.iter().copied()), loc)
    }

    /// A part of a tensor with the tensor's strides; fewer extents than the rank drop leading dimensions.
    pub fn view(
        &mut self,
        tensor: ValueId,
        offsets: &[ValueId],
        dims: &[Extent],
        loc: Loc,
    ) -> Result<ValueId, RuleError> {
        let operands = [&[tensor], offsets].concat();
        self.emit(OpKind::View, &operands, Attrs::new(), &Request::dims(dims.iter().copied()), loc)
    }

    /// One element of a tensor (`read`) or tile (`extract`).
    pub fn element(&mut self, container: ValueId, index: &[ValueId], loc: Loc) -> Result<ValueId, RuleError> {
        let kind = if self.tensor_type(container).is_some() { OpKind::Read } else { OpKind::Extract };
        let operands = [&[container], index].concat();
        self.emit(kind, &operands, Attrs::new(), &Request::none(), loc)
    }

    /// Writes one element of a tensor.
    pub fn write(&mut self, value: ValueId, tensor: ValueId, index: &[ValueId], loc: Loc) -> Result<(), RuleError> {
        let operands = [&[value, tensor], index].concat();
        self.emit_effect(OpKind::Write, &operands, Attrs::new(), loc)
    }

    /// A call of a function of the program: `after` are events to wait for; `results` are the types that the callee
    /// yields, in the caller's values. With `event`, the last result is the completion of the call.
    pub fn call(
        &mut self,
        callee: &str,
        arguments: &[ValueId],
        after: &[ValueId],
        results: Vec<Type>,
        event: bool,
        loc: Loc,
    ) -> Vec<ValueId> {
        let mut attrs = Attrs::new().with(AttrKey::Callee, Attr::Text(callee.to_owned()));
        if !after.is_empty() {
            attrs.set(AttrKey::After, Attr::Int(after.len() as i64));
        }
        let depth = self.depth();
        let types = results.into_iter().chain(event.then_some(Type::Event));
        let results: Vec<ValueId> = types.map(|ty| self.define(ty, None, loc, depth)).collect();
        self.push(OpKind::Call, [arguments, after].concat(), attrs, results.clone(), loc);
        results
    }

    /// Stops the kernel with `message` where the condition is false; nothing where it is known to be true.
    pub fn assert(&mut self, condition: ValueId, message: &str, loc: Loc) -> Result<(), RuleError> {
        self.assert_showing(condition, &message.replace('{', "{{").replace('}', "}}"), &[], loc)
    }

    /// Stops the kernel where the condition is false, with a message that has placeholders for scalar values; nothing where it is known
    /// to be true.
    pub fn assert_showing(
        &mut self,
        condition: ValueId,
        template: &str,
        values: &[ValueId],
        loc: Loc,
    ) -> Result<(), RuleError> {
        if let Some(crate::ops::fold::Literal::Bool(true)) = self.literal(condition) {
            return Ok(());
        }
        let attrs = Attrs::new().with(AttrKey::Message, Attr::Text(template.to_owned()));
        self.emit_effect(OpKind::Assert, &[&[condition], values].concat(), attrs, loc)
    }

    fn tensor_dims(&self, op: OpKind, operand: usize, tensor: ValueId) -> Result<Vec<Extent>, RuleError> {
        match self.ty(tensor) {
            Type::Tensor(t) => Ok(t.dims.clone()),
            other => Err(RuleError::OperandKind { op, operand, expected: "a tensor", found: other.clone() }),
        }
    }
}
