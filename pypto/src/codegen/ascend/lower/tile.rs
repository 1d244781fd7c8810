//! Tiles during lowering: what they are made of, and how they change their form.

use super::emit::{LINE, round_up};
use super::{Held, Lowering, Outcome};
use crate::codegen::ascend::dialect::types::Order;
use crate::codegen::ascend::dialect::{Core, TileAttr, TileOp, TileTy, Value};
use crate::ir::{DType, Extent, TileType, ValueId};
use crate::target::Target;
use crate::target::conversions::chain;

/// Where the elements of a tile are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Repr {
    /// In memory. A single column lies in column order.
    Data(Value),
    /// A number in every element.
    Fill(Value),
    /// Truth values, in the encoding that selections take; of a single column, as a row.
    Mask(Value),
}

/// A tile of two dimensions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tile {
    pub repr: Repr,
    pub dtype: DType,
    pub rows: i64,
    pub cols: i64,
    pub valid: [Value; 2],
    pub name: String,
}

impl Tile {
    /// Whether it lies in column order.
    pub fn is_column(&self) -> bool {
        self.cols == 1
    }

    /// The same extents with other elements.
    pub fn with(&self, repr: Repr, dtype: DType) -> Tile {
        Tile { repr, dtype, ..self.clone() }
    }
}

impl Lowering<'_> {
    /// The two-dimensional extents of a tile type: leading dimensions are rows.
    pub(super) fn extents(&mut self, ty: &TileType) -> Outcome<(i64, i64, [Value; 2])> {
        let Some(dims) = ty.constant_dims() else {
            return Err(self.refusal(self.loc, "tile with run-time extents", "on chip"));
        };
        let cols = dims.last().copied().unwrap_or(1);
        let rows: i64 = dims[..dims.len().saturating_sub(1)].iter().product();
        if rows == 0 || cols == 0 {
            return Err(self.refusal(self.loc, "tile without elements", "on chip"));
        }
        let mut valid = Vec::new();
        for extent in &ty.valid {
            valid.push(self.extent(*extent)?);
        }
        let valid_cols = valid.last().copied().unwrap_or_else(|| self.index(1));
        let mut valid_rows = self.index(1);
        // Rows that are valid must be the leading ones: only the first extent above 1 may be cut short.
        let mut outer = 1;
        for axis in 0..dims.len().saturating_sub(1) {
            let whole = self.known(valid[axis]) == Some(dims[axis]);
            if outer > 1 && !whole {
                return Err(self.refusal(self.loc, "tile of rank 3 that is partly valid inside", "on chip"));
            }
            valid_rows = self.index_op("muli", valid_rows, valid[axis]);
            outer *= dims[axis];
        }
        Ok((rows, cols, [valid_rows, valid_cols]))
    }

    pub(super) fn extent(&mut self, extent: Extent) -> Outcome<Value> {
        match extent {
            Extent::Const(n) => Ok(self.index(n)),
            Extent::Value(v) => self.scalar(v),
        }
    }

    /// A tile without elements yet, of an IR value's type.
    pub(super) fn shape_of(&mut self, value: ValueId) -> Outcome<Tile> {
        let Some(ty) = self.source.ty(value).as_tile().cloned() else {
            return Err(self.internal("a tile type is missing"));
        };
        let (rows, cols, valid) = self.extents(&ty)?;
        let nothing = self.index(0);
        Ok(Tile { repr: Repr::Fill(nothing), dtype: ty.dtype, rows, cols, valid, name: self.name_of(value) })
    }

    /// The tile of an IR value.
    pub(super) fn tile(&mut self, value: ValueId) -> Outcome<Tile> {
        match self.held.get(&value).cloned() {
            Some(Held::Tile(tile)) => Ok(tile),
            // Nothing but products reads memory on the matrix unit, and accumulators cannot be loaded.
            Some(Held::Deferred(op)) if self.function.core == Core::Cube => Err(self.refuse(&op, "of an accumulator")),
            Some(Held::Deferred(op)) => {
                let loc = self.loc;
                self.at(op.loc);
                let tile = self.load_now(&op)?;
                self.at(loc);
                Ok(tile)
            }
            _ => Err(self.internal("a tile is missing")),
        }
    }

    /// A place for the elements of a tile of this shape: the handle, and the tile that has it.
    pub(super) fn room(&mut self, shape: &Tile, dtype: DType) -> (Value, Tile) {
        let handle = if shape.is_column() {
            self.alloc_column(&shape.name, dtype, shape.rows, shape.valid[0])
        } else {
            self.alloc_rows(&shape.name, dtype, shape.rows, shape.cols, shape.valid)
        };
        (handle, shape.with(Repr::Data(handle), dtype))
    }

    /// The handle of a tile's elements in memory.
    pub(super) fn data(&mut self, tile: &Tile) -> Outcome<Value> {
        match tile.repr {
            Repr::Data(handle) => Ok(handle),
            Repr::Fill(number) => {
                if let Some(way) = self.way(TileOp::Fill, tile.dtype) {
                    let wide = self.entered(way, tile)?;
                    let narrow = self.left(way, &wide, tile.dtype)?;
                    return self.data(&narrow);
                }
                self.check_elements(TileOp::Fill, tile.dtype)?;
                let (handle, filled) = self.room(tile, tile.dtype);
                let row = self.in_rows(&filled)?;
                self.tile_op(TileOp::Fill, &[number], row);
                Ok(handle)
            }
            Repr::Mask(_) => Err(self.refusal(self.loc, "tile of `bool`", "as data on chip")),
        }
    }

    /// The handle on which elementwise operations work: that of the elements, in row order.
    pub(super) fn in_rows(&mut self, tile: &Tile) -> Outcome<Value> {
        let handle = self.data(tile)?;
        if tile.is_column() { self.column_as_row(handle, tile.valid[0]) } else { Ok(handle) }
    }

    /// A mask of the same shape for a comparison to write.
    pub(super) fn mask_room(&mut self, shape: &Tile) -> Value {
        let (rows, cols, valid) = self.row_shape(shape);
        let ty = TileTy::vector(DType::I8, rows, round_up(cols, LINE), Order::Row);
        self.alloc("mask", ty, valid)
    }

    /// Extents as elementwise operations see them: columns are rows.
    pub(super) fn row_shape(&mut self, shape: &Tile) -> (i64, i64, [Value; 2]) {
        if shape.is_column() {
            let one = self.index(1);
            (1, shape.rows, [one, shape.valid[0]])
        } else {
            (shape.rows, shape.cols, shape.valid)
        }
    }

    /// The tile repeated to the extents of `shape`.
    pub(super) fn expanded(&mut self, tile: &Tile, shape: &Tile) -> Outcome<Tile> {
        if (tile.rows, tile.cols) == (shape.rows, shape.cols) {
            return Ok(Tile { valid: shape.valid, ..tile.clone() });
        }
        match tile.repr {
            Repr::Fill(_) => Ok(shape.with(tile.repr, tile.dtype)),
            Repr::Mask(_) => {
                let numbers = self.mask_as_numbers(tile, DType::F32)?;
                let wide = self.expanded(&numbers, shape)?;
                self.numbers_as_mask(&wide)
            }
            Repr::Data(_) if self.way(TileOp::RowExpand, tile.dtype).is_some() => {
                let wide = self.widened(tile)?;
                let wide = self.expanded(&wide, &shape.with(shape.repr, DType::I32))?;
                self.narrowed(&wide, tile.dtype)
            }
            Repr::Data(handle) => {
                self.check_elements(TileOp::RowExpand, tile.dtype)?;
                if shape.is_column() {
                    // One element to a column: as a row of one element to a row.
                    let (out, wide) = self.room(shape, tile.dtype);
                    let row = self.column_as_row(out, shape.valid[0])?;
                    self.tile_op(TileOp::RowExpand, &[handle], row);
                    return Ok(wide);
                }
                if tile.is_column() && (tile.rows == shape.rows || shape.rows == 1) {
                    let (out, wide) = self.room(shape, tile.dtype);
                    self.tile_op(TileOp::RowExpand, &[handle], out);
                    return Ok(wide);
                }
                if tile.is_column() {
                    let one = self.index(1);
                    let row = Tile { rows: 1, valid: [one, shape.valid[1]], ..shape.clone() };
                    let row = self.expanded(tile, &row)?;
                    return self.expanded(&row, shape);
                }
                let (out, wide) = self.room(shape, tile.dtype);
                self.tile_op(TileOp::ColExpand, &[handle], out);
                Ok(wide)
            }
        }
    }

    /// One conversion after the other; each is of the target's.
    pub(super) fn converted(&mut self, tile: &Tile, to: DType, mode: &'static str) -> Outcome<Tile> {
        if tile.dtype == to && mode == "NONE" {
            return Ok(tile.clone());
        }
        let integers = !tile.dtype.is_float() && !to.is_float();
        let wraps = integers && !keeps_integers(tile.dtype, to) && (tile.dtype, to) != (DType::I32, DType::I16);
        let Some(chain) = chain(self.target.conversions, tile.dtype, to).filter(|_| !wraps) else {
            if let Some(result) = self.integer_conversion(tile, to, mode)? {
                return Ok(result);
            }
            let has = |target: &'static Target| chain(target.conversions, tile.dtype, to).is_some();
            let which = format!("of tiles of `{}` to `{to}`", tile.dtype);
            return Err(self.refusal_where(self.loc, "cast", &which, has));
        };
        let mut current = tile.clone();
        let last = chain.len() - 1;
        for (step, dtype) in chain.into_iter().enumerate() {
            // Steps before the last are exact in any mode.
            let mode = if step == last { mode } else { "NONE" };
            current = self.conversion(&current, dtype, if mode == "NONE" { "RINT" } else { mode })?;
        }
        Ok(current)
    }

    /// One conversion of the target's.
    pub(super) fn conversion(&mut self, tile: &Tile, to: DType, mode: &'static str) -> Outcome<Tile> {
        let input = self.in_rows(tile)?;
        let (_, next) = self.room(tile, to);
        let output = self.in_rows(&next)?;
        self.tile_op_with(TileOp::Convert, &[input], TileAttr::Round(mode), output);
        Ok(next)
    }
}

/// Whether an integer type has every number of another.
fn keeps_integers(from: DType, to: DType) -> bool {
    match (from.is_unsigned_integer(), to.is_unsigned_integer()) {
        (false, true) => false,
        (true, false) => to.bits() > from.bits(),
        _ => to.bits() >= from.bits(),
    }
}
