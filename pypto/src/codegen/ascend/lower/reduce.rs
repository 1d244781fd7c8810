//! Reductions and tiles out of numbers.

use super::tile::{Repr, Tile};
use super::{Held, Lowering, Outcome};
use crate::codegen::ascend::dialect::{Form, TileOp, Ty};
use crate::ir::{AttrKey, DType, Op};
use crate::ops::{Class, OpKind};

impl Lowering<'_> {
    pub(super) fn reduce(&mut self, op: &Op) -> Outcome<()> {
        let form = match op.kind.class() {
            Class::RowReduce | Class::RowArg => Form::RowReduce,
            _ => Form::ColReduce,
        };
        let rank = self.source.ty(op.operands[0]).as_tile().map_or(2, |t| t.rank());
        if form == Form::ColReduce && rank > 2 {
            return Err(self.refuse(op, "on tiles of rank 3"));
        }
        let shape = self.shape_of(op.result())?;
        let x = self.tile(op.operands[0])?;
        let result = self.reduced(op.kind, form, &x, &shape)?;
        let name = self.name_of(op.result());
        self.bind(op.result(), Held::Tile(Tile { name, valid: shape.valid, ..result }));
        Ok(())
    }

    /// Sums of 16-bit floats accumulate in f32, as the contract has it.
    fn widens(&self, kind: OpKind, tile_op: TileOp, dtype: DType) -> bool {
        let sums = matches!(kind, OpKind::RowSum | OpKind::RowProd | OpKind::ColSum | OpKind::ColProd);
        let small = matches!(dtype, DType::F16 | DType::BF16);
        small && (sums || !tile_op.elements(&self.target.elements).contains(&dtype))
    }

    pub(super) fn reduced(&mut self, kind: OpKind, form: Form, x: &Tile, shape: &Tile) -> Outcome<Tile> {
        let Some(tile_op) = TileOp::of(kind, form) else {
            return Err(self.refusal(self.loc, kind.name(), &format!("on tiles of `{}`", x.dtype)));
        };
        let picks = matches!(kind.class(), Class::RowArg | Class::ColArg);
        if let Some(way) = self.way(tile_op, x.dtype) {
            let wide = self.entered(way, x)?;
            let result = self.reduced(kind, form, &wide, &shape.with(shape.repr, DType::I32))?;
            return if picks { Ok(result) } else { self.left(way, &result, x.dtype) };
        }
        if self.is_folded(tile_op, x.dtype) {
            return self.folded(kind, x, shape);
        }
        if self.widens(kind, tile_op, x.dtype) {
            let wide = self.converted(x, DType::F32, "NONE")?;
            let to = if picks { DType::I32 } else { DType::F32 };
            let result = self.reduced(kind, form, &wide, &Tile { dtype: to, ..shape.clone() })?;
            return self.converted(&result, shape.dtype, if to == shape.dtype { "NONE" } else { "RINT" });
        }
        self.check_elements(tile_op, x.dtype)?;
        // The unit reduces lines: of a single column each element begins one.
        let x = if x.is_column() { self.lines(x)? } else { x.clone() };
        let input = self.data(&x)?;
        let input = self.with_valid(input, x.valid)?;
        let mut operands = vec![input];
        if form == Form::RowReduce {
            let ty = self.tile_ty(input)?;
            let whole = [self.index(ty.rows), self.index(ty.cols)];
            operands.push(self.alloc_rows("scratch", x.dtype, ty.rows, ty.cols, whole));
        }
        if form == Form::ColReduce && shape.is_column() {
            // One element: of a line that is a column then.
            let one = self.index(1);
            let line = self.alloc_rows(&shape.name, shape.dtype, 1, x.cols, [one, shape.valid[1]]);
            self.tile_op(tile_op, &operands, line);
            let column = self.row_as_column(line, shape.valid[1])?;
            return Ok(shape.with(Repr::Data(column), shape.dtype));
        }
        let (out, result) = self.room(shape, shape.dtype);
        self.tile_op(tile_op, &operands, out);
        Ok(result)
    }

    pub(super) fn create(&mut self, op: &Op) -> Outcome<()> {
        let shape = self.shape_of(op.result())?;
        let number = self.scalar(op.operands[0])?;
        let tile = match op.kind {
            OpKind::Full => shape.with(Repr::Fill(number), shape.dtype),
            _ => self.iota(op, &shape, number)?,
        };
        self.bind(op.result(), Held::Tile(tile));
        Ok(())
    }

    fn iota(&mut self, op: &Op, shape: &Tile, start: crate::codegen::ascend::dialect::Value) -> Outcome<Tile> {
        if shape.dtype == DType::I64 {
            return Err(self.refuse(op, &format!("of tiles of `{}`", shape.dtype)));
        }
        if !matches!(shape.dtype, DType::I32 | DType::I16) {
            let zero = self.int(0, Ty::Scalar(DType::I32));
            let counted = self.iota(op, &Tile { dtype: DType::I32, ..shape.clone() }, zero)?;
            let start = self.widened(&shape.with(Repr::Fill(start), shape.dtype))?;
            let wide = self.apply(TileOp::Add, &counted, &[&start])?;
            return self.narrowed(&wide, shape.dtype);
        }
        let rank = self.source.ty(op.result()).as_tile().map_or(2, |t| t.rank());
        if rank > 2 {
            return Err(self.refuse(op, "of rank 3"));
        }
        let along_rows = rank == 2 && op.attrs.int(AttrKey::Axis) == Some(0);
        let one = self.index(1);
        let line = if along_rows {
            Tile { cols: 1, valid: [shape.valid[0], one], ..shape.clone() }
        } else {
            Tile { rows: 1, valid: [one, shape.valid[1]], ..shape.clone() }
        };
        if line.is_column() && !along_rows {
            let constant = shape.with(Repr::Fill(start), shape.dtype);
            return Ok(constant);
        }
        let (_, line) = self.room(&line, shape.dtype);
        let out = self.in_rows(&line)?;
        self.tile_op(TileOp::Iota, &[start], out);
        self.expanded(&line, shape)
    }
}
