//! Functions that the vector unit does not have, out of those that it has.
//!
//! The definitions are the language's own ([`crate::ops::math`]), written once for every engine. A multiply-add becomes a
//! product and a sum here, with two roundings, so results differ from the host's in the last bits, and ways for rare lanes,
//! which rest on exact products, are not taken.

use super::tile::{Repr, Tile};
use super::{Lowering, Outcome};
use crate::codegen::ascend::dialect::types::Order;
use crate::codegen::ascend::dialect::{Alias, TileAttr, TileOp, TileTy, Value};
use crate::diagnostics::Diagnostic;
use crate::ir::DType;
use crate::ops::OpKind;
use crate::ops::math::{self, MathBuilder};

/// Lanes: a handle on a tile, or a number known now.
#[derive(Clone, Copy)]
enum Lanes<N> {
    Tile(Value),
    Number(N),
}

struct TileMath<'l, 'a> {
    lowering: &'l mut Lowering<'a>,
    /// Extents of every tile, as rows.
    shape: Tile,
    error: Option<Diagnostic>,
}

impl Lowering<'_> {
    /// The function of every element; `None` where the language has no such function.
    pub(super) fn function(&mut self, kind: OpKind, x: &Tile) -> Outcome<Option<Tile>> {
        if kind == OpKind::Sigmoid {
            return self.sigmoid(x).map(Some);
        }
        let input = self.in_rows(x)?;
        let (rows, cols, valid) = self.row_shape(x);
        let shape = Tile { repr: Repr::Data(input), rows, cols, valid, ..x.clone() };
        let mut math = TileMath { lowering: self, shape, error: None };
        let lanes = Lanes::Tile(input);
        let result = match kind {
            OpKind::Exp2 => math::exp2(&mut math, lanes),
            OpKind::Expm1 => math::expm1(&mut math, lanes),
            OpKind::Log2 => math::log2(&mut math, lanes),
            OpKind::Log1p => math::log1p(&mut math, lanes),
            OpKind::Tanh => math::tanh(&mut math, lanes),
            OpKind::Erf => math::erf(&mut math, lanes),
            OpKind::Sin => math::sin(&mut math, lanes),
            OpKind::Cos => math::cos(&mut math, lanes),
            _ => return Ok(None),
        };
        let result = math.float_tile(result);
        if let Some(error) = math.error {
            return Err(error);
        }
        let handle = if x.is_column() { self.row_as_column(result, x.valid[0])? } else { result };
        Ok(Some(x.with(Repr::Data(handle), DType::F32)))
    }

    /// `a` to the power of `b`, both of the extents of `shape` or expanded to them.
    pub(super) fn power(&mut self, a: &Tile, b: &Tile, shape: &Tile) -> Outcome<Tile> {
        let (a, b) = (self.converted(a, DType::F32, "NONE")?, self.converted(b, DType::F32, "NONE")?);
        let wide = Tile { dtype: DType::F32, ..shape.clone() };
        let (a, b) = (self.expanded(&a, &wide)?, self.expanded(&b, &wide)?);
        let (x, y) = (self.in_rows(&a)?, self.in_rows(&b)?);
        let (rows, cols, valid) = self.row_shape(&wide);
        let rows = Tile { repr: Repr::Data(x), rows, cols, valid, ..wide.clone() };
        let mut math = TileMath { lowering: self, shape: rows, error: None };
        let result = math::pow(&mut math, Lanes::Tile(x), Lanes::Tile(y));
        let result = math.float_tile(result);
        if let Some(error) = math.error {
            return Err(error);
        }
        let handle = if wide.is_column() { self.row_as_column(result, wide.valid[0])? } else { result };
        let result = wide.with(Repr::Data(handle), DType::F32);
        self.converted(&result, shape.dtype, if shape.dtype == DType::F32 { "NONE" } else { "RINT" })
    }

    /// `1 / (1 + exp(-x))`.
    fn sigmoid(&mut self, x: &Tile) -> Outcome<Tile> {
        let one = self.number(1.0, DType::F32);
        let negative = self.apply(TileOp::Neg, x, &[])?;
        let exponential = self.apply(TileOp::Exp, &negative, &[])?;
        let sum = self.with_number(TileOp::AddS, &exponential, one)?;
        self.apply(TileOp::Recip, &sum, &[])
    }
}

impl TileMath<'_, '_> {
    fn room(&mut self, dtype: DType) -> Value {
        let Tile { rows, cols, valid, .. } = self.shape;
        self.lowering.alloc_rows("m", dtype, rows, cols, valid)
    }

    fn emit(&mut self, op: TileOp, dtype: DType, ins: &[Value]) -> Value {
        let out = self.room(dtype);
        self.lowering.tile_op(op, ins, out);
        out
    }

    fn fill(&mut self, number: Value, dtype: DType) -> Value {
        self.emit(TileOp::Fill, dtype, &[number])
    }

    fn float_tile(&mut self, a: Lanes<f32>) -> Value {
        match a {
            Lanes::Tile(tile) => tile,
            Lanes::Number(x) => {
                let number = self.lowering.number(f64::from(x), DType::F32);
                self.fill(number, DType::F32)
            }
        }
    }

    fn int_tile(&mut self, a: Lanes<i32>) -> Value {
        match a {
            Lanes::Tile(tile) => tile,
            Lanes::Number(n) => {
                let number = self.lowering.number(f64::from(n), DType::I32);
                self.fill(number, DType::I32)
            }
        }
    }

    fn float_op(
        &mut self,
        op: TileOp,
        with_number: TileOp,
        a: Lanes<f32>,
        b: Lanes<f32>,
        commutes: bool,
    ) -> Lanes<f32> {
        let (a, b) = if commutes && matches!(a, Lanes::Number(_)) { (b, a) } else { (a, b) };
        let x = self.float_tile(a);
        Lanes::Tile(match b {
            Lanes::Number(n) => {
                let number = self.lowering.number(f64::from(n), DType::F32);
                self.emit(with_number, DType::F32, &[x, number])
            }
            Lanes::Tile(y) => self.emit(op, DType::F32, &[x, y]),
        })
    }

    fn int_op(&mut self, op: TileOp, with_number: TileOp, a: Lanes<i32>, b: Lanes<i32>, commutes: bool) -> Lanes<i32> {
        let (a, b) = if commutes && matches!(a, Lanes::Number(_)) { (b, a) } else { (a, b) };
        let x = self.int_tile(a);
        Lanes::Tile(match b {
            Lanes::Number(n) => {
                let number = self.lowering.number(f64::from(n), DType::I32);
                self.emit(with_number, DType::I32, &[x, number])
            }
            Lanes::Tile(y) => self.emit(op, DType::I32, &[x, y]),
        })
    }

    fn shift(&mut self, op: TileOp, a: Lanes<i32>, amount: i32) -> Lanes<i32> {
        let x = self.int_tile(a);
        let number = self.lowering.number(f64::from(amount), DType::I32);
        Lanes::Tile(self.emit(op, DType::I32, &[x, number]))
    }

    fn unary(&mut self, op: TileOp, a: Lanes<f32>) -> Lanes<f32> {
        let x = self.float_tile(a);
        Lanes::Tile(self.emit(op, DType::F32, &[x]))
    }

    fn convert(&mut self, x: Value, to: DType) -> Value {
        let out = self.room(to);
        self.lowering.tile_op_with(TileOp::Convert, &[x], TileAttr::Round("RINT"), out);
        out
    }

    fn mask(&mut self, mode: &'static str, a: Value, b: Result<Value, Value>) -> Value {
        let shape = self.shape.clone();
        let mask = self.lowering.mask_room(&shape);
        let (op, other) = match b {
            Ok(tile) => (TileOp::Compare, tile),
            Err(number) => (TileOp::CompareS, number),
        };
        self.lowering.tile_op_with(op, &[a, other], TileAttr::Compare(mode), mask);
        mask
    }

    fn compare(&mut self, mode: &'static str, a: Lanes<f32>, b: Lanes<f32>) -> Value {
        let x = self.float_tile(a);
        let other = match b {
            Lanes::Tile(y) => Ok(y),
            Lanes::Number(n) => Err(self.lowering.number(f64::from(n), DType::F32)),
        };
        self.mask(mode, x, other)
    }

    fn bitcast(&mut self, x: Value, to: DType) -> Value {
        match self.lowering.tile_ty(x) {
            Ok(ty) => {
                let mut cast = TileTy::vector(to, ty.rows, ty.cols, Order::Row);
                let [rows, cols] = self.shape.valid;
                let known = [self.lowering.known(rows), self.lowering.known(cols)];
                let is_static = known.iter().all(Option::is_some);
                cast.valid = if is_static { known } else { [Some(ty.rows), Some(ty.cols)] };
                let whole = self.lowering.alias("bits", x, cast, Alias::Bitcast);
                if is_static {
                    return whole;
                }
                match self.lowering.leading(whole, [rows, cols]) {
                    Ok(window) => window,
                    Err(error) => {
                        self.error.get_or_insert(error);
                        whole
                    }
                }
            }
            Err(error) => {
                self.error.get_or_insert(error);
                x
            }
        }
    }
}

impl MathBuilder for TileMath<'_, '_> {
    type F = Lanes<f32>;
    type I = Lanes<i32>;
    type M = Value;

    const FUSED: bool = false;

    fn f(&mut self, value: f32) -> Lanes<f32> {
        Lanes::Number(value)
    }

    fn add(&mut self, a: Lanes<f32>, b: Lanes<f32>) -> Lanes<f32> {
        match (a, b) {
            (Lanes::Number(x), Lanes::Number(y)) => Lanes::Number(x + y),
            _ => self.float_op(TileOp::Add, TileOp::AddS, a, b, true),
        }
    }

    fn sub(&mut self, a: Lanes<f32>, b: Lanes<f32>) -> Lanes<f32> {
        match (a, b) {
            (Lanes::Number(x), Lanes::Number(y)) => Lanes::Number(x - y),
            _ => self.float_op(TileOp::Sub, TileOp::SubS, a, b, false),
        }
    }

    fn mul(&mut self, a: Lanes<f32>, b: Lanes<f32>) -> Lanes<f32> {
        match (a, b) {
            (Lanes::Number(x), Lanes::Number(y)) => Lanes::Number(x * y),
            _ => self.float_op(TileOp::Mul, TileOp::MulS, a, b, true),
        }
    }

    fn div(&mut self, a: Lanes<f32>, b: Lanes<f32>) -> Lanes<f32> {
        match (a, b) {
            (Lanes::Number(x), Lanes::Number(y)) => Lanes::Number(x / y),
            _ => self.float_op(TileOp::Div, TileOp::DivS, a, b, false),
        }
    }

    fn fma(&mut self, a: Lanes<f32>, b: Lanes<f32>, c: Lanes<f32>) -> Lanes<f32> {
        let product = self.mul(a, b);
        self.add(product, c)
    }

    fn neg(&mut self, a: Lanes<f32>) -> Lanes<f32> {
        match a {
            Lanes::Number(x) => Lanes::Number(-x),
            Lanes::Tile(_) => self.unary(TileOp::Neg, a),
        }
    }

    fn abs(&mut self, a: Lanes<f32>) -> Lanes<f32> {
        self.unary(TileOp::Abs, a)
    }

    fn sqrt(&mut self, a: Lanes<f32>) -> Lanes<f32> {
        self.unary(TileOp::Sqrt, a)
    }

    fn rint(&mut self, a: Lanes<f32>) -> Lanes<f32> {
        let x = self.float_tile(a);
        Lanes::Tile(self.convert(x, DType::F32))
    }

    fn lt(&mut self, a: Lanes<f32>, b: Lanes<f32>) -> Value {
        self.compare("lt", a, b)
    }

    fn eq(&mut self, a: Lanes<f32>, b: Lanes<f32>) -> Value {
        self.compare("eq", a, b)
    }

    fn select(&mut self, condition: Value, a: Lanes<f32>, b: Lanes<f32>) -> Lanes<f32> {
        let (x, y) = (self.float_tile(a), self.float_tile(b));
        let out = self.room(DType::F32);
        if let Err(error) = self.lowering.select_into(condition, x, y, out) {
            self.error.get_or_insert(error);
        }
        Lanes::Tile(out)
    }

    fn rarely(&mut self, _: Value, value: Lanes<f32>, _: impl FnOnce(&mut Self) -> Lanes<f32>) -> Lanes<f32> {
        value
    }

    fn i(&mut self, value: i32) -> Lanes<i32> {
        Lanes::Number(value)
    }

    fn iadd(&mut self, a: Lanes<i32>, b: Lanes<i32>) -> Lanes<i32> {
        self.int_op(TileOp::Add, TileOp::AddS, a, b, true)
    }

    fn isub(&mut self, a: Lanes<i32>, b: Lanes<i32>) -> Lanes<i32> {
        self.int_op(TileOp::Sub, TileOp::SubS, a, b, false)
    }

    fn iand(&mut self, a: Lanes<i32>, b: Lanes<i32>) -> Lanes<i32> {
        self.int_op(TileOp::And, TileOp::AndS, a, b, true)
    }

    fn ior(&mut self, a: Lanes<i32>, b: Lanes<i32>) -> Lanes<i32> {
        self.int_op(TileOp::Or, TileOp::OrS, a, b, true)
    }

    fn ixor(&mut self, a: Lanes<i32>, b: Lanes<i32>) -> Lanes<i32> {
        let (any, both) = (self.ior(a, b), self.iand(a, b));
        self.isub(any, both)
    }

    fn ishl(&mut self, a: Lanes<i32>, amount: i32) -> Lanes<i32> {
        self.shift(TileOp::ShlS, a, amount)
    }

    fn ishr(&mut self, a: Lanes<i32>, amount: i32) -> Lanes<i32> {
        self.shift(TileOp::ShrS, a, amount)
    }

    fn ieq(&mut self, a: Lanes<i32>, b: Lanes<i32>) -> Value {
        let x = self.int_tile(a);
        let other = match b {
            Lanes::Tile(y) => Ok(y),
            Lanes::Number(n) => Err(self.lowering.number(f64::from(n), DType::I32)),
        };
        self.mask("eq", x, other)
    }

    fn to_f(&mut self, a: Lanes<i32>) -> Lanes<f32> {
        let x = self.int_tile(a);
        Lanes::Tile(self.convert(x, DType::F32))
    }

    fn bits(&mut self, a: Lanes<f32>) -> Lanes<i32> {
        match a {
            Lanes::Number(x) => Lanes::Number(x.to_bits() as i32),
            Lanes::Tile(x) => Lanes::Tile(self.bitcast(x, DType::I32)),
        }
    }

    fn float_of(&mut self, a: Lanes<i32>) -> Lanes<f32> {
        match a {
            Lanes::Number(n) => Lanes::Number(f32::from_bits(n as u32)),
            Lanes::Tile(x) => Lanes::Tile(self.bitcast(x, DType::F32)),
        }
    }
}
