//! Elementwise operations: broadcasts become expansions, numbers become the forms that take one, bf16 goes through f32.

use super::integers::Way;
use super::tile::{Repr, Tile};
use super::{Held, Lowering, Outcome};
use crate::codegen::ascend::dialect::{Form, TileAttr, TileOp, Ty};
use crate::ir::{DType, Op, Round, ValueId};
use crate::ops::OpKind;
use crate::target::Target;

impl Lowering<'_> {
    /// Refuses an element type that the target does not compute an operation on.
    pub(super) fn check_elements(&self, op: TileOp, dtype: DType) -> Outcome<()> {
        if self.computes(op, dtype) {
            return Ok(());
        }
        let name = op.kind().map_or(op.name(), OpKind::name);
        let has = |target: &'static Target| op.elements(&target.elements).contains(&dtype);
        let supported: Vec<&str> = op.elements(&self.target.elements).iter().map(|dtype| dtype.name()).collect();
        let problem = self.refusal_where(self.loc, name, &format!("on tiles of `{dtype}`"), has);
        Err(problem.note(format!("it has `{name}` on tiles of {}", supported.join(", "))))
    }

    pub(super) fn computes(&self, op: TileOp, dtype: DType) -> bool {
        let elements = op.elements(&self.target.elements);
        elements.is_empty() || elements.contains(&dtype)
    }

    /// An operand: a tile, or a number in every element of `shape`.
    fn operand(&mut self, value: ValueId, shape: &Tile) -> Outcome<Tile> {
        if self.is_scalar(value) {
            let number = self.scalar(value)?;
            let dtype = self.source.ty(value).dtype().unwrap_or(shape.dtype);
            return Ok(shape.with(Repr::Fill(number), dtype));
        }
        self.tile(value)
    }

    fn finish(&mut self, op: &Op, tile: Tile) {
        let name = self.name_of(op.result());
        self.bind(op.result(), Held::Tile(Tile { name, ..tile }));
    }

    /// Whether an operation on 16-bit floats has to be done in f32: the contract rounds each operation once.
    fn through_f32(&self, op: TileOp, dtype: DType) -> bool {
        matches!(dtype, DType::BF16 | DType::F16) && !self.computes(op, dtype) && self.computes(op, DType::F32)
    }

    pub(super) fn unary(&mut self, op: &Op) -> Outcome<()> {
        let shape = self.shape_of(op.result())?;
        let x = self.tile(op.operands[0])?;
        let result = self.unary_tile(op.kind, &Tile { valid: shape.valid, ..x }, op)?;
        self.finish(op, result);
        Ok(())
    }

    fn unary_tile(&mut self, kind: OpKind, x: &Tile, op: &Op) -> Outcome<Tile> {
        if x.dtype == DType::Bool {
            let numbers = self.mask_as_numbers(x, DType::F32)?;
            let one = self.number(1.0, DType::F32);
            let flipped = self.with_number(TileOp::SubS, &numbers, one)?;
            return self.numbers_as_mask(&flipped);
        }
        let Some(tile_op) = TileOp::of(kind, Form::Unary) else { return self.expanded_function(kind, x, op) };
        if self.through_f32(tile_op, x.dtype) {
            let wide = self.converted(x, DType::F32, "NONE")?;
            let result = self.unary_tile(kind, &wide, op)?;
            return self.converted(&result, x.dtype, "RINT");
        }
        if let Some(way) = self.way(tile_op, x.dtype) {
            let wide = self.entered(way, x)?;
            let result = self.unary_tile(kind, &wide, op)?;
            return self.left(way, &result, x.dtype);
        }
        self.check_elements(tile_op, x.dtype)?;
        self.apply(tile_op, x, &[])
    }

    /// Functions without an instruction: made of those that there are, in f32.
    fn expanded_function(&mut self, kind: OpKind, x: &Tile, op: &Op) -> Outcome<Tile> {
        if !x.dtype.is_float() {
            return Err(self.refuse(op, &format!("on tiles of `{}`", x.dtype)));
        }
        let wide = self.converted(x, DType::F32, "NONE")?;
        let result = match kind {
            OpKind::Floor => self.converted(&wide, DType::F32, "FLOOR")?,
            OpKind::Ceil => self.converted(&wide, DType::F32, "CEIL")?,
            OpKind::Trunc => self.converted(&wide, DType::F32, "TRUNC")?,
            OpKind::Round => self.converted(&wide, DType::F32, "ROUND")?,
            OpKind::RoundTiesEven => self.converted(&wide, DType::F32, "RINT")?,
            _ => match self.function(kind, &wide)? {
                Some(result) => result,
                None => return Err(self.refuse(op, "on the vector unit")),
            },
        };
        self.converted(&result, x.dtype, if x.dtype == DType::F32 { "NONE" } else { "RINT" })
    }

    /// An operation on one tile, with further tiles of the same shape.
    pub(super) fn apply(&mut self, op: TileOp, x: &Tile, more: &[&Tile]) -> Outcome<Tile> {
        let mut ins = vec![self.in_rows(x)?];
        for tile in more {
            ins.push(self.in_rows(tile)?);
        }
        let (_, result) = self.room(x, x.dtype);
        let out = self.in_rows(&result)?;
        self.tile_op(op, &ins, out);
        Ok(result)
    }

    /// An operation on a tile and a number.
    pub(super) fn with_number(
        &mut self,
        op: TileOp,
        x: &Tile,
        number: crate::codegen::ascend::dialect::Value,
    ) -> Outcome<Tile> {
        let input = self.in_rows(x)?;
        let (_, result) = self.room(x, x.dtype);
        let out = self.in_rows(&result)?;
        self.tile_op(op, &[input, number], out);
        Ok(result)
    }

    pub(super) fn binary(&mut self, op: &Op) -> Outcome<()> {
        let shape = self.shape_of(op.result())?;
        let (a, b) = (self.operand(op.operands[0], &shape)?, self.operand(op.operands[1], &shape)?);
        let result = self.binary_tile(op, op.kind, &a, &b, &shape)?;
        self.finish(op, result);
        Ok(())
    }

    fn binary_tile(&mut self, op: &Op, kind: OpKind, a: &Tile, b: &Tile, shape: &Tile) -> Outcome<Tile> {
        if shape.dtype == DType::Bool {
            return self.logic(op, kind, a, b, shape);
        }
        let Some(tile_op) = TileOp::of(kind, Form::Binary) else {
            match kind {
                OpKind::Xor => return self.exclusive_or(op, a, b, shape),
                OpKind::Pow => return self.power(a, b, shape),
                _ => {}
            }
            return Err(self.refuse(op, "on tiles"));
        };
        if self.through_f32(tile_op, shape.dtype) {
            let (a, b) = (self.converted(a, DType::F32, "NONE")?, self.converted(b, DType::F32, "NONE")?);
            let wide = Tile { dtype: DType::F32, ..shape.clone() };
            let result = self.binary_tile(op, kind, &a, &b, &wide)?;
            return self.converted(&result, shape.dtype, "RINT");
        }
        if matches!(kind, OpKind::Div | OpKind::Rem) && !shape.dtype.is_float() {
            let problem = self.refuse(op, &format!("on tiles of `{}`", shape.dtype));
            return Err(problem.note("a divisor of zero stops the kernel, which the vector unit cannot"));
        }
        if let Some(way) = self.way(tile_op, shape.dtype) {
            let (a, mut b) = (self.entered(way, a)?, self.entered(way, b)?);
            let wide = Tile { dtype: DType::I32, ..shape.clone() };
            if way == Way::Wide && matches!(kind, OpKind::Shl | OpKind::Shr) {
                // Amounts count modulo the bits of the type.
                let most = self.int(8 * shape.dtype.size() as i64 - 1, Ty::Scalar(DType::I32));
                let limit = b.with(Repr::Fill(most), DType::I32);
                let amounts = Tile { dtype: DType::I32, ..b.clone() };
                let data = self.data(&b)?;
                b = self.binary_tile(op, OpKind::And, &b.with(Repr::Data(data), DType::I32), &limit, &amounts)?;
            }
            let result = self.binary_tile(op, kind, &a, &b, &wide)?;
            return self.left(way, &result, shape.dtype);
        }
        self.check_elements(tile_op, shape.dtype)?;
        let commutes = matches!(kind, OpKind::Add | OpKind::Mul | OpKind::Max | OpKind::Min | OpKind::And | OpKind::Or);
        let whole = |t: &Tile| (t.rows, t.cols) == (shape.rows, shape.cols) && !matches!(t.repr, Repr::Fill(_));
        let (a, b) = if commutes && !whole(a) && whole(b) { (b, a) } else { (a, b) };
        if whole(a) {
            let a = &Tile { valid: shape.valid, ..a.clone() };
            if let (Repr::Fill(number), Some(with_number)) = (b.repr, TileOp::of(kind, Form::TileScalar)) {
                let number = self.amount(with_number, number);
                return self.with_number(with_number, a, number);
            }
            if let Some(result) = self.with_vector(kind, a, b, shape)? {
                return Ok(result);
            }
        }
        let (a, b) = (self.expanded(a, shape)?, self.expanded(b, shape)?);
        let a = Tile { valid: shape.valid, ..a };
        self.apply(tile_op, &a, &[&b])
    }

    /// Amounts of shifts are `i32`.
    fn amount(
        &mut self,
        op: TileOp,
        number: crate::codegen::ascend::dialect::Value,
    ) -> crate::codegen::ascend::dialect::Value {
        use crate::codegen::ascend::dialect::Ty;
        let Ty::Scalar(dtype) = self.ty(number).clone() else { return number };
        if !op.is_shift() || dtype == DType::I32 {
            return number;
        }
        let cast = if dtype.size() < 4 { "extui" } else { "trunci" };
        self.arith_to(cast, None, &[number], Ty::Scalar(DType::I32))
    }

    /// A whole tile and a column or a row, where one instruction does it.
    fn with_vector(&mut self, kind: OpKind, a: &Tile, b: &Tile, shape: &Tile) -> Outcome<Option<Tile>> {
        let Repr::Data(vector) = b.repr else { return Ok(None) };
        if shape.is_column() || (b.rows, b.cols) == (shape.rows, shape.cols) {
            return Ok(None);
        }
        let form = if b.is_column() && b.rows == shape.rows {
            Form::RowExpandBinary
        } else if b.rows == 1 && b.cols == shape.cols {
            Form::ColExpandBinary
        } else {
            return Ok(None);
        };
        let Some(op) = TileOp::of(kind, form) else { return Ok(None) };
        let input = self.data(a)?;
        let (out, result) = self.room(shape, shape.dtype);
        self.tile_op(op, &[input, vector], out);
        Ok(Some(result))
    }

    fn logic(&mut self, op: &Op, kind: OpKind, a: &Tile, b: &Tile, shape: &Tile) -> Outcome<Tile> {
        let (a, b) = (self.mask_as_numbers(a, DType::F32)?, self.mask_as_numbers(b, DType::F32)?);
        let numbers = Tile { dtype: DType::F32, ..shape.clone() };
        let kind = match kind {
            OpKind::And => OpKind::Min,
            OpKind::Or => OpKind::Max,
            OpKind::Xor => OpKind::Sub,
            _ => return Err(self.refuse(op, "on tiles of `bool`")),
        };
        let result = self.binary_tile(op, kind, &a, &b, &numbers)?;
        self.numbers_as_mask(&result)
    }

    /// `(a | b) - (a & b)`: the instruction itself takes scratch whose size differs between targets.
    fn exclusive_or(&mut self, op: &Op, a: &Tile, b: &Tile, shape: &Tile) -> Outcome<Tile> {
        let (any, both) =
            (self.binary_tile(op, OpKind::Or, a, b, shape)?, self.binary_tile(op, OpKind::And, a, b, shape)?);
        self.binary_tile(op, OpKind::Sub, &any, &both, shape)
    }

    pub(super) fn compare(&mut self, op: &Op) -> Outcome<()> {
        let shape = self.shape_of(op.result())?;
        let (a, b) = (self.operand(op.operands[0], &shape)?, self.operand(op.operands[1], &shape)?);
        let mode = match op.kind {
            OpKind::CmpEq => "eq",
            OpKind::CmpNe => "ne",
            OpKind::CmpLt => "lt",
            OpKind::CmpLe => "le",
            OpKind::CmpGt => "gt",
            _ => "ge",
        };
        let (a, b) = if a.dtype == DType::Bool {
            (self.mask_as_numbers(&a, DType::F32)?, self.mask_as_numbers(&b, DType::F32)?)
        } else if self.through_f32(TileOp::Compare, a.dtype) {
            (self.converted(&a, DType::F32, "NONE")?, self.converted(&b, DType::F32, "NONE")?)
        } else if let Some(way) = self.way(TileOp::Compare, a.dtype) {
            (self.entered(way, &a)?, self.entered(way, &b)?)
        } else {
            (a, b)
        };
        self.check_elements(TileOp::Compare, a.dtype)?;
        let a = self.expanded(&a, &shape)?;
        let input = self.in_rows(&a)?;
        let mask = self.mask_room(&shape);
        if let Repr::Fill(number) = b.repr {
            self.tile_op_with(TileOp::CompareS, &[input, number], TileAttr::Compare(mode), mask);
        } else {
            let b = self.expanded(&b, &shape)?;
            let other = self.in_rows(&b)?;
            self.tile_op_with(TileOp::Compare, &[input, other], TileAttr::Compare(mode), mask);
        }
        self.finish(op, shape.with(Repr::Mask(mask), DType::Bool));
        Ok(())
    }

    pub(super) fn select(&mut self, op: &Op) -> Outcome<()> {
        let shape = self.shape_of(op.result())?;
        let condition = self.operand(op.operands[0], &shape)?;
        let (a, b) = (self.operand(op.operands[1], &shape)?, self.operand(op.operands[2], &shape)?);
        let (a, b) = if shape.dtype == DType::Bool {
            (self.mask_as_numbers(&a, DType::F32)?, self.mask_as_numbers(&b, DType::F32)?)
        } else {
            (a, b)
        };
        let way = self.way(TileOp::Select, a.dtype);
        let (a, b) = match way {
            Some(way) => (self.entered(way, &a)?, self.entered(way, &b)?),
            None => (a, b),
        };
        self.check_elements(TileOp::Select, a.dtype)?;
        let condition = self.expanded(&condition, &shape)?;
        let condition = match condition.repr {
            Repr::Mask(mask) => mask,
            _ => {
                let numbers = self.mask_as_numbers(&condition, DType::F32)?;
                let numbers = numbers.with(Repr::Data(self.data(&numbers)?), DType::F32);
                match self.numbers_as_mask(&numbers)?.repr {
                    Repr::Mask(mask) => mask,
                    _ => return Err(self.internal("a mask is missing")),
                }
            }
        };
        let (a, b) = (self.expanded(&a, &shape)?, self.expanded(&b, &shape)?);
        let (first, second) = (self.in_rows(&a)?, self.in_rows(&b)?);
        let (_, result) = self.room(&shape, a.dtype);
        let out = self.in_rows(&result)?;
        self.select_into(condition, first, second, out)?;
        let result = match way {
            _ if shape.dtype == DType::Bool => self.numbers_as_mask(&result)?,
            Some(way) => self.left(way, &result, shape.dtype)?,
            None => result,
        };
        self.finish(op, result);
        Ok(())
    }

    pub(super) fn cast(&mut self, op: &Op) -> Outcome<()> {
        if op.kind == OpKind::Bitcast {
            return Err(self.refuse(op, "on tiles"));
        }
        let shape = self.shape_of(op.result())?;
        let x = self.tile(op.operands[0])?;
        let (from, to) = (x.dtype, shape.dtype);
        if from != to && [from, to].contains(&DType::I64) {
            return Err(self.refuse(op, &format!("of tiles of `{from}` to `{to}`")));
        }
        let result = match (from, to) {
            (DType::Bool, DType::Bool) => x,
            (DType::Bool, to) if self.computes(TileOp::Select, to) => self.mask_as_numbers(&x, to)?,
            (DType::Bool, to) => {
                let numbers = self.mask_as_numbers(&x, DType::F16)?;
                self.converted(&numbers, to, "TRUNC")?
            }
            (_, DType::Bool) => {
                let numbers = match self.way(TileOp::CompareS, from) {
                    // That it is not 0 does not depend on the sign.
                    Some(Way::Ordered) => self.entered(Way::Bits, &x)?,
                    Some(way) => self.entered(way, &x)?,
                    None if self.computes(TileOp::CompareS, from) => x,
                    None => self.converted(&x, DType::F32, "NONE")?,
                };
                self.numbers_as_mask(&numbers)?
            }
            (from, to) if from == to => x,
            (from, to) => {
                let mode = match op.attrs.round() {
                    Round::None if from.is_float() && !to.is_float() => "TRUNC",
                    Round::None | Round::Rint => "RINT",
                    Round::Round => "ROUND",
                    Round::Floor => "FLOOR",
                    Round::Ceil => "CEIL",
                    Round::Trunc => "TRUNC",
                    Round::Odd => return Err(self.refuse(op, "that rounds to odd")),
                };
                self.converted(&x, to, mode)?
            }
        };
        self.finish(op, result);
        Ok(())
    }
}
