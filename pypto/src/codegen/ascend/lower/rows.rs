//! Rows of a tensor by index: one transfer for each row.

use super::tile::{Repr, Tile};
use super::{Held, Lowering, Outcome, Tensor};
use crate::codegen::ascend::dialect::{Inst, Kind, TileOp, Ty, Value};
use crate::ir::{DType, Op, ValueId};

impl Lowering<'_> {
    pub(super) fn gather_rows(&mut self, op: &Op) -> Outcome<()> {
        let shape = self.shape_of(op.result())?;
        let tensor = self.tensor(op.operands[0])?;
        if shape.is_column() {
            return Err(self.refuse(op, "of a single column"));
        }
        let (_, tile) = self.room(&shape, shape.dtype);
        self.each_row(op, op.operands[1], &tensor, &tile, |this, part, row| {
            this.tile_op(TileOp::Load, &[part], row);
        })?;
        self.bind(op.result(), Held::Tile(tile));
        Ok(())
    }

    /// Later rows win: they are written in order.
    pub(super) fn scatter_rows(&mut self, op: &Op) -> Outcome<()> {
        let tensor = self.tensor(op.operands[1])?;
        let tile = self.tile(op.operands[0])?;
        let shape = self.shape_of(op.operands[0])?;
        if tile.is_column() {
            return Err(self.refuse(op, "of a single column"));
        }
        if tile.dtype == DType::Bool {
            return Err(self.refuse(op, "of tiles of `bool`"));
        }
        let handle = self.data(&tile)?;
        let tile = Tile { valid: shape.valid, ..tile.with(Repr::Data(handle), tile.dtype) };
        self.each_row(op, op.operands[2], &tensor, &tile, |this, part, row| {
            this.tile_op(TileOp::Store, &[row], part);
        })
    }

    /// A transfer between each row of a tile and the row of the tensor that the index names.
    fn each_row(
        &mut self,
        op: &Op,
        index: ValueId,
        tensor: &Tensor,
        tile: &Tile,
        transfer: impl FnOnce(&mut Self, Value, Value),
    ) -> Outcome<()> {
        if tile.dtype == DType::Bool {
            return Err(self.refuse(op, "of `bool`"));
        }
        self.storage(tile.dtype, op.kind.name())?;
        self.check_rows(tensor, op.kind.name())?;
        let index = self.tile(index)?;
        if index.dtype != DType::I32 {
            return Err(self.refuse(op, &format!("by an index of `{}`", index.dtype)));
        }
        let indices = self.data(&index)?;
        let block = self.data(tile)?;
        let (zero, one) = (self.index(0), self.index(1));
        let number = self.fresh("row", Ty::Index);
        self.bodies.push(Vec::new());
        let named = self.fresh("named", Ty::Scalar(DType::I32));
        self.push(Kind::GetElement { result: named, tile: indices, position: number });
        let named = self.arith_to("index_cast", None, &[named], Ty::Index);
        let part = self.partition(tensor, &[named, zero], &[one, tile.valid[1]], false);
        let row = self.window(block, [number, zero], [1, tile.cols], [one, tile.valid[1]])?;
        transfer(self, part, row);
        let body: Vec<Inst> = self.bodies.pop().unwrap_or_default();
        let (carried, yields) = (Vec::new(), Vec::new());
        self.push(Kind::For { index: number, lower: zero, upper: index.valid[0], step: one, carried, body, yields });
        Ok(())
    }
}
