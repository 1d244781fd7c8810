//! Methods of tiles that rearrange, cut, join, or ask for extents.

use super::coerce::Operand;
use super::method::MethodCall;
use super::place::Access;
use super::value::Value;
use super::{Flow, Walker};
use crate::ir::{Attrs, DType, Extent, TileType, ValueId};
use crate::ops::OpKind;

impl Walker<'_> {
    /// `None` where tiles have no such method.
    pub fn layout_method(&mut self, call: &MethodCall) -> Flow<Option<Value>> {
        let args = call.args.clone();
        let loc = call.loc;
        let value = match call.name {
            "t" => {
                let [] = self.exactly("t", args, loc)?;
                self.transpose(call)?
            }
            "reshape" | "broadcast" => {
                let [shape] = self.exactly(call.name, args, loc)?;
                self.with_shape(call, &shape)?
            }
            "slice" => {
                let [offset, shape] = self.exactly("slice", args, loc)?;
                self.slice(call, &offset, &shape)?
            }
            "assemble" => {
                let [offset, source] = self.exactly("assemble", args, loc)?;
                self.assemble(call, &offset, &source)?
            }
            "concat" => {
                let [other, axis] = self.exactly("concat", args, loc)?;
                self.concat(call, &other, &axis)?
            }
            "gather" => {
                let [index] = self.exactly("gather", args, loc)?;
                self.gather(call, &index)?
            }
            "scatter" => {
                let [index, source] = self.exactly("scatter", args, loc)?;
                self.scatter(call, &index, &source)?
            }
            "row_argsort" => {
                let [] = self.exactly("row_argsort", args, loc)?;
                let (x, _) = self.receiver(call)?;
                let site = self.site("row_argsort", loc, &[(&call.receiver, x)]);
                self.emit(OpKind::RowArgsort, &[x], Attrs::new(), &site).map(Value::Tile)?
            }
            "fillpad" => {
                let [value] = self.exactly("fillpad", args, loc)?;
                self.fillpad(call, &value)?
            }
            "set_valid" => {
                let [valid] = self.exactly("set_valid", args, loc)?;
                self.set_valid(call, &valid)?
            }
            "matmul" => {
                let [other] = self.exactly("matmul", args, loc)?;
                self.matmul(&call.receiver, &other, loc)?
            }
            "mma" => {
                let [a, b] = self.exactly("mma", args, loc)?;
                self.mma(&call.receiver, &a, &b, loc)?
            }
            "dim" | "valid" => {
                let [axis] = self.exactly(call.name, args, loc)?;
                self.tile_extent(call, &axis)?
            }
            "dims" => {
                let [] = self.exactly("dims", args, loc)?;
                let (_, ty) = self.receiver(call)?;
                Value::Array(ty.dims.iter().map(|extent| self.extent_scalar(*extent, loc)).collect())
            }
            "get" => {
                let [index] = self.exactly("get", args, loc)?;
                self.extract(call, &index)?
            }
            "clone" => call.receiver.value.clone(),
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// The receiver as a tile, with its type.
    fn receiver(&mut self, call: &MethodCall) -> Flow<(ValueId, TileType)> {
        let x = self.tile_of(&call.receiver)?;
        match self.builder.tile_type(x) {
            Some(ty) => Ok((x, ty.clone())),
            None => Err(self.unexpected("a tile", &call.receiver)),
        }
    }

    fn transpose(&mut self, call: &MethodCall) -> Flow<Value> {
        let (x, _) = self.receiver(call)?;
        let site = self.site("t", call.loc, &[(&call.receiver, x)]);
        if let Some(source) = self.transposed.get(&x) {
            return Ok(Value::Tile(*source));
        }
        let result = self.builder.unary(OpKind::Transpose, x, call.loc);
        let result = self.tile_result(result, x, &site)?;
        if let Value::Tile(tile) = result {
            self.transposed.insert(tile, x);
            let origin = self.origin(x);
            self.shapes.insert(tile, origin);
        }
        Ok(result)
    }

    fn with_shape(&mut self, call: &MethodCall, shape: &Operand) -> Flow<Value> {
        let (x, _) = self.receiver(call)?;
        let dims: Vec<Extent> = self.known_extents(shape, "a tile extent")?.into_iter().map(Extent::Const).collect();
        let site = self.site(call.name, call.loc, &[(&call.receiver, x)]);
        let kind = if call.name == "reshape" { OpKind::Reshape } else { OpKind::Broadcast };
        let result = self.builder.with_dims(kind, x, &dims, call.loc);
        let result = self.tile_result(result, x, &site)?;
        if let Value::Tile(tile) = result {
            self.shapes.insert(tile, shape.loc);
        }
        Ok(result)
    }

    fn slice(&mut self, call: &MethodCall, offset: &Operand, shape: &Operand) -> Flow<Value> {
        let (x, ty) = self.receiver(call)?;
        let offsets = self.offsets(offset)?;
        let dims: Vec<Extent> = self.known_extents(shape, "a tile extent")?.into_iter().map(Extent::Const).collect();
        let access = Access { name: &call.receiver.name, spelled: "slice", loc: call.loc };
        self.all_within(&access, &offsets, &dims, &ty.dims)?;
        let site = self.site("slice", call.loc, &[(&call.receiver, x)]);
        let result = self.builder.slice(x, &offsets, &dims, call.loc);
        let result = self.tile_result(result, x, &site)?;
        if let Value::Tile(tile) = result {
            self.shapes.insert(tile, shape.loc);
        }
        Ok(result)
    }

    fn assemble(&mut self, call: &MethodCall, offset: &Operand, source: &Operand) -> Flow<Value> {
        let (mut x, ty) = self.receiver(call)?;
        let offsets = self.offsets(offset)?;
        let mut part = self.tile_typed(source, ty.dtype)?;
        if let Some(dtype) = self.builder.ty(part).dtype().filter(|d| *d != ty.dtype) {
            x = self.infer(x, dtype).unwrap_or(x);
            part = self.infer(part, ty.dtype).unwrap_or(part);
        }
        let sizes = self.builder.tile_type(part).map_or(Vec::new(), |t| t.dims.clone());
        let access = Access { name: &call.receiver.name, spelled: "assemble", loc: call.loc };
        self.all_within(&access, &offsets, &sizes, &ty.dims)?;
        let site = self.site("assemble", call.loc, &[(&call.receiver, x), (source, part)]);
        let result = self.builder.assemble(x, part, &offsets, call.loc);
        self.tile_result(result, x, &site)
    }

    fn concat(&mut self, call: &MethodCall, other: &Operand, axis: &Operand) -> Flow<Value> {
        let (x, ty) = self.receiver(call)?;
        let y = self.tile_typed(other, ty.dtype)?;
        let axis = self.axis(axis, ty.rank(), "concat")?;
        let site = self.site("concat", call.loc, &[(&call.receiver, x), (other, y)]);
        let result = self.builder.concat(x, y, axis as i64, call.loc);
        self.tile_result(result, x, &site)
    }

    fn gather(&mut self, call: &MethodCall, index: &Operand) -> Flow<Value> {
        let (x, _) = self.receiver(call)?;
        let at = self.tile_typed(index, DType::I32)?;
        let site = self.site("gather", call.loc, &[(&call.receiver, x), (index, at)]);
        let result = self.emit(OpKind::Gather, &[x, at], Attrs::new(), &site)?;
        self.propagate(result, &[x]);
        Ok(Value::Tile(result))
    }

    fn scatter(&mut self, call: &MethodCall, index: &Operand, source: &Operand) -> Flow<Value> {
        let (mut x, ty) = self.receiver(call)?;
        let at = self.tile_typed(index, DType::I32)?;
        let mut part = self.tile_typed(source, ty.dtype)?;
        if let Some(dtype) = self.builder.ty(part).dtype().filter(|d| *d != ty.dtype) {
            x = self.infer(x, dtype).unwrap_or(x);
            part = self.infer(part, ty.dtype).unwrap_or(part);
        }
        let site = self.site("scatter", call.loc, &[(&call.receiver, x), (index, at), (source, part)]);
        let result = self.emit(OpKind::Scatter, &[x, at, part], Attrs::new(), &site)?;
        self.propagate(result, &[x]);
        Ok(Value::Tile(result))
    }

    fn fillpad(&mut self, call: &MethodCall, value: &Operand) -> Flow<Value> {
        let (mut x, ty) = self.receiver(call)?;
        if let Some(dtype) = self.dtype_of(&value.value).filter(|d| *d != ty.dtype) {
            x = self.infer(x, dtype).unwrap_or(x);
        }
        let dtype = self.builder.ty(x).dtype().unwrap_or(DType::F32);
        let fill = self.scalar_of(value, Some(dtype))?;
        let site = self.site("fillpad", call.loc, &[(&call.receiver, x), (value, fill)]);
        let result = self.builder.fillpad(x, fill, call.loc);
        self.tile_result(result, x, &site)
    }

    fn set_valid(&mut self, call: &MethodCall, valid: &Operand) -> Flow<Value> {
        let (x, ty) = self.receiver(call)?;
        let extents = self.extents(valid)?;
        let offsets = self.offsets(valid)?;
        let zeros = vec![Extent::Const(0); offsets.len()];
        let access = Access { name: &call.receiver.name, spelled: "set_valid", loc: call.loc };
        // A valid extent is like an offset of an empty access: from 0 up to the extent.
        self.all_within(&access, &offsets, &zeros, &ty.dims)?;
        let site = self.site("set_valid", call.loc, &[(&call.receiver, x)]);
        let result = self.builder.set_valid(x, &extents, call.loc);
        self.tile_result(result, x, &site)
    }

    fn tile_extent(&mut self, call: &MethodCall, axis: &Operand) -> Flow<Value> {
        let (_, ty) = self.receiver(call)?;
        let axis = self.axis(axis, ty.rank(), call.name)?;
        let extent = if call.name == "dim" { ty.dims[axis] } else { ty.valid[axis] };
        Ok(self.extent_scalar(extent, call.loc))
    }

    fn extract(&mut self, call: &MethodCall, index: &Operand) -> Flow<Value> {
        let (x, ty) = self.receiver(call)?;
        let index = self.offsets(index)?;
        let ones = vec![Extent::Const(1); index.len()];
        let access = Access { name: &call.receiver.name, spelled: "get", loc: call.loc };
        self.all_within(&access, &index, &ones, &ty.dims)?;
        let site = self.site("get", call.loc, &[(&call.receiver, x)]);
        let element = self.builder.element(x, &index, call.loc);
        let element = self.check(element, &site)?;
        self.propagate(element, &[x]);
        Ok(Value::Scalar(element))
    }
}
