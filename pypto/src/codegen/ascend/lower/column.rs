//! Tiles of one column, seen as a row over the same bytes.

use super::tile::{Repr, Tile};
use super::{Lowering, Outcome};
use crate::codegen::ascend::dialect::types::Order;
use crate::codegen::ascend::dialect::{Alias, TileAttr, TileOp, TileTy, Value};
use crate::ir::DType;

impl Lowering<'_> {
    /// The row over the bytes of a column.
    pub(super) fn column_as_row(&mut self, column: Value, valid_rows: Value) -> Outcome<Value> {
        let ty = self.tile_ty(column)?;
        let mut row = TileTy::vector(ty.dtype, 1, ty.rows, Order::Row);
        row.valid = [Some(1), Some(ty.rows)];
        if let Some(n) = self.known(valid_rows) {
            row.valid[1] = Some(n);
            return Ok(self.alias("row", column, row, Alias::Reshape));
        }
        let whole = self.alias("row", column, row, Alias::Reshape);
        let one = self.index(1);
        self.leading(whole, [one, valid_rows])
    }

    /// The column over the bytes of a row.
    pub(super) fn row_as_column(&mut self, row: Value, valid_cols: Value) -> Outcome<Value> {
        let ty = self.tile_ty(row)?;
        let mut column = TileTy::vector(ty.dtype, ty.cols, 1, Order::Column);
        column.valid = [Some(ty.cols), Some(1)];
        if let Some(n) = self.known(valid_cols) {
            column.valid[0] = Some(n);
            return Ok(self.alias("column", row, column, Alias::Reshape));
        }
        let whole = self.alias("column", row, column, Alias::Reshape);
        let one = self.index(1);
        self.leading(whole, [valid_cols, one])
    }

    /// A window over a tile, as large as the tile, with other valid extents.
    pub(super) fn leading(&mut self, handle: Value, valid: [Value; 2]) -> Outcome<Value> {
        let mut ty = self.tile_ty(handle)?;
        let known = valid.map(|v| self.known(v));
        let is_static = known.iter().all(Option::is_some);
        ty.valid = if is_static { known } else { [None; 2] };
        let zero = self.index(0);
        let alias = Alias::Subview { offset: [zero, zero], valid: (!is_static).then_some(valid) };
        let window = self.alias("window", handle, ty, alias);
        let root = self.root(handle);
        self.roots.insert(window, root);
        self.valid_of.insert(window, valid);
        Ok(window)
    }

    /// A handle on the same tile that is valid as far as given.
    pub(super) fn with_valid(&mut self, handle: Value, valid: [Value; 2]) -> Outcome<Value> {
        let fits = match self.valid_of.get(&handle) {
            Some(known) => *known == valid,
            // An alias: its type tells, where the extents are known.
            None => self.tile_ty(handle)?.valid.iter().zip(valid).all(|(n, v)| n.is_some() && *n == self.known(v)),
        };
        if fits { Ok(handle) } else { self.leading(handle, valid) }
    }

    /// The tile that a window is over.
    pub(super) fn root(&self, handle: Value) -> Value {
        self.roots.get(&handle).copied().unwrap_or(handle)
    }

    /// A mask as ones and zeros.
    pub(super) fn mask_as_numbers(&mut self, mask: &Tile, dtype: DType) -> Outcome<Tile> {
        if let Repr::Fill(truth) = mask.repr {
            let (one, zero) = (self.number(1.0, dtype), self.number(0.0, dtype));
            let number = self.arith("select", &[truth, one, zero]);
            return Ok(mask.with(Repr::Fill(number), dtype));
        }
        let Repr::Mask(handle) = mask.repr else { return Err(self.internal("a mask is missing")) };
        let (one, zero) = (self.number(1.0, dtype), self.number(0.0, dtype));
        let ones = self.in_rows(&mask.with(Repr::Fill(one), dtype))?;
        let zeros = self.in_rows(&mask.with(Repr::Fill(zero), dtype))?;
        let (_, numbers) = self.room(mask, dtype);
        let out = self.in_rows(&numbers)?;
        self.select_into(handle, ones, zeros, out)?;
        Ok(numbers)
    }

    /// Where numbers are not zero.
    pub(super) fn numbers_as_mask(&mut self, numbers: &Tile) -> Outcome<Tile> {
        if let Repr::Fill(number) = numbers.repr {
            let zero = self.number(0.0, numbers.dtype);
            let truth = if numbers.dtype.is_float() {
                self.arith_to("cmpf", Some("une"), &[number, zero], bool_ty())
            } else {
                self.arith_to("cmpi", Some("ne"), &[number, zero], bool_ty())
            };
            return Ok(numbers.with(Repr::Fill(truth), DType::Bool));
        }
        let input = self.in_rows(numbers)?;
        let mask = self.mask_room(numbers);
        let zero = self.number(0.0, numbers.dtype);
        self.check_elements(TileOp::CompareS, numbers.dtype)?;
        self.tile_op_with(TileOp::CompareS, &[input, zero], TileAttr::Compare("ne"), mask);
        Ok(numbers.with(Repr::Mask(mask), DType::Bool))
    }

    /// `tsel` with the scratch that it takes.
    pub(super) fn select_into(&mut self, mask: Value, a: Value, b: Value, out: Value) -> Outcome<()> {
        let ty = self.tile_ty(out)?;
        self.check_elements(TileOp::Select, ty.dtype)?;
        let (one, cols) = (self.index(1), self.index(ty.cols));
        let scratch = self.alloc_rows("scratch", ty.dtype, 1, ty.cols, [one, cols]);
        self.tile_op(TileOp::Select, &[mask, a, b, scratch], out);
        Ok(())
    }
}

fn bool_ty() -> crate::codegen::ascend::dialect::Ty {
    crate::codegen::ascend::dialect::Ty::Scalar(DType::Bool)
}
