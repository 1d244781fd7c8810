//! Scalars: constants, folding, equal operations built once, and index arithmetic.

use super::super::facts::Fact;
use super::super::nodes::{Attr, AttrKey, Attrs, Op, ValueId};
use super::super::types::{Extent, Type};
use super::super::{DType, Loc, Round};
use super::Builder;
use crate::ir::scalars::Simplified;
use crate::ops::OpKind;
use crate::ops::fold::{FoldError, Literal};
use crate::ops::rules::{Request, RuleError};

/// Identifies a pure scalar operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Constant(DType, (u8, u64)),
    Op(OpKind, Vec<ValueId>, Option<(DType, Round)>),
}

impl Builder {
    /// A constant; integers must be in range of `dtype`.
    ///
    /// # Errors
    /// Where the literal is not one of `dtype`.
    pub fn literal_of(&mut self, literal: Literal, dtype: DType, loc: Loc) -> Result<ValueId, RuleError> {
        let error = RuleError::Attribute { op: OpKind::Constant, key: AttrKey::Value };
        let literal = literal.fit(dtype).ok_or(error)?;
        Ok(self.place_constant(literal, dtype, loc))
    }

    /// An index constant.
    pub fn index(&mut self, n: i64, loc: Loc) -> ValueId {
        self.place_constant(Literal::Int(n), DType::I64, loc)
    }

    /// An extent as an index value.
    pub fn extent_value(&mut self, extent: Extent, loc: Loc) -> ValueId {
        match extent {
            Extent::Const(n) => self.index(n, loc),
            Extent::Value(v) => v,
        }
    }

    /// An index value as an extent; constants become constants.
    pub fn extent(&self, value: ValueId) -> Extent {
        self.constant(value).map_or(Extent::Value(value), Extent::Const)
    }

    /// A binary scalar or elementwise operation.
    pub fn binary(&mut self, kind: OpKind, a: ValueId, b: ValueId, loc: Loc) -> Result<ValueId, RuleError> {
        self.emit(kind, &[a, b], Attrs::new(), &Request::none(), loc)
    }

    /// A unary scalar or elementwise operation, a reduction, or `transpose`.
    pub fn unary(&mut self, kind: OpKind, x: ValueId, loc: Loc) -> Result<ValueId, RuleError> {
        self.emit(kind, &[x], Attrs::new(), &Request::none(), loc)
    }

    /// `a / b` rounded up, for index values that are not negative.
    pub fn ceil_div(&mut self, a: ValueId, b: ValueId, loc: Loc) -> Result<ValueId, RuleError> {
        let one = self.index(1, loc);
        let less = self.binary(OpKind::Sub, b, one, loc)?;
        let sum = self.binary(OpKind::Add, a, less, loc)?;
        self.binary(OpKind::Div, sum, b, loc)
    }

    /// A conversion.
    pub fn cast(&mut self, x: ValueId, to: DType, round: Round, loc: Loc) -> Result<ValueId, RuleError> {
        let mut attrs = Attrs::new().with(AttrKey::DType, Attr::DType(to));
        if round != Round::None {
            attrs.set(AttrKey::Round, Attr::Round(round));
        }
        self.emit(OpKind::Cast, &[x], attrs, &Request::none(), loc)
    }

    fn place_constant(&mut self, literal: Literal, dtype: DType, loc: Loc) -> ValueId {
        let key = Key::Constant(dtype, literal.bits());
        if let Some(value) = self.frames[0].consed.get(&key) {
            return *value;
        }
        let value = self.place(OpKind::Constant, Vec::new(), literal.attrs(dtype), dtype, 0, loc);
        self.frames[0].consed.insert(key, value);
        self.scalars.set_literal(value, literal, dtype);
        value
    }

    fn place(
        &mut self,
        kind: OpKind,
        operands: Vec<ValueId>,
        attrs: Attrs,
        dtype: DType,
        depth: usize,
        loc: Loc,
    ) -> ValueId {
        let value = self.define(Type::Scalar(dtype), None, loc, depth);
        self.push_at(depth, Op { kind, operands, attrs, regions: Vec::new(), results: vec![value], loc });
        value
    }

    /// A scalar operation that passed its type rule.
    pub(super) fn scalar_op(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        attrs: Attrs,
        dtype: DType,
        loc: Loc,
    ) -> Result<ValueId, RuleError> {
        if kind == OpKind::Constant {
            let error = RuleError::Attribute { op: kind, key: AttrKey::Value };
            return self.literal_of(Literal::of(&attrs).ok_or(error)?, dtype, loc);
        }
        let fact = match self.scalars.simplify(&self.function, kind, operands, &attrs, dtype) {
            Simplified::Literal(literal) => return Ok(self.place_constant(literal, dtype, loc)),
            Simplified::Value(value) => return Ok(value),
            Simplified::Error(error) => return Err(self.fold_error(kind, operands, error)),
            Simplified::Operation(fact) => fact,
        };
        if !self.scalars.is_pure(kind, operands, dtype) {
            return Ok(self.place(kind, operands.to_vec(), attrs, dtype, self.depth(), loc));
        }
        let cast = attrs.dtype().map(|d| (d, attrs.round()));
        let key = Key::Op(kind, operands.to_vec(), cast);
        Ok(self.place_pure(key, kind, operands, attrs, dtype, fact, loc))
    }

    fn fold_error(&self, kind: OpKind, operands: &[ValueId], error: FoldError) -> RuleError {
        let int = |i: usize| operands.get(i).and_then(|v| self.constant(*v)).unwrap_or(0);
        let dtype = operands.last().and_then(|v| self.ty(*v).dtype()).unwrap_or(DType::I64);
        match error {
            FoldError::DivisionByZero => RuleError::DivisionByZero { op: kind, left: int(0) },
            FoldError::Overflow => RuleError::Overflow { op: kind, left: int(0), right: int(1), dtype },
        }
    }

    /// Integer operations go to the outermost block that sees their operands, others stay where they are.
    fn place_pure(
        &mut self,
        key: Key,
        kind: OpKind,
        operands: &[ValueId],
        attrs: Attrs,
        dtype: DType,
        fact: Fact,
        loc: Loc,
    ) -> ValueId {
        if let Some(value) = self.frames.iter().rev().find_map(|f| f.consed.get(&key)) {
            return *value;
        }
        let visible = operands.iter().map(|v| self.depths[v.0 as usize]).max().unwrap_or(0);
        let depth = if dtype.is_float() { self.depth() } else { visible };
        let value = self.place(kind, operands.to_vec(), attrs, dtype, depth, loc);
        self.frames[depth].consed.insert(key, value);
        if dtype == DType::I64 {
            self.scalars.define(value, kind, operands, fact);
        }
        value
    }
}
