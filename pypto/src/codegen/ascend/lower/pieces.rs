//! Tiles cut, joined, and written into one another: windows and copies.
//!
//! A window may begin at any row, but only at columns that are whole blocks of 32 bytes, for there the vector unit can
//! address it. Work at other columns is done on the transposed tile, where columns are rows. A single column lies as a
//! row, so that its rows are such columns; where they are not aligned, it is spread to lines. Truth values go as numbers.

use super::emit::{LINE, round_up};
use super::tile::{Repr, Tile};
use super::{Lowering, Outcome};
use crate::codegen::ascend::dialect::{Alias, TileOp, Value};
use crate::ir::{AttrKey, DType, Op, ValueId};
use crate::ops::OpKind;

/// Bytes that the vector unit addresses at once.
const BLOCK: i64 = 32;

impl Lowering<'_> {
    /// A part of a tile, a tile with another written into it, or two tiles side by side.
    pub(super) fn piece(&mut self, op: &Op, shape: &Tile) -> Outcome<Tile> {
        let rank = self.source.ty(op.result()).as_tile().map_or(2, |t| t.rank());
        if rank > 2 {
            return Err(self.refuse(op, "of rank 3"));
        }
        let first = self.as_numbers(op.operands[0])?;
        let shape = &Tile { dtype: first.dtype, ..shape.clone() };
        let result = match op.kind {
            OpKind::Slice => {
                let at = self.position(&op.operands[1..])?;
                self.cut(&first, at, shape)?
            }
            OpKind::Assemble => {
                let source = self.as_numbers(op.operands[1])?;
                let at = self.position(&op.operands[2..])?;
                let target = self.copy_of(&first)?;
                self.put(&target, &source, at)?
            }
            _ => {
                let second = self.as_numbers(op.operands[1])?;
                let along_rows = rank == 2 && op.attrs.int(AttrKey::Axis) == Some(0);
                if along_rows { self.stacked(&first, &second, shape)? } else { self.beside(&first, &second, shape)? }
            }
        };
        let is_mask = self.source.ty(op.result()).dtype() == Some(DType::Bool);
        if is_mask { self.numbers_as_mask(&result) } else { Ok(result) }
    }

    fn as_numbers(&mut self, value: ValueId) -> Outcome<Tile> {
        let tile = self.tile(value)?;
        if tile.dtype == DType::Bool { self.mask_as_numbers(&tile, DType::F32) } else { Ok(tile) }
    }

    /// Row and column; of rank 1 the column.
    fn position(&mut self, offsets: &[ValueId]) -> Outcome<[Value; 2]> {
        let offsets = self.scalars(offsets)?;
        match offsets[..] {
            [row, column] => Ok([row, column]),
            [column] => Ok([self.index(0), column]),
            _ => Err(self.internal("a position has other dimensions than its tile")),
        }
    }

    /// The valid elements in a place of their own.
    fn copy_of(&mut self, tile: &Tile) -> Outcome<Tile> {
        let input = self.data(tile)?;
        if matches!(tile.repr, Repr::Fill(_)) {
            return Ok(tile.with(Repr::Data(input), tile.dtype));
        }
        let input = self.with_valid(input, tile.valid)?;
        let (out, copy) = self.room(tile, tile.dtype);
        self.tile_op(TileOp::Move, &[input], out);
        Ok(copy)
    }

    fn cut(&mut self, tile: &Tile, [row, column]: [Value; 2], shape: &Tile) -> Outcome<Tile> {
        if matches!(tile.repr, Repr::Fill(_)) {
            return Ok(shape.with(tile.repr, tile.dtype));
        }
        if !tile.is_column() && !shape.is_column() && self.is_aligned(column, tile.dtype) {
            let (_, part) = self.room(shape, tile.dtype);
            self.copy_window(tile, [row, column], &part, None, shape)?;
            return Ok(part);
        }
        let whole = |this: &Self, at: Value, extent: i64, of: i64| this.known(at) == Some(0) && extent == of;
        let rows = if whole(self, row, shape.rows, tile.rows) {
            Tile { valid: [shape.valid[0], tile.valid[1]], ..tile.clone() }
        } else {
            self.cut_rows(tile, row, shape.rows, shape.valid[0])?
        };
        if tile.is_column() || whole(self, column, shape.cols, tile.cols) {
            return Ok(rows);
        }
        let turned = self.turned(&rows)?;
        let part = self.cut_rows(&turned, column, shape.cols, shape.valid[1])?;
        self.transposed_tile(&part, shape)
    }

    /// Some rows of a tile, from one on.
    fn cut_rows(&mut self, tile: &Tile, row: Value, rows: i64, valid: Value) -> Outcome<Tile> {
        let shape = Tile { rows, valid: [valid, tile.valid[1]], ..tile.clone() };
        if !tile.is_column() {
            let (_, part) = self.room(&shape, tile.dtype);
            let zero = self.index(0);
            self.copy_window(tile, [row, zero], &part, None, &shape)?;
            return Ok(part);
        }
        if self.is_aligned(row, tile.dtype) {
            let (_, part) = self.room(&shape, tile.dtype);
            let (from, to) = (self.turned(tile)?, self.turned(&part)?);
            let zero = self.index(0);
            self.copy_window(&from, [zero, row], &to, None, &self.turned_shape(&shape))?;
            return Ok(part);
        }
        let lines = self.lines(tile)?;
        let part = self.cut_rows(&lines, row, rows, valid)?;
        self.column_of_lines(&part, &shape)
    }

    /// A tile with the valid part of another written into its place, from a position on.
    fn put(&mut self, target: &Tile, source: &Tile, [row, column]: [Value; 2]) -> Outcome<Tile> {
        if !source.is_column() && self.is_aligned(column, target.dtype) {
            let zero = self.index(0);
            self.copy_window(source, [zero, zero], target, Some([row, column]), source)?;
            return Ok(target.clone());
        }
        if target.is_column() {
            return self.write_rows(target, source, row);
        }
        // The rows that change, with the columns as rows.
        let rest = self.index_op("subi", target.valid[0], row);
        let (zero, most) = (self.index(0), self.index(source.rows));
        let rest = self.index_op("maxsi", rest, zero);
        let valid = self.index_op("minsi", rest, most);
        let band = self.cut_rows(target, row, source.rows, valid)?;
        let (turned, turned_source) = (self.turned(&band)?, self.turned(source)?);
        let written = self.write_rows(&turned, &turned_source, column)?;
        let band = self.transposed_tile(&written, &band)?;
        self.write_rows(target, &band, row)
    }

    /// The same where the other tile has as many columns.
    fn write_rows(&mut self, target: &Tile, source: &Tile, row: Value) -> Outcome<Tile> {
        let zero = self.index(0);
        if !target.is_column() {
            self.copy_window(source, [zero, zero], target, Some([row, zero]), source)?;
            return Ok(target.clone());
        }
        if self.is_aligned(row, target.dtype) {
            let (from, to) = (self.turned(source)?, self.turned(target)?);
            self.copy_window(&from, [zero, zero], &to, Some([zero, row]), &from)?;
            return Ok(target.clone());
        }
        let (lines, more) = (self.lines(target)?, self.lines(source)?);
        let lines = self.write_rows(&lines, &more, row)?;
        self.column_of_lines(&lines, target)
    }

    /// One tile above the other.
    fn stacked(&mut self, a: &Tile, b: &Tile, shape: &Tile) -> Outcome<Tile> {
        let second = self.index(a.rows);
        // Columns that one of the two does not have are not valid in the result.
        let [a, b] = [a, b].map(|t| Tile { valid: [t.valid[0], shape.valid[1]], ..t.clone() });
        if shape.is_column() && !self.is_aligned(second, shape.dtype) {
            let (a, b) = (self.lines(&a)?, self.lines(&b)?);
            let lines = self.stacked(&a, &b, &Tile { cols: LINE, ..shape.clone() })?;
            return self.column_of_lines(&lines, shape);
        }
        let (_, out) = self.room(shape, shape.dtype);
        let first = self.index(0);
        let out = self.write_rows(&out, &a, first)?;
        self.write_rows(&out, &b, second)
    }

    /// One tile to the right of the other.
    fn beside(&mut self, a: &Tile, b: &Tile, shape: &Tile) -> Outcome<Tile> {
        let second = self.index(a.cols);
        let [a, b] = [a, b].map(|t| Tile { valid: [shape.valid[0], t.valid[1]], ..t.clone() });
        if a.is_column() || b.is_column() || !self.is_aligned(second, shape.dtype) {
            let (a, b) = (self.turned(&a)?, self.turned(&b)?);
            let stacked = self.stacked(&a, &b, &self.turned_shape(shape))?;
            return self.transposed_tile(&stacked, shape);
        }
        let (_, out) = self.room(shape, shape.dtype);
        let zero = self.index(0);
        let out = self.put(&out, &a, [zero, zero])?;
        self.put(&out, &b, [zero, second])
    }

    /// Copies a window of a tile into a window of another; both have the extents of `shape`. No position: from the start.
    fn copy_window(
        &mut self,
        from: &Tile,
        at: [Value; 2],
        to: &Tile,
        into: Option<[Value; 2]>,
        shape: &Tile,
    ) -> Outcome<()> {
        let zero = self.index(0);
        // A single element is a column; as a row it is the same bytes.
        let (source, target) = (self.in_rows(from)?, self.in_rows(to)?);
        let from = self.window(source, at, [shape.rows, shape.cols], shape.valid)?;
        let to = self.window(target, into.unwrap_or([zero, zero]), [shape.rows, shape.cols], shape.valid)?;
        self.tile_op(TileOp::Move, &[from], to);
        Ok(())
    }

    /// A window of rows over a tile in row order; its lines are whole blocks.
    pub(super) fn window(
        &mut self,
        handle: Value,
        offset: [Value; 2],
        [rows, cols]: [i64; 2],
        valid: [Value; 2],
    ) -> Outcome<Value> {
        let mut ty = self.tile_ty(handle)?;
        (ty.rows, ty.cols) = (rows, round_up(cols, BLOCK / ty.dtype.size() as i64));
        let known = valid.map(|v| self.known(v));
        let is_static = known.iter().all(Option::is_some);
        ty.valid = if is_static { known } else { [None; 2] };
        let alias = Alias::Subview { offset, valid: (!is_static).then_some(valid) };
        Ok(self.alias("window", handle, ty, alias))
    }

    /// Whether a window may begin at a column.
    fn is_aligned(&self, column: Value, dtype: DType) -> bool {
        self.known(column).is_some_and(|n| n * dtype.size() as i64 % BLOCK == 0)
    }

    fn turned_shape(&self, shape: &Tile) -> Tile {
        Tile { rows: shape.cols, cols: shape.rows, valid: [shape.valid[1], shape.valid[0]], ..shape.clone() }
    }

    /// The transposed tile; of a column the row over the same bytes, and the reverse.
    pub(super) fn turned(&mut self, tile: &Tile) -> Outcome<Tile> {
        let shape = self.turned_shape(tile);
        if matches!(tile.repr, Repr::Fill(_)) {
            return Ok(shape.with(tile.repr, tile.dtype));
        }
        self.transposed_tile(tile, &shape)
    }

    /// A column as the first elements of lines.
    pub(super) fn lines(&mut self, column: &Tile) -> Outcome<Tile> {
        let handle = self.column_as_rows(column)?;
        Ok(Tile { repr: Repr::Data(handle), cols: LINE, ..column.clone() })
    }

    fn column_of_lines(&mut self, lines: &Tile, shape: &Tile) -> Outcome<Tile> {
        let handle = self.data(lines)?;
        self.first_column(handle, shape, shape.dtype)
    }
}
