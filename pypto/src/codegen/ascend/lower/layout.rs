//! Tiles rearranged.

use super::tile::{Repr, Tile};
use super::{Held, Lowering, Outcome};
use crate::codegen::ascend::dialect::{Alias, TileOp};
use crate::ir::{DType, Op};
use crate::ops::OpKind;

impl Lowering<'_> {
    pub(super) fn layout(&mut self, op: &Op) -> Outcome<()> {
        let shape = self.shape_of(op.result())?;
        let rank = self.source.ty(op.operands[0]).as_tile().map_or(2, |t| t.rank());
        let result = match op.kind {
            OpKind::Broadcast => {
                let x = self.tile(op.operands[0])?;
                self.expanded(&x, &shape)?
            }
            OpKind::SetValid => self.revalidated(op, &shape)?,
            OpKind::Transpose if rank == 2 => self.transposed(op, &shape)?,
            OpKind::Reshape => self.reshaped(op, &shape)?,
            OpKind::Slice | OpKind::Assemble | OpKind::Concat => self.piece(op, &shape)?,
            OpKind::Fillpad if rank <= 2 => self.filled(op, &shape)?,
            _ => return Err(self.refuse(op, "on tiles on chip")),
        };
        self.bind(op.result(), Held::Tile(Tile { name: shape.name.clone(), ..result }));
        Ok(())
    }

    /// The same bytes as elements of another type of the same size.
    pub(super) fn bitcast(&mut self, op: &Op) -> Outcome<()> {
        let shape = self.shape_of(op.result())?;
        let x = self.tile(op.operands[0])?;
        if x.dtype.size() != shape.dtype.size() {
            return Err(self.refuse(op, "to elements of another size"));
        }
        if x.dtype == DType::Bool || shape.dtype == DType::Bool {
            return Err(self.refuse(op, "on tiles of `bool`"));
        }
        self.storage(shape.dtype, op.kind.name())?;
        let other = self.reinterpreted(&Tile { valid: shape.valid, ..x }, shape.dtype)?;
        self.bind(op.result(), Held::Tile(Tile { name: shape.name, ..other }));
        Ok(())
    }

    /// The same elements under another valid extent: what becomes valid was never written, so only narrowing is known to
    /// be right.
    fn revalidated(&mut self, op: &Op, shape: &Tile) -> Outcome<Tile> {
        let x = self.tile(op.operands[0])?;
        match x.repr {
            Repr::Fill(_) => Ok(Tile { valid: shape.valid, ..x }),
            Repr::Data(_) => {
                let (out, result) = self.room(shape, x.dtype);
                let input = self.data(&x)?;
                let window = self.with_valid(input, shape.valid)?;
                self.tile_op(TileOp::Move, &[window], out);
                Ok(result)
            }
            Repr::Mask(_) => Err(self.refuse(op, "on tiles of `bool`")),
        }
    }

    fn transposed(&mut self, op: &Op, shape: &Tile) -> Outcome<Tile> {
        let x = self.tile(op.operands[0])?;
        match x.repr {
            Repr::Fill(_) => return Ok(shape.with(x.repr, x.dtype)),
            Repr::Mask(_) => {
                let numbers = self.mask_as_numbers(&x, DType::F32)?;
                let shape = Tile { dtype: DType::F32, ..shape.clone() };
                let turned = self.transposed_tile(&numbers, &shape)?;
                return self.numbers_as_mask(&turned);
            }
            Repr::Data(_) => {}
        }
        self.transposed_tile(&x, shape)
    }

    pub(super) fn transposed_tile(&mut self, x: &Tile, shape: &Tile) -> Outcome<Tile> {
        let input = self.data(x)?;
        if x.is_column() {
            // One element stays a column.
            if shape.is_column() {
                return Ok(x.clone());
            }
            let row = self.column_as_row(input, x.valid[0])?;
            return Ok(shape.with(Repr::Data(row), x.dtype));
        }
        if shape.is_column() {
            let column = self.row_as_column(input, x.valid[1])?;
            return Ok(shape.with(Repr::Data(column), x.dtype));
        }
        let ty = self.tile_ty(input)?;
        let whole = [self.index(ty.rows), self.index(ty.cols)];
        let scratch = self.alloc_rows("scratch", x.dtype, ty.rows, ty.cols, whole);
        // Rows of the result are as many as the operand has columns with its padding.
        let (out, result) = self.room(shape, x.dtype);
        self.tile_op(TileOp::Transpose, &[input, scratch], out);
        Ok(result)
    }

    /// Extents that change nothing for a tile whose lines have no padding.
    fn reshaped(&mut self, op: &Op, shape: &Tile) -> Outcome<Tile> {
        let x = self.tile(op.operands[0])?;
        if (x.rows, x.cols) == (shape.rows, shape.cols) {
            return Ok(x);
        }
        let Repr::Data(handle) = x.repr else {
            return match x.repr {
                Repr::Fill(_) => Ok(shape.with(x.repr, x.dtype)),
                _ => Err(self.refuse(op, "on tiles of `bool`")),
            };
        };
        let whole =
            |this: &Self, t: &Tile| this.known(t.valid[0]) == Some(t.rows) && this.known(t.valid[1]) == Some(t.cols);
        if !whole(self, &x) || !whole(self, shape) {
            return Err(self.refuse(op, "of a partly valid tile"));
        }
        if x.is_column() && shape.rows == 1 {
            let row = self.column_as_row(handle, x.valid[0])?;
            return Ok(shape.with(Repr::Data(row), x.dtype));
        }
        if x.rows == 1 && shape.is_column() {
            let column = self.row_as_column(handle, x.valid[1])?;
            return Ok(shape.with(Repr::Data(column), x.dtype));
        }
        let (from, to) = (self.tile_ty(handle)?, self.room_ty(shape, x.dtype));
        let dense = from.rows * from.cols == x.rows * x.cols && to.rows * to.cols == shape.rows * shape.cols;
        if !dense {
            return Err(self.refuse(op, "of lines that are no multiple of 32 elements"));
        }
        let mut ty = to;
        ty.valid = [Some(ty.rows), Some(ty.cols)];
        let alias = self.alias(&shape.name, handle, ty, Alias::Reshape);
        Ok(shape.with(Repr::Data(alias), x.dtype))
    }

    fn room_ty(&self, shape: &Tile, dtype: DType) -> crate::codegen::ascend::dialect::TileTy {
        use crate::codegen::ascend::dialect::TileTy;
        use crate::codegen::ascend::dialect::types::Order;
        let line = |n| super::emit::round_up(n, super::emit::LINE);
        if shape.is_column() {
            TileTy::vector(dtype, line(shape.rows), 1, Order::Column)
        } else {
            TileTy::vector(dtype, shape.rows, line(shape.cols), Order::Row)
        }
    }

    /// The number everywhere, and the valid part over it.
    fn filled(&mut self, op: &Op, shape: &Tile) -> Outcome<Tile> {
        let x = self.tile(op.operands[0])?;
        let number = self.scalar(op.operands[1])?;
        if x.dtype == DType::Bool {
            return Err(self.refuse(op, "on tiles of `bool`"));
        }
        let out = self.data(&shape.with(Repr::Fill(number), x.dtype))?;
        let input = self.data(&x)?;
        let input = self.with_valid(input, x.valid)?;
        let window = self.leading(out, x.valid)?;
        self.tile_op(TileOp::Move, &[input], window);
        Ok(shape.with(Repr::Data(out), x.dtype))
    }
}
