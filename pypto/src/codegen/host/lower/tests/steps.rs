//! The random operations that kernels are made of. What the type rules forbid is left out.

use super::generator::Generator;
use super::kernels::loc;
use crate::ir::{DType, Extent, LoopKind, Round, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;
use crate::ops::rules::Request;

const UNARY: [OpKind; 23] = [
    OpKind::Neg,
    OpKind::Abs,
    OpKind::Recip,
    OpKind::Exp,
    OpKind::Exp2,
    OpKind::Expm1,
    OpKind::Log,
    OpKind::Log2,
    OpKind::Log1p,
    OpKind::Sqrt,
    OpKind::Rsqrt,
    OpKind::Tanh,
    OpKind::Erf,
    OpKind::Sigmoid,
    OpKind::Sin,
    OpKind::Cos,
    OpKind::Relu,
    OpKind::Floor,
    OpKind::Ceil,
    OpKind::Trunc,
    OpKind::Round,
    OpKind::RoundTiesEven,
    OpKind::Not,
];
const BINARY: [OpKind; 18] = [
    OpKind::Add,
    OpKind::Sub,
    OpKind::Mul,
    OpKind::Div,
    OpKind::Rem,
    OpKind::Max,
    OpKind::Min,
    OpKind::And,
    OpKind::Or,
    OpKind::Xor,
    OpKind::Shl,
    OpKind::Shr,
    OpKind::CmpEq,
    OpKind::CmpNe,
    OpKind::CmpLt,
    OpKind::CmpLe,
    OpKind::CmpGt,
    OpKind::CmpGe,
];
const REDUCE: [OpKind; 12] = [
    OpKind::RowSum,
    OpKind::RowMax,
    OpKind::RowMin,
    OpKind::RowProd,
    OpKind::RowArgmax,
    OpKind::RowArgmin,
    OpKind::ColSum,
    OpKind::ColMax,
    OpKind::ColMin,
    OpKind::ColProd,
    OpKind::ColArgmax,
    OpKind::ColArgmin,
];

impl Generator {
    pub(super) fn load(&mut self) {
        let pick = self.dice.below(self.inputs.len());
        let (value, rows, columns) = self.inputs[pick];
        let zero = self.b.index(0, loc());
        let offsets = [if rows == 1 { zero } else { self.at[0] }, if columns == 1 { zero } else { self.at[1] }];
        let dims = [
            Extent::Const(if rows == 1 { 1 } else { self.tile.0 }),
            Extent::Const(if columns == 1 { 1 } else { self.tile.1 }),
        ];
        let tile = self.b.load(value, &offsets, &dims, None, loc());
        self.keep(tile);
    }

    pub(super) fn unary(&mut self) {
        let (Some(x), kind) = (self.any(), self.dice.pick(&UNARY)) else { return };
        let value = self.b.unary(kind, x, loc());
        self.keep(value);
    }

    /// A partner of the same element type: a tile, or a scalar constant.
    pub(super) fn partner(&mut self, x: ValueId) -> Option<ValueId> {
        let dtype = self.dtype(x);
        let same: Vec<ValueId> = self.pool.iter().copied().filter(|&v| self.dtype(v) == dtype).collect();
        if self.dice.below(3) == 0 {
            return self.scalar(dtype);
        }
        let pick = self.dice.below(same.len());
        same.get(pick).copied()
    }

    pub(super) fn scalar(&mut self, dtype: DType) -> Option<ValueId> {
        let small = self.dice.below(9) as i64 - 3;
        let literal = match dtype {
            DType::Bool => Literal::Bool(small > 0),
            _ if dtype.is_float() => Literal::Float(small as f64 * 0.75),
            _ if dtype.is_unsigned_integer() => Literal::Int(small.abs()),
            _ => Literal::Int(small),
        };
        self.b.literal_of(literal, dtype, loc()).ok()
    }

    pub(super) fn binary(&mut self) {
        let Some(x) = self.any() else { return };
        let Some(y) = self.partner(x) else { return };
        let kind = self.dice.pick(&BINARY);
        // Integer division mostly ends in failure; keep it rare. Float remainder is not fast, keep it too.
        if matches!(kind, OpKind::Div | OpKind::Rem) && self.dtype(x).is_integer() && self.dice.below(6) != 0 {
            return;
        }
        let value =
            if self.dice.below(4) == 0 { self.b.binary(kind, y, x, loc()) } else { self.b.binary(kind, x, y, loc()) };
        self.keep(value);
    }

    pub(super) fn reduce(&mut self) {
        let (Some(x), kind) = (self.any(), self.dice.pick(&REDUCE)) else { return };
        let value = self.b.unary(kind, x, loc());
        self.keep(value);
    }

    pub(super) fn cast(&mut self) {
        let (Some(x), to) = (self.any(), self.dice.pick(self.types)) else { return };
        let round = self.dice.pick(&Round::ALL);
        let value = self.b.cast(x, to, round, loc());
        self.keep(value);
    }

    pub(super) fn select(&mut self) {
        let masks: Vec<ValueId> = self.pool.iter().copied().filter(|&v| self.dtype(v) == DType::Bool).collect();
        let (Some(x), pick) = (self.any(), self.dice.below(masks.len())) else { return };
        let (Some(y), Some(&mask)) = (self.partner(x), masks.get(pick)) else { return };
        let value = self.b.select(mask, x, y, loc());
        self.keep(value);
    }

    pub(super) fn create(&mut self) {
        let dims = [Extent::Const(self.tile.0), Extent::Const(self.tile.1)];
        let dtype = self.dice.pick(self.types);
        let Some(value) = self.scalar(dtype) else { return };
        let axis = self.dice.below(2) as i64;
        let tile =
            if dtype.is_integer() { self.b.iota(value, axis, &dims, loc()) } else { self.b.full(value, &dims, loc()) };
        self.keep(tile);
    }

    pub(super) fn fillpad(&mut self) {
        let Some(x) = self.any() else { return };
        let dtype = self.dtype(x);
        let Some(value) = self.scalar(dtype) else { return };
        let tile = self.b.fillpad(x, value, loc());
        self.keep(tile);
    }

    pub(super) fn rearrange(&mut self) {
        let Some(x) = self.any() else { return };
        let Some(dims) = self.b.tile_type(x).and_then(|t| t.constant_dims()) else { return };
        let value = match self.dice.below(5) {
            0 => self.b.unary(OpKind::Transpose, x, loc()),
            1 => {
                let offset = dims[0] / 2;
                let (at, zero) = (self.b.index(offset, loc()), self.b.index(0, loc()));
                self.b.slice(x, &[at, zero], &[Extent::Const(dims[0] - offset), Extent::Const(dims[1])], loc())
            }
            2 => self.b.with_dims(OpKind::Reshape, x, &[Extent::Const(dims[1]), Extent::Const(dims[0])], loc()),
            3 => {
                let Some(y) = self.partner(x) else { return };
                let axis = self.dice.below(2) as i64;
                self.b.concat(x, y, axis, loc())
            }
            _ => {
                let Some(y) = self.partner(x) else { return };
                let zero = self.b.index(0, loc());
                self.b.assemble(x, y, &[zero, zero], loc())
            }
        };
        self.keep(value);
    }

    pub(super) fn product(&mut self) {
        let (Some(x), Some(y)) = (self.any(), self.any()) else { return };
        let (ta, tb) = (self.dice.below(2) == 0, self.dice.below(2) == 0);
        let value = self.b.matmul(OpKind::Matmul, &[x, y], ta, tb, loc());
        if let Ok(product) = value {
            let again = self.b.matmul(OpKind::MatmulAcc, &[product, x, y], ta, tb, loc());
            self.keep(again);
        }
        self.keep(value);
    }

    /// A few float operations in a row, as real kernels have them.
    pub(super) fn math_chain(&mut self) {
        let Some(x) = self.any() else { return };
        let max = self.b.unary(OpKind::RowMax, x, loc());
        let Ok(max) = max else { return };
        let Ok(d) = self.b.binary(OpKind::Sub, x, max, loc()) else { return };
        let Ok(e) = self.b.unary(OpKind::Exp, d, loc()) else { return };
        let Ok(s) = self.b.unary(OpKind::RowSum, e, loc()) else { return };
        let value = self.b.binary(OpKind::Div, e, s, loc());
        self.keep(value);
    }

    /// A loop that carries one or two tiles.
    pub(super) fn repeat(&mut self) {
        let initial: Vec<ValueId> = (0..1 + self.dice.below(2)).filter_map(|_| self.any()).collect();
        if initial.is_empty() {
            return;
        }
        let checkpoint = self.b.checkpoint();
        let (pool, trips) = (self.pool.clone(), self.dice.below(4) as i64);
        let head = self.head(LoopKind::Sequential, trips, 1, initial.clone());
        let Ok((_, carried)) = self.b.begin_for(&head, &[]) else { return };
        self.pool.extend(&carried);
        for _ in 0..1 + self.dice.below(5) {
            self.step(1);
        }
        let yields: Vec<ValueId> = carried.iter().map(|&c| self.like(c).unwrap_or(c)).collect();
        self.pool = pool;
        match self.b.end_for(&yields) {
            Ok(results) => self.pool.extend(results),
            Err(_) => self.b.rollback(&checkpoint),
        }
    }

    /// A loop with a condition on a carried counter.
    pub(super) fn repeat_while(&mut self) {
        let Some(x) = self.any() else { return };
        let checkpoint = self.b.checkpoint();
        let (zero, one) = (self.b.index(0, loc()), self.b.index(1, loc()));
        let (limit, pool) = (self.b.index(self.dice.below(4) as i64, loc()), self.pool.clone());
        let args = self.b.begin_while(&[zero, x], &[], &[], loc());
        let more = self.b.binary(OpKind::CmpLt, args[0], limit, loc()).and_then(|more| self.b.begin_while_body(more));
        let Ok(args) = more else { return self.b.rollback(&checkpoint) };
        self.pool.push(args[1]);
        for _ in 0..1 + self.dice.below(4) {
            self.step(1);
        }
        let next = self.like(args[1]).unwrap_or(args[1]);
        self.pool = pool;
        let results =
            self.b.binary(OpKind::Add, args[0], one, loc()).and_then(|count| self.b.end_while(&[count, next]));
        match results {
            Ok(results) => self.pool.push(results[1]),
            Err(_) => self.b.rollback(&checkpoint),
        }
    }

    /// Rows of an input by computed indices, now and then outside.
    pub(super) fn gather(&mut self) {
        let (pick, dims) = (self.dice.below(self.inputs.len()), [Extent::Const(self.tile.0), Extent::Const(1)]);
        let dtype = if self.dice.below(2) == 0 { DType::I32 } else { DType::I64 };
        let Ok(zero) = self.b.literal_of(Literal::Int(0), dtype, loc()) else { return };
        let modulus = Literal::Int(self.m.clamp(1, 3) + i64::from(self.dice.below(8) == 0));
        let index = self.b.literal_of(modulus, dtype, loc()).and_then(|modulus| {
            let rows = self.b.iota(zero, 0, &dims, loc())?;
            self.b.binary(OpKind::Rem, rows, modulus, loc())
        });
        let tensor = self.inputs[pick].0;
        let value = index.and_then(|index| {
            self.b.emit(OpKind::GatherRows, &[tensor, index], Default::default(), &Request::none(), loc())
        });
        self.keep(value);
    }

    /// A recent value of the same type.
    pub(super) fn like(&mut self, value: ValueId) -> Option<ValueId> {
        let same: Vec<ValueId> = self.pool.iter().copied().filter(|&v| self.b.ty(v) == self.b.ty(value)).collect();
        let skip = self.dice.below(2.min(same.len()));
        same.iter().rev().nth(skip).copied()
    }

    pub(super) fn branch(&mut self) {
        let checkpoint = self.b.checkpoint();
        let limit = self.b.index(self.tile.0, loc());
        let Ok(condition) = self.b.binary(OpKind::CmpLt, self.at[0], limit, loc()) else { return };
        let (Some(x), pool) = (self.any(), self.pool.clone()) else { return };
        if self.b.begin_if(condition, loc()).is_err() {
            return;
        }
        let mut sides = Vec::new();
        for side in 0..2 {
            for _ in 0..1 + self.dice.below(4) {
                self.step(1);
            }
            sides.push(self.like(x).unwrap_or(x));
            self.pool.clone_from(&pool);
            if side == 0 && self.b.begin_else(&[sides[0]]).is_err() {
                return self.b.rollback(&checkpoint);
            }
        }
        match self.b.end_if(&[sides[1]]) {
            Ok(results) => self.pool.extend(results),
            Err(_) => self.b.rollback(&checkpoint),
        }
    }
}
