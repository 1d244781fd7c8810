//! Integers that the vector unit does not compute on, through those that it does.
//!
//! Integers wrap, so 8 and 16 bits are computed in `i32` and cut off after every operation, and what does not depend on
//! the sign of 32 bits is the same for both signs. Where order counts, the sign bit of unsigned numbers is flipped. All of
//! it is exact.

use super::tile::{Repr, Tile};
use super::{Lowering, Outcome};
use crate::codegen::ascend::dialect::types::Order;
use crate::codegen::ascend::dialect::{Alias, TileAttr, TileOp, Ty, Value};
use crate::ir::DType;
use crate::ops::OpKind;

/// As what integers are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The same 32 bits as `i32`.
    Bits,
    /// As `i32` with the sign bit flipped, in the same order.
    Ordered,
    /// The number as `i32`.
    Wide,
}

impl Lowering<'_> {
    /// How an operation is computed on integers that the target does not compute it on; `None` where it does, or where
    /// nothing stands in.
    pub(super) fn way(&self, op: TileOp, dtype: DType) -> Option<Way> {
        let stands_in = self.computes(op, DType::I32) || self.is_folded(op, DType::I32);
        if self.computes(op, dtype) || !stands_in {
            return None;
        }
        match dtype {
            DType::I8 | DType::U8 | DType::I16 | DType::U16 => Some(Way::Wide),
            DType::U32 if is_ordered(op) => Some(Way::Ordered),
            DType::U32 => Some(Way::Bits),
            _ => None,
        }
    }

    /// The tile as `i32`.
    pub(super) fn entered(&mut self, way: Way, x: &Tile) -> Outcome<Tile> {
        match way {
            Way::Wide => self.widened(x),
            Way::Bits => self.reinterpreted(x, DType::I32),
            Way::Ordered => {
                let bits = self.reinterpreted(x, DType::I32)?;
                self.with_int(TileOp::AddS, &bits, i64::from(i32::MIN))
            }
        }
    }

    /// The result of an operation on `i32`, as what it stands for.
    pub(super) fn left(&mut self, way: Way, x: &Tile, dtype: DType) -> Outcome<Tile> {
        match way {
            Way::Wide => self.narrowed(x, dtype),
            Way::Bits => self.reinterpreted(x, dtype),
            Way::Ordered => {
                let bits = self.with_int(TileOp::AddS, x, i64::from(i32::MIN))?;
                self.reinterpreted(&bits, dtype)
            }
        }
    }

    /// Integers of up to 32 bits as `i32`.
    pub(super) fn widened(&mut self, x: &Tile) -> Outcome<Tile> {
        if matches!(x.dtype, DType::I32 | DType::U32) {
            return self.reinterpreted(x, DType::I32);
        }
        if let Repr::Fill(number) = x.repr {
            let wide = self.wide_number(number, x.dtype);
            return Ok(x.with(Repr::Fill(wide), DType::I32));
        }
        match x.dtype {
            DType::U16 => {
                let signed = self.reinterpreted(x, DType::I16)?;
                let wide = self.converted(&signed, DType::I32, "NONE")?;
                self.with_int(TileOp::AndS, &wide, 0xffff)
            }
            _ => self.converted(x, DType::I32, "NONE"),
        }
    }

    /// A number of up to 16 bits as `i32`.
    fn wide_number(&mut self, number: Value, dtype: DType) -> Value {
        let cast = if dtype.is_unsigned_integer() { "extui" } else { "extsi" };
        match self.known(number) {
            Some(n) => self.int(n, Ty::Scalar(DType::I32)),
            None => self.arith_to(cast, None, &[number], Ty::Scalar(DType::I32)),
        }
    }

    /// The low bits of `i32` as an integer type of up to 32 bits.
    pub(super) fn narrowed(&mut self, x: &Tile, to: DType) -> Outcome<Tile> {
        if let Repr::Fill(_) = x.repr {
            let handle = self.data(x)?;
            return self.narrowed(&x.with(Repr::Data(handle), x.dtype), to);
        }
        let bits = 8 * to.size() as i64;
        let step = |this: &mut Self, x: &Tile, to: DType| this.conversion(x, to, "RINT");
        match to {
            DType::I32 => Ok(x.clone()),
            DType::U32 => self.reinterpreted(x, to),
            DType::U8 => {
                let low = self.with_int(TileOp::AndS, x, 0xff)?;
                let half = step(self, &low, DType::I16)?;
                let float = step(self, &half, DType::F16)?;
                step(self, &float, to)
            }
            _ => {
                let high = self.with_int(TileOp::ShlS, x, 32 - bits)?;
                let low = self.with_int(TileOp::ShrS, &high, 32 - bits)?;
                let half = step(self, &low, DType::I16)?;
                match to {
                    DType::I8 => {
                        let float = step(self, &half, DType::F16)?;
                        step(self, &float, to)
                    }
                    DType::U16 => self.reinterpreted(&half, to),
                    _ => Ok(half),
                }
            }
        }
    }

    /// An operation on a tile of `i32` and a constant.
    fn with_int(&mut self, op: TileOp, x: &Tile, number: i64) -> Outcome<Tile> {
        let number = self.int(number, Ty::Scalar(DType::I32));
        self.with_number(op, x, number)
    }

    /// The same bytes as elements of another type of the same size.
    pub(super) fn reinterpreted(&mut self, x: &Tile, dtype: DType) -> Outcome<Tile> {
        if x.dtype == dtype {
            return Ok(x.clone());
        }
        let handle = self.data(x)?;
        let mut ty = self.tile_ty(handle)?;
        let whole = [self.index(ty.rows), self.index(ty.cols)];
        (ty.dtype, ty.valid) = (dtype, [Some(ty.rows), Some(ty.cols)]);
        let all = self.with_valid(handle, whole)?;
        let other = self.alias(&x.name, all, ty, Alias::Bitcast);
        let other = self.with_valid(other, x.valid)?;
        Ok(x.with(Repr::Data(other), dtype))
    }

    /// A conversion with an integer on one side that no chain of conversions does.
    pub(super) fn integer_conversion(&mut self, x: &Tile, to: DType, mode: &'static str) -> Outcome<Option<Tile>> {
        let has = |dtype: DType| dtype != DType::I64 && dtype != DType::Bool;
        if !has(x.dtype) || !has(to) {
            return Ok(None);
        }
        let result = match (x.dtype.is_float(), to.is_float()) {
            (false, false) => {
                let wide = self.widened(x)?;
                self.narrowed(&wide, to)?
            }
            (false, true) => self.integer_to_float(x, to, mode)?,
            (true, false) if x.dtype != DType::F32 => {
                let single = self.converted(x, DType::F32, "NONE")?;
                self.converted(&single, to, mode)?
            }
            (true, false) => self.float_to_integer(x, to, mode)?,
            (true, true) => return Ok(None),
        };
        Ok(Some(result))
    }

    /// Rounded to f32, and from there to narrower floats.
    fn integer_to_float(&mut self, x: &Tile, to: DType, mode: &'static str) -> Outcome<Tile> {
        let single = if x.dtype == DType::U32 {
            self.unsigned_to_float(x, mode)?
        } else {
            let wide = self.widened(x)?;
            self.converted(&wide, DType::F32, mode)?
        };
        if to == DType::F32 { Ok(single) } else { self.converted(&single, to, mode) }
    }

    /// Both halves are exact in f32; their sum rounds once, to nearest even.
    fn unsigned_to_float(&mut self, x: &Tile, mode: &'static str) -> Outcome<Tile> {
        if !matches!(mode, "RINT" | "NONE") {
            return Err(self.refusal(
                self.loc,
                "cast",
                "of `u32` to floats that rounds otherwise than to nearest even",
            ));
        }
        let bits = self.reinterpreted(x, DType::I32)?;
        let shifted = self.with_int(TileOp::ShrS, &bits, 16)?;
        let [high, low] = [self.with_int(TileOp::AndS, &shifted, 0xffff)?, self.with_int(TileOp::AndS, &bits, 0xffff)?];
        let (high, low) = (self.converted(&high, DType::F32, "RINT")?, self.converted(&low, DType::F32, "RINT")?);
        let unit = self.number(65536.0, DType::F32);
        let high = self.with_number(TileOp::MulS, &high, unit)?;
        self.apply(TileOp::Add, &high, &[&low])
    }

    /// f32 to integers that no conversion saturates to: through `i32`, and limits.
    fn float_to_integer(&mut self, x: &Tile, to: DType, mode: &'static str) -> Outcome<Tile> {
        if to == DType::U32 {
            return self.float_to_unsigned(x, mode);
        }
        let bits = 8 * to.size() as i64;
        let (least, most) = match to.is_unsigned_integer() {
            true => (0, (1i64 << bits) - 1),
            false => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        };
        let wide = self.converted(x, DType::I32, mode)?;
        let above = self.with_int(TileOp::MaxS, &wide, least)?;
        let within = self.with_int(TileOp::MinS, &above, most)?;
        self.narrowed(&within, to)
    }

    /// What is at least 2^31 is brought below it for the conversion. NaN stays NaN until then, and becomes 0.
    fn float_to_unsigned(&mut self, x: &Tile, mode: &'static str) -> Outcome<Tile> {
        let whole = self.converted(x, DType::F32, mode)?;
        let limit = self.number(2_147_483_648.0, DType::F32);
        let (input, mask) = (self.in_rows(&whole)?, self.mask_room(&whole));
        self.tile_op_with(TileOp::CompareS, &[input, limit], TileAttr::Compare("ge"), mask);
        let below = self.with_number(TileOp::SubS, &whole, limit)?;
        let (first, second) = (self.in_rows(&below)?, self.in_rows(&whole)?);
        let (_, reduced) = self.room(&whole, DType::F32);
        let out = self.in_rows(&reduced)?;
        self.select_into(mask, first, second, out)?;
        let zero = self.number(0.0, DType::F32);
        let reduced = self.with_number(TileOp::MaxS, &reduced, zero)?;
        let bits = self.converted(&reduced, DType::I32, "TRUNC")?;
        let [sign, none] = [i64::from(i32::MIN), 0].map(|n| self.int(n, Ty::Scalar(DType::I32)));
        let sign = self.in_rows(&bits.with(Repr::Fill(sign), DType::I32))?;
        let none = self.in_rows(&bits.with(Repr::Fill(none), DType::I32))?;
        let (_, top) = self.room(&bits, DType::I32);
        let out = self.in_rows(&top)?;
        self.select_into(mask, sign, none, out)?;
        let sum = self.apply(TileOp::Add, &bits, &[&top])?;
        self.reinterpreted(&sum, DType::U32)
    }

    /// The first column of rows of any element type: the first row of the transposed rows.
    pub(super) fn turned_first_column(&mut self, rows: Value, shape: &Tile) -> Outcome<Tile> {
        let ty = self.tile_ty(rows)?;
        let whole = [self.index(ty.rows), self.index(ty.cols)];
        let (zero, one, count) = (self.index(0), self.index(1), shape.valid[0]);
        // Nothing but the column was written.
        let input = self.with_valid(rows, [count, one])?;
        let scratch = self.alloc_rows("scratch", ty.dtype, ty.rows, ty.cols, whole);
        let turned = self.alloc_rows(&shape.name, ty.dtype, ty.cols, ty.rows, [one, count]);
        self.tile_op(TileOp::Transpose, &[input, scratch], turned);
        let row = self.alloc_rows(&shape.name, ty.dtype, 1, ty.rows, [one, count]);
        let from = self.window(turned, [zero, zero], [1, ty.rows], [one, count])?;
        let to = self.window(row, [zero, zero], [1, ty.rows], [one, count])?;
        self.tile_op(TileOp::Move, &[from], to);
        debug_assert_eq!(self.tile_ty(row)?.outer, Order::Row);
        let column = self.row_as_column(row, shape.valid[0])?;
        Ok(shape.with(Repr::Data(column), ty.dtype))
    }
}

/// Whether the order of numbers counts for a result.
fn is_ordered(op: TileOp) -> bool {
    let by_kind = op.kind().is_some_and(|kind| {
        matches!(
            kind,
            OpKind::Max
                | OpKind::Min
                | OpKind::RowMax
                | OpKind::RowMin
                | OpKind::ColMax
                | OpKind::ColMin
                | OpKind::RowArgmax
                | OpKind::RowArgmin
                | OpKind::ColArgmax
                | OpKind::ColArgmin
        )
    });
    by_kind || matches!(op, TileOp::Compare | TileOp::CompareS)
}
