//! Global memory: loads, stores, single elements.
//!
//! A column of a tensor that is contiguous is loaded in column order. A column of a wider tensor is loaded as the first
//! column of rows and reduced to a column, which is exact for one element; stores expand it the same way.

use super::emit::LINE;
use super::tile::{Repr, Tile};
use super::{Held, Lowering, Outcome, Tensor};
use crate::codegen::ascend::dialect::{Core, GlobalLayout, Kind, TileOp, Ty, Value};
use crate::ir::{DType, Extent, Op, TileType, ValueId};
use crate::ops::OpKind;

impl Lowering<'_> {
    pub(super) fn memory_op(&mut self, op: &Op) -> Outcome<()> {
        match op.kind {
            OpKind::Load if self.function.core == Core::Cube => {
                self.bind(op.result(), Held::Deferred(op.clone()));
                Ok(())
            }
            OpKind::Load => {
                let tile = self.load_now(op)?;
                self.bind(op.result(), Held::Tile(tile));
                Ok(())
            }
            OpKind::Store if self.function.core == Core::Cube => self.store_product(op),
            OpKind::Store => self.store(op),
            OpKind::Read => self.read(op),
            OpKind::Write => self.write(op),
            OpKind::Extract => self.extract(op),
            OpKind::GatherRows => self.gather_rows(op),
            OpKind::ScatterRows => self.scatter_rows(op),
            _ => Err(self.refuse(op, "on the vector unit")),
        }
    }

    pub(super) fn view(&mut self, op: &Op) -> Outcome<()> {
        let whole = self.tensor(op.operands[0])?;
        let Some(ty) = self.source.ty(op.result()).as_tensor().cloned() else {
            return Err(self.internal("a view is no tensor"));
        };
        let kept = whole.strides.len() - whole.dropped;
        let Some(more) = kept.checked_sub(ty.rank()) else { return Err(self.internal("a view adds dimensions")) };
        let mut origin = whole.origin.clone();
        for (axis, offset) in op.operands[1..].iter().enumerate() {
            let offset = self.scalar(*offset)?;
            let at = whole.dropped + axis;
            origin[at] = self.index_op("addi", origin[at], offset);
        }
        let dropped = whole.dropped + more;
        for (axis, stride) in ty.strides.iter().enumerate() {
            let stride = self.extent(*stride)?;
            if stride != whole.strides[dropped + axis] && ty.dims[axis] != Extent::Const(1) {
                return Err(self.refuse(op, "with other strides than its tensor"));
            }
        }
        self.bind(op.result(), Held::Tensor(Tensor { origin, dropped, ..whole }));
        Ok(())
    }

    /// The view of the parameter behind a tensor, made once, at the top.
    fn global_view(&mut self, tensor: &Tensor, column: bool) -> Value {
        if let Some(known) = self.views.get(&(tensor.pointer, column)) {
            return *known;
        }
        let Ty::Pointer(dtype) = self.ty(tensor.pointer).clone() else { return tensor.pointer };
        let layout = if column { GlobalLayout::Dn } else { GlobalLayout::Nd };
        let strides = if column {
            // Column-major: neighbours in a column are adjacent.
            vec![self.index(1), tensor.dims[0]]
        } else {
            tensor.strides.clone()
        };
        let ty = Ty::View { rank: tensor.dims.len(), dtype };
        let result = self.fresh(&format!("{}_view", self.function.name_of(tensor.pointer)), ty);
        let kind = Kind::TensorView { result, pointer: tensor.pointer, shape: tensor.dims.clone(), strides, layout };
        let place = self.place;
        self.prologue.push(crate::codegen::ascend::dialect::Inst { kind, place });
        self.views.insert((tensor.pointer, column), result);
        result
    }

    /// The part of a tensor at the given offsets, of the given sizes.
    pub(super) fn partition(&mut self, tensor: &Tensor, offsets: &[Value], sizes: &[Value], column: bool) -> Value {
        let view = self.global_view(tensor, column);
        let (at, sizes) = self.in_parameter(tensor, offsets, sizes);
        let name = format!("{}_part", self.function.name_of(tensor.pointer));
        self.partition_of(&name, view, at, sizes)
    }

    /// Offsets and sizes in all dimensions of the parameter that a tensor is a part of.
    pub(super) fn in_parameter(
        &mut self,
        tensor: &Tensor,
        offsets: &[Value],
        sizes: &[Value],
    ) -> (Vec<Value>, Vec<Value>) {
        let one = self.index(1);
        let mut at = tensor.origin.clone();
        let mut all = vec![one; tensor.dims.len()];
        for (axis, (offset, size)) in offsets.iter().zip(sizes).enumerate() {
            let position = tensor.dropped + axis;
            at[position] = self.index_op("addi", at[position], *offset);
            all[position] = *size;
        }
        (at, all)
    }

    /// A partition of a view.
    pub(super) fn partition_of(&mut self, name: &str, view: Value, offsets: Vec<Value>, sizes: Vec<Value>) -> Value {
        let Ty::View { dtype, .. } = *self.ty(view) else { return view };
        let dims = sizes.iter().map(|size| self.known(*size).filter(|n| *n > 0)).collect();
        let result = self.fresh(name, Ty::Partition { dims, dtype });
        self.push(Kind::Partition { result, view, offsets, sizes });
        result
    }

    /// Whether a tile of one column can move in column order.
    fn is_plain_column(&self, tensor: &Tensor, cols: i64) -> bool {
        let adjacent = tensor.strides.first().and_then(|s| self.known(*s)) == Some(1);
        let one = tensor.dims.last().and_then(|d| self.known(*d)) == Some(1);
        cols == 1 && tensor.dims.len() == 2 && tensor.dropped == 0 && one && adjacent
    }

    pub(super) fn check_rows(&self, tensor: &Tensor, operation: &str) -> Outcome<()> {
        match tensor.strides.last().map(|stride| self.known(*stride)) {
            None | Some(Some(1)) => Ok(()),
            _ if tensor.dims.last().and_then(|d| self.known(*d)) == Some(1) => Ok(()),
            _ => Err(self.refusal(self.loc, operation, "of rows whose elements are apart")),
        }
    }

    pub(super) fn storage(&self, dtype: DType, operation: &str) -> Outcome<DType> {
        match dtype {
            DType::Bool => Ok(DType::U8),
            DType::I64 => Err(self.refusal(self.loc, operation, "of tiles of `i64`")),
            other => Ok(other),
        }
    }

    /// Valid extents of a tile type, dimension by dimension.
    pub(super) fn sizes(&mut self, ty: &TileType) -> Outcome<Vec<Value>> {
        ty.valid.iter().map(|extent| self.extent(*extent)).collect()
    }

    pub(super) fn load_now(&mut self, op: &Op) -> Outcome<Tile> {
        let tensor = self.tensor(op.operands[0])?;
        let shape = self.shape_of(op.result())?;
        let Some(ty) = self.source.ty(op.result()).as_tile().cloned() else {
            return Err(self.internal("a load gives no tile"));
        };
        let offsets = self.scalars(&op.operands[1..])?;
        let sizes = self.sizes(&ty)?;
        let dtype = self.storage(shape.dtype, "load")?;
        let tile = if self.is_plain_column(&tensor, shape.cols) {
            let part = self.partition(&tensor, &offsets, &sizes, true);
            let (handle, tile) = self.room(&shape, dtype);
            self.tile_op(TileOp::Load, &[part], handle);
            tile
        } else {
            self.check_rows(&tensor, "load")?;
            let part = self.partition(&tensor, &offsets, &sizes, false);
            let handle = self.alloc_rows(&shape.name, dtype, shape.rows, shape.cols, shape.valid);
            self.tile_op(TileOp::Load, &[part], handle);
            if shape.is_column() {
                self.first_column(handle, &shape, dtype)?
            } else {
                shape.with(Repr::Data(handle), dtype)
            }
        };
        if shape.dtype != DType::Bool {
            return Ok(tile);
        }
        let numbers = self.converted(&tile, DType::F16, "NONE")?;
        self.numbers_as_mask(&numbers)
    }

    pub(super) fn scalars(&self, values: &[ValueId]) -> Outcome<Vec<Value>> {
        values.iter().map(|v| self.scalar(*v)).collect()
    }

    /// The first column of rows, in column order.
    pub(super) fn first_column(&mut self, rows: Value, shape: &Tile, dtype: DType) -> Outcome<Tile> {
        let exact = if dtype == DType::U8 || dtype == DType::I8 { DType::F16 } else { dtype };
        let exact = if exact == DType::BF16 { DType::F32 } else { exact };
        if !self.computes(TileOp::RowMax, exact) {
            return self.turned_first_column(rows, shape);
        }
        let wide = Tile { cols: LINE, repr: Repr::Data(rows), dtype, ..shape.clone() };
        let wide = self.converted(&wide, exact, "NONE")?;
        let input = self.data(&wide)?;
        let whole = [self.index(shape.rows), self.index(LINE)];
        let scratch = self.alloc_rows("scratch", exact, shape.rows, LINE, whole);
        let (out, column) = self.room(shape, exact);
        self.tile_op(TileOp::RowMax, &[input, scratch], out);
        self.converted(&column, dtype, if exact == dtype { "NONE" } else { "RINT" })
    }

    fn store(&mut self, op: &Op) -> Outcome<()> {
        let tensor = self.tensor(op.operands[1])?;
        let tile = self.tile(op.operands[0])?;
        let Some(ty) = self.source.ty(op.operands[0]).as_tile().cloned() else {
            return Err(self.internal("a store takes no tile"));
        };
        let (_, _, valid) = self.extents(&ty)?;
        let tile = Tile { valid, ..tile };
        self.storage(tensor.dtype, "store")?;
        let tile = if tile.dtype == DType::Bool {
            let numbers = self.mask_as_numbers(&tile, DType::F16)?;
            let numbers = numbers.with(Repr::Data(self.data(&numbers)?), DType::F16);
            self.converted(&numbers, DType::U8, "TRUNC")?
        } else {
            tile
        };
        let offsets = self.scalars(&op.operands[2..])?;
        let sizes = self.sizes(&ty)?;
        let plain = self.is_plain_column(&tensor, tile.cols);
        let handle = if tile.is_column() && !plain { self.column_as_rows(&tile)? } else { self.data(&tile)? };
        let handle = self.with_valid(handle, tile.valid)?;
        if !plain {
            self.check_rows(&tensor, "store")?;
        }
        let part = self.partition(&tensor, &offsets, &sizes, plain);
        self.tile_op(TileOp::Store, &[handle], part);
        Ok(())
    }

    /// A column as the first column of rows.
    pub(super) fn column_as_rows(&mut self, column: &Tile) -> Outcome<Value> {
        if let Repr::Fill(_) = column.repr {
            let rows = Tile { cols: 2, ..column.clone() };
            return self.data(&rows);
        }
        let exact = match column.dtype {
            DType::I8 | DType::U8 => DType::F16,
            other => other,
        };
        if let Some(way) = self.way(TileOp::RowExpand, exact) {
            let wide = self.entered(way, column)?;
            let rows = self.column_as_rows(&wide)?;
            let rows = self.left(way, &Tile { cols: LINE, repr: Repr::Data(rows), ..wide }, exact)?;
            return self.data(&rows);
        }
        self.check_elements(TileOp::RowExpand, exact)?;
        let wide = self.converted(column, exact, "NONE")?;
        let input = self.data(&wide)?;
        let out = self.alloc_rows(&column.name, exact, column.rows, 1, column.valid);
        self.tile_op(TileOp::RowExpand, &[input], out);
        if exact == column.dtype {
            return Ok(out);
        }
        let rows = Tile { cols: LINE, repr: Repr::Data(out), dtype: exact, ..column.clone() };
        let narrow = self.converted(&rows, column.dtype, "TRUNC")?;
        self.data(&narrow)
    }

    /// The distance in elements of one element from the start of the parameter.
    fn element_offset(&mut self, tensor: &Tensor, index: &[Value]) -> Value {
        let mut offset = self.index(0);
        for axis in 0..tensor.dims.len() {
            let mut at = tensor.origin[axis];
            if let Some(i) = axis.checked_sub(tensor.dropped).and_then(|i| index.get(i)) {
                at = self.index_op("addi", at, *i);
            }
            let distance = self.index_op("muli", at, tensor.strides[axis]);
            offset = self.index_op("addi", offset, distance);
        }
        offset
    }

    fn read(&mut self, op: &Op) -> Outcome<()> {
        let tensor = self.tensor(op.operands[0])?;
        let index = self.scalars(&op.operands[1..])?;
        if tensor.dtype == DType::Bool {
            return Err(self.refuse(op, "of `bool`"));
        }
        let offset = self.element_offset(&tensor, &index);
        let loaded = self.fresh(&self.name_of(op.result()), Ty::Scalar(tensor.dtype));
        self.push(Kind::LoadScalar { result: loaded, pointer: tensor.pointer, offset });
        let value =
            if tensor.dtype == DType::I64 { self.arith_to("index_cast", None, &[loaded], Ty::Index) } else { loaded };
        self.bind(op.result(), Held::Scalar(value));
        Ok(())
    }

    fn write(&mut self, op: &Op) -> Outcome<()> {
        let value = self.scalar(op.operands[0])?;
        let tensor = self.tensor(op.operands[1])?;
        let index = self.scalars(&op.operands[2..])?;
        if tensor.dtype == DType::Bool {
            return Err(self.refuse(op, "of `bool`"));
        }
        let offset = self.element_offset(&tensor, &index);
        let value = if tensor.dtype == DType::I64 {
            self.arith_to("index_cast", None, &[value], Ty::Scalar(DType::I64))
        } else {
            value
        };
        self.push(Kind::StoreScalar { value, pointer: tensor.pointer, offset });
        Ok(())
    }

    fn extract(&mut self, op: &Op) -> Outcome<()> {
        let tile = self.tile(op.operands[0])?;
        let index = self.scalars(&op.operands[1..])?;
        let value = match tile.repr {
            Repr::Fill(number) => number,
            Repr::Mask(_) => return Err(self.refuse(op, "of `bool`")),
            Repr::Data(handle) => {
                let [row, column] = match index[..] {
                    [column] => [self.index(0), column],
                    [row, column] => [row, column],
                    _ => return Err(self.refuse(op, "of rank 3")),
                };
                let ty = self.tile_ty(handle)?;
                let width = self.index(if tile.is_column() { 1 } else { ty.cols });
                let before = self.index_op("muli", row, width);
                let position = self.index_op("addi", before, column);
                let result = self.fresh(&self.name_of(op.result()), Ty::Scalar(tile.dtype));
                self.push(Kind::GetElement { result, tile: handle, position });
                result
            }
        };
        self.bind(op.result(), Held::Scalar(value));
        Ok(())
    }
}
