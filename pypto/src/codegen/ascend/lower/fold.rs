//! Reductions of 32-bit integers on a target whose vector unit reduces floats alone: line after line, by the elementwise
//! operation. Rows are reduced as the lines of the transposed tile.

use super::tile::{Repr, Tile};
use super::{Lowering, Outcome};
use crate::codegen::ascend::dialect::{Form, Inst, Kind, TileAttr, TileOp, Ty, Value};
use crate::ir::DType;
use crate::ops::OpKind;

/// More than any index of a tile, and exact in f32.
const NO_INDEX: f64 = 16_777_215.0;

impl Lowering<'_> {
    /// Whether a reduction is folded: the target does not have it, but what combines two lines.
    pub(super) fn is_folded(&self, op: TileOp, dtype: DType) -> bool {
        let reduces = matches!(op.form(), Form::RowReduce | Form::ColReduce);
        dtype == DType::I32 && reduces && !self.computes(op, dtype) && self.computes(TileOp::Add, dtype)
    }

    /// A tile of `i32` reduced, to a column or to a row.
    pub(super) fn folded(&mut self, kind: OpKind, x: &Tile, shape: &Tile) -> Outcome<Tile> {
        let along_rows = matches!(
            kind,
            OpKind::RowSum | OpKind::RowProd | OpKind::RowMax | OpKind::RowMin | OpKind::RowArgmax | OpKind::RowArgmin
        );
        match kind {
            OpKind::RowArgmax => self.first_index(OpKind::RowMax, x, shape),
            OpKind::RowArgmin => self.first_index(OpKind::RowMin, x, shape),
            OpKind::ColArgmax => self.first_index(OpKind::ColMax, x, shape),
            OpKind::ColArgmin => self.first_index(OpKind::ColMin, x, shape),
            _ if along_rows && x.is_column() => Ok(x.clone()),
            _ if along_rows => {
                let turned = self.turned(x)?;
                let turned = if turned.is_column() { self.lines(&turned)? } else { turned };
                let line = self.fold_lines(kind, &turned)?;
                let column = self.row_as_column(line, shape.valid[0])?;
                Ok(shape.with(Repr::Data(column), DType::I32))
            }
            _ => {
                let lines = if x.is_column() { self.lines(x)? } else { x.clone() };
                let line = self.fold_lines(kind, &lines)?;
                if shape.is_column() {
                    let column = self.row_as_column(line, shape.valid[1])?;
                    return Ok(shape.with(Repr::Data(column), DType::I32));
                }
                Ok(shape.with(Repr::Data(line), DType::I32))
            }
        }
    }

    /// The valid lines of a tile combined, from the number on that changes nothing.
    fn fold_lines(&mut self, kind: OpKind, x: &Tile) -> Outcome<Value> {
        let (op, identity) = match kind {
            OpKind::RowSum | OpKind::ColSum => (TileOp::Add, 0),
            OpKind::RowProd | OpKind::ColProd => (TileOp::Mul, 1),
            OpKind::RowMax | OpKind::ColMax => (TileOp::Max, i64::from(i32::MIN)),
            _ => (TileOp::Min, i64::from(i32::MAX)),
        };
        let input = self.data(x)?;
        let (zero, one) = (self.index(0), self.index(1));
        let whole = [one, x.valid[1]];
        let line = self.alloc_rows(&x.name, DType::I32, 1, x.cols, whole);
        let identity = self.int(identity, Ty::Scalar(DType::I32));
        self.tile_op(TileOp::Fill, &[identity], line);
        let into = self.window(line, [zero, zero], [1, x.cols], whole)?;
        let number = self.fresh("line", Ty::Index);
        self.bodies.push(Vec::new());
        let next = self.window(input, [number, zero], [1, x.cols], whole)?;
        self.tile_op(op, &[into, next], into);
        let body: Vec<Inst> = self.bodies.pop().unwrap_or_default();
        let (carried, yields) = (Vec::new(), Vec::new());
        self.push(Kind::For { index: number, lower: zero, upper: x.valid[0], step: one, carried, body, yields });
        Ok(line)
    }

    /// The least index of an element that equals the extreme, 0 where there are none. Indices are exact in f32.
    fn first_index(&mut self, extreme: OpKind, x: &Tile, shape: &Tile) -> Outcome<Tile> {
        let x = if x.is_column() { self.lines(x)? } else { x.clone() };
        let along_rows = matches!(extreme, OpKind::RowMax | OpKind::RowMin);
        let best = self.folded(extreme, &x, &shape.with(shape.repr, DType::I32))?;
        let best = self.expanded(&best, &x)?;
        let (a, b) = (self.in_rows(&x)?, self.in_rows(&best)?);
        let mask = self.mask_room(&x);
        self.tile_op_with(TileOp::Compare, &[a, b], TileAttr::Compare("eq"), mask);
        let one = self.index(1);
        let line = match along_rows {
            true => Tile { rows: 1, valid: [one, x.valid[1]], ..x.clone() },
            false => Tile { cols: 1, valid: [x.valid[0], one], ..x.clone() },
        };
        let (_, line) = self.room(&line, DType::I32);
        let out = self.in_rows(&line)?;
        let zero = self.int(0, Ty::Scalar(DType::I32));
        self.tile_op(TileOp::Iota, &[zero], out);
        let line = self.converted(&line, DType::F32, "RINT")?;
        let indices = self.expanded(&line, &x)?;
        let none = self.number(NO_INDEX, DType::F32);
        let indices = self.chosen(mask, &indices, none)?;
        let form = if along_rows { Form::RowReduce } else { Form::ColReduce };
        let kind = if along_rows { OpKind::RowMin } else { OpKind::ColMin };
        let first = self.reduced(kind, form, &indices, &shape.with(shape.repr, DType::F32))?;
        let input = self.in_rows(&first)?;
        let found = self.mask_room(&first);
        self.tile_op_with(TileOp::CompareS, &[input, none], TileAttr::Compare("lt"), found);
        let zero = self.number(0.0, DType::F32);
        let first = self.chosen(found, &first, zero)?;
        self.converted(&first, DType::I32, "RINT")
    }

    /// The tile where the mask is true, else a number.
    fn chosen(&mut self, mask: Value, x: &Tile, otherwise: Value) -> Outcome<Tile> {
        let (first, second) = (self.in_rows(x)?, self.in_rows(&x.with(Repr::Fill(otherwise), x.dtype))?);
        let (_, result) = self.room(x, x.dtype);
        let out = self.in_rows(&result)?;
        self.select_into(mask, first, second, out)?;
        Ok(result)
    }
}
