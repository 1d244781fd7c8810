//! Methods of tensors: loads, stores, views, single elements.

use super::coerce::Operand;
use super::method::MethodCall;
use super::place::Access;
use super::value::{At, Tensor, Value};
use super::{Flow, Site, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::{Extent, Loc, TensorType, ValueId};
use crate::ops::OpKind;
use crate::ops::rules::error::dims_text;

impl Walker<'_> {
    /// `None` where tensors have no such method of their own.
    pub fn tensor_method(&mut self, tensor: Tensor, call: &MethodCall) -> Flow<Option<Value>> {
        let args = call.args.clone();
        let loc = call.loc;
        let value = match call.name {
            "load" => {
                let [at] = self.exactly("load", args, loc)?;
                self.load(tensor, &at, call)?
            }
            "tile" => {
                let [offset, shape] = self.exactly("tile", args, loc)?;
                self.tile_at(tensor, &offset, &shape, call)?
            }
            "load_all" => {
                let [] = self.exactly("load_all", args, loc)?;
                let receiver = Operand { loc, ..call.receiver.clone() };
                Value::Tile(self.tile_of(&receiver)?)
            }
            "store" => {
                let [place, tile] = self.exactly("store", args, loc)?;
                self.store(tensor, &place, &tile, call)?
            }
            "set" => {
                let [value] = self.exactly("set", args, loc)?;
                self.set(tensor, &value, call)?
            }
            "rows" | "rows_mut" => {
                let [first, count] = self.exactly(call.name, args, loc)?;
                self.rows(tensor, &first, &count, call)?
            }
            "at" | "at_mut" => {
                let [index] = self.exactly(call.name, args, loc)?;
                self.at(tensor, &index, call)?
            }
            "view" | "view_mut" => {
                let [offset, shape] = self.exactly(call.name, args, loc)?;
                let (offsets, dims) = (self.offsets(&offset)?, self.extents(&shape)?);
                self.view(tensor, &offsets, &dims, &dims, call)?
            }
            "get" => {
                let [index] = self.exactly("get", args, loc)?;
                self.get(tensor, &index, call)?
            }
            "put" => {
                let [index, value] = self.exactly("put", args, loc)?;
                self.put(tensor, &index, &value, call)?
            }
            "gather_rows" => {
                let [index] = self.exactly("gather_rows", args, loc)?;
                self.gather_rows(tensor, &index, call)?
            }
            "scatter_rows" => {
                let [index, tile] = self.exactly("scatter_rows", args, loc)?;
                self.scatter_rows(tensor, &index, &tile, call)?
            }
            "dim" => {
                let [axis] = self.exactly("dim", args, loc)?;
                let dims = self.tensor_type(tensor.value).dims;
                let axis = self.axis(&axis, dims.len(), "dim")?;
                self.extent_scalar(dims[axis], loc)
            }
            "dims" => {
                let [] = self.exactly("dims", args, loc)?;
                let dims = self.tensor_type(tensor.value).dims;
                Value::Array(dims.iter().map(|extent| self.extent_scalar(*extent, loc)).collect())
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// The type of a value that is known to be a tensor.
    pub fn tensor_type(&self, tensor: ValueId) -> TensorType {
        let none = || TensorType { dtype: crate::ir::DType::F32, dims: Vec::new(), strides: Vec::new() };
        self.builder.tensor_type(tensor).cloned().unwrap_or_else(none)
    }

    fn load(&mut self, tensor: Tensor, at: &Operand, call: &MethodCall) -> Flow<Value> {
        let Value::At(place) = &at.value else {
            return Err(self.unexpected("a place from `tiles`", at));
        };
        let At { offset, shape, valid, written } = &**place;
        self.starts_in(tensor, offset, call)?;
        let loaded = self.builder.load(tensor.value, offset, shape, Some(valid), call.loc);
        self.loaded(tensor, loaded, *written, call)
    }

    fn tile_at(&mut self, tensor: Tensor, offset: &Operand, shape: &Operand, call: &MethodCall) -> Flow<Value> {
        let (offsets, extents) = (self.offsets(offset), self.known_extents(shape, "a tile extent"));
        let (offsets, extents) = (offsets?, extents?);
        let extents: Vec<Extent> = extents.into_iter().map(Extent::Const).collect();
        self.starts_in(tensor, &offsets, call)?;
        let loaded = self.builder.load(tensor.value, &offsets, &extents, None, call.loc);
        self.loaded(tensor, loaded, shape.loc, call)
    }

    fn loaded(
        &mut self,
        tensor: Tensor,
        outcome: Result<ValueId, crate::ops::rules::RuleError>,
        written: Loc,
        call: &MethodCall,
    ) -> Flow<Value> {
        let site = self.site(call.name, call.loc, &[(&call.receiver, tensor.value)]);
        let tile = self.tile_result(outcome, tensor.value, &site)?;
        if let Value::Tile(tile) = tile {
            self.shapes.insert(tile, written);
        }
        Ok(tile)
    }

    /// Offsets of a tile: inside, or at the end, where nothing is valid.
    fn starts_in(&mut self, tensor: Tensor, offsets: &[ValueId], call: &MethodCall) -> Flow<()> {
        let dims = self.tensor_type(tensor.value).dims;
        let name = format!("`{}`", tensor.root);
        self.starts_within(&Access { name: &name, spelled: call.name, loc: call.loc }, offsets, &dims)
    }

    fn store(&mut self, tensor: Tensor, place: &Operand, tile: &Operand, call: &MethodCall) -> Flow<Value> {
        let dtype = self.tensor_type(tensor.value).dtype;
        let target = self.place(place)?;
        let value = match (&target, &tile.value) {
            (Ok(at), Value::Int(_) | Value::Float(_) | Value::Scalar(_)) => {
                let scalar = self.scalar_of(tile, Some(dtype))?;
                let full = self.builder.full(scalar, &at.shape, call.loc);
                self.check(full, &Site::new("store", call.loc))?
            }
            _ => self.tile_typed(tile, dtype)?,
        };
        self.infer_tensor(tensor, value);
        let (offsets, valid) = match &target {
            Ok(at) => (at.offset.clone(), Some(at.valid.clone())),
            Err(offsets) => (offsets.clone(), None),
        };
        self.starts_in(tensor, &offsets, call)?;
        let site = self.site("store", call.loc, &[(tile, value), (&call.receiver, tensor.value)]);
        let stored = self.builder.store(value, tensor.value, &offsets, valid.as_deref(), call.loc);
        self.check(stored, &site)?;
        Ok(Value::Unit)
    }

    /// A tensor whose element type was not written takes that of what is stored to it.
    pub fn infer_tensor(&mut self, tensor: Tensor, value: ValueId) {
        if let Some(dtype) = self.builder.ty(value).dtype() {
            self.infer(tensor.value, dtype);
        }
    }

    /// The tile repeated to the extents of a tensor that it is to fill.
    fn repeated(&mut self, dims: &[Extent], tile: ValueId, target: Loc, call: &MethodCall) -> Flow<ValueId> {
        let found = self.builder.tile_type(tile).map_or(Vec::new(), |t| t.dims.clone());
        if found == dims {
            return Ok(tile);
        }
        let outcome = self.builder.with_dims(OpKind::Broadcast, tile, dims, call.loc);
        outcome.map_err(|_| {
            let (expected, found) = (dims_text(dims), dims_text(&found));
            let title = format!("cannot set a tensor of {expected} to a tile of {found}");
            let origin = self.origin(tile);
            let mut diagnostic = Diagnostic::error(codes::SHAPE_MISMATCH, call.loc, title, "extents must be equal")
                .label(target, format!("{expected} comes from here"))
                .help("an extent of 1 is repeated; `store` writes a part of a tensor");
            if origin != call.loc {
                diagnostic = diagnostic.label(origin, format!("{found} comes from here"));
            }
            self.report(diagnostic)
        })
    }

    fn set(&mut self, tensor: Tensor, value: &Operand, call: &MethodCall) -> Flow<Value> {
        let TensorType { dtype, dims, .. } = self.tensor_type(tensor.value);
        if matches!(value.value, Value::Int(_) | Value::Float(_) | Value::Scalar(_)) {
            let scalar = self.scalar_of(value, Some(dtype))?;
            self.fill_tensor(tensor.value, scalar, call.loc)?;
            return Ok(Value::Unit);
        }
        let tile = self.tile_typed(value, dtype)?;
        self.infer_tensor(tensor, tile);
        let origin = self.origin(tensor.value);
        let tile = self.repeated(&dims, tile, origin, call)?;
        let zeros = vec![self.builder.index(0, call.loc); dims.len()];
        let site = self.site("set", call.loc, &[(value, tile), (&call.receiver, tensor.value)]);
        let stored = self.builder.store(tile, tensor.value, &zeros, None, call.loc);
        self.check(stored, &site)?;
        Ok(Value::Unit)
    }

    fn rows(&mut self, tensor: Tensor, first: &Operand, count: &Operand, call: &MethodCall) -> Flow<Value> {
        let (first, count) = (self.index_of(first)?, self.index_of(count)?);
        let mut dims = self.tensor_type(tensor.value).dims;
        let zero = self.builder.index(0, call.loc);
        let mut offsets = vec![zero; dims.len()];
        if dims.is_empty() {
            return Err(self.unexpected("a tensor with rows", &call.receiver));
        }
        offsets[0] = first;
        dims[0] = self.builder.extent(count);
        let sizes = dims.clone();
        self.view(tensor, &offsets, &sizes, &dims, call)
    }

    fn at(&mut self, tensor: Tensor, index: &Operand, call: &MethodCall) -> Flow<Value> {
        let index = self.index_of(index)?;
        let mut sizes = self.tensor_type(tensor.value).dims;
        let zero = self.builder.index(0, call.loc);
        let mut offsets = vec![zero; sizes.len()];
        if sizes.is_empty() {
            return Err(self.unexpected("a tensor of rank 1 or more", &call.receiver));
        }
        offsets[0] = index;
        sizes[0] = Extent::Const(1);
        let dims = sizes[1..].to_vec();
        self.view(tensor, &offsets, &sizes, &dims, call)
    }

    /// A part of a tensor: `sizes` a dimension of the tensor, `dims` those of the view.
    fn view(
        &mut self,
        tensor: Tensor,
        offsets: &[ValueId],
        sizes: &[Extent],
        dims: &[Extent],
        call: &MethodCall,
    ) -> Flow<Value> {
        let limits = self.tensor_type(tensor.value).dims;
        let name = format!("`{}`", tensor.root);
        self.all_within(&Access { name: &name, spelled: call.name, loc: call.loc }, offsets, sizes, &limits)?;
        let site = self.site(call.name, call.loc, &[(&call.receiver, tensor.value)]);
        let view = self.builder.view(tensor.value, offsets, dims, call.loc);
        let value = self.check(view, &site)?;
        self.propagate(value, &[tensor.value]);
        Ok(Value::Tensor(Tensor { value, root: tensor.root }))
    }

    /// Indices of one element, inside.
    fn element_at(&mut self, tensor: Tensor, index: &Operand, call: &MethodCall) -> Flow<Vec<ValueId>> {
        let index = self.offsets(index)?;
        let dims = self.tensor_type(tensor.value).dims;
        let ones = vec![Extent::Const(1); index.len()];
        let name = format!("`{}`", tensor.root);
        self.all_within(&Access { name: &name, spelled: call.name, loc: call.loc }, &index, &ones, &dims)?;
        Ok(index)
    }

    fn get(&mut self, tensor: Tensor, index: &Operand, call: &MethodCall) -> Flow<Value> {
        let index = self.element_at(tensor, index, call)?;
        let site = self.site("get", call.loc, &[(&call.receiver, tensor.value)]);
        let element = self.builder.element(tensor.value, &index, call.loc);
        let element = self.check(element, &site)?;
        self.propagate(element, &[tensor.value]);
        Ok(Value::Scalar(element))
    }

    fn put(&mut self, tensor: Tensor, index: &Operand, value: &Operand, call: &MethodCall) -> Flow<Value> {
        let index = self.element_at(tensor, index, call)?;
        let dtype = self.tensor_type(tensor.value).dtype;
        let scalar = self.scalar_of(value, Some(dtype))?;
        let site = self.site("put", call.loc, &[(value, scalar), (&call.receiver, tensor.value)]);
        let written = self.builder.write(scalar, tensor.value, &index, call.loc);
        self.check(written, &site)?;
        Ok(Value::Unit)
    }

    fn gather_rows(&mut self, tensor: Tensor, index: &Operand, call: &MethodCall) -> Flow<Value> {
        let rows = self.tile_of(index)?;
        let site = self.site("gather_rows", call.loc, &[(&call.receiver, tensor.value), (index, rows)]);
        let attrs = crate::ir::Attrs::new();
        let request = crate::ops::rules::Request::none();
        let tile = self.builder.emit(OpKind::GatherRows, &[tensor.value, rows], attrs, &request, call.loc);
        self.tile_result(tile, tensor.value, &site)
    }

    fn scatter_rows(&mut self, tensor: Tensor, index: &Operand, tile: &Operand, call: &MethodCall) -> Flow<Value> {
        let dtype = self.tensor_type(tensor.value).dtype;
        let (rows, value) = (self.tile_of(index)?, self.tile_typed(tile, dtype)?);
        let operands = [(tile, value), (&call.receiver, tensor.value), (index, rows)];
        let site = self.site("scatter_rows", call.loc, &operands);
        let attrs = crate::ir::Attrs::new();
        let stored = self.builder.emit_effect(OpKind::ScatterRows, &[value, tensor.value, rows], attrs, call.loc);
        self.check(stored, &site)?;
        Ok(Value::Unit)
    }
}
