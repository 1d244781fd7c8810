//! Scalars: constants, folding, equal operations built once, and index arithmetic.

use super::super::facts::Fact;
use super::super::nodes::{Attr, AttrKey, Attrs, Op, ValueId};
use super::super::types::{Extent, Type};
use super::super::{DType, Loc, Round};
use super::{Builder, scalar_dtype};
use crate::ops::fold::{FoldError, Literal, fold, integer_range};
use crate::ops::rules::{Request, RuleError};
use crate::ops::{Effect, OpKind};

/// How many levels of `min` or `max` are searched for an operand.
const NESTED_EXTREMA: u32 = 4;

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
        self.literals.insert(value, literal);
        if let Literal::Int(n) = literal
            && dtype == DType::I64
        {
            self.facts.insert(value, Fact::constant(n));
        }
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
        if let Some(literal) = self.folded(kind, operands, &attrs)? {
            return Ok(self.place_constant(literal, dtype, loc));
        }
        if let Some(value) = self.identity(kind, operands) {
            return Ok(value);
        }
        let fact = self.derived_fact(kind, operands, dtype);
        if let Some(n) = fact.as_constant() {
            return Ok(self.place_constant(Literal::Int(n), dtype, loc));
        }
        if !self.is_pure(kind, operands, dtype) {
            return Ok(self.place(kind, operands.to_vec(), attrs, dtype, self.depth(), loc));
        }
        let cast = attrs.dtype().map(|d| (d, attrs.round()));
        let value = self.place_pure(Key::Op(kind, operands.to_vec(), cast), kind, operands, attrs, dtype, loc);
        if fact != Fact::ANY {
            self.facts.insert(value, fact);
        }
        Ok(value)
    }

    /// Integer operations go to the outermost block that sees their operands, others stay where they are.
    fn place_pure(
        &mut self,
        key: Key,
        kind: OpKind,
        operands: &[ValueId],
        attrs: Attrs,
        dtype: DType,
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
            self.definitions.insert(value, (kind, operands.to_vec()));
        }
        value
    }

    fn folded(&self, kind: OpKind, operands: &[ValueId], attrs: &Attrs) -> Result<Option<Literal>, RuleError> {
        let ty = operands.last().and_then(|v| scalar_dtype(self.ty(*v)));
        let literals: Option<Vec<Literal>> = operands.iter().map(|v| self.literal(*v)).collect();
        let (Some(dtype), Some(literals)) = (ty, literals) else {
            return Ok(self.compared(kind, operands).map(Literal::Bool));
        };
        let int = |i: usize| match literals.get(i) {
            Some(Literal::Int(n)) => *n,
            _ => 0,
        };
        match fold(kind, dtype, attrs, &literals) {
            None => Ok(None),
            Some(Ok(literal)) => Ok(Some(literal)),
            Some(Err(FoldError::DivisionByZero)) => Err(RuleError::DivisionByZero { op: kind, left: int(0) }),
            Some(Err(FoldError::Overflow)) => Err(RuleError::Overflow { op: kind, left: int(0), right: int(1), dtype }),
        }
    }

    /// A comparison that facts decide.
    fn compared(&self, kind: OpKind, operands: &[ValueId]) -> Option<bool> {
        let [a, b] = *operands else { return None };
        if *self.ty(a) != Type::INDEX || *self.ty(b) != Type::INDEX {
            return None;
        }
        Fact::compare(kind, (a, self.fact(a)), (b, self.fact(b)))
    }

    /// An existing value that the operation equals.
    fn identity(&self, kind: OpKind, operands: &[ValueId]) -> Option<ValueId> {
        if kind == OpKind::Cast {
            return None;
        }
        if let ([mask, a, b], OpKind::Select) = (operands, kind) {
            return match self.literal(*mask) {
                Some(Literal::Bool(mask)) => Some(if mask { *a } else { *b }),
                _ => (a == b).then_some(*a),
            };
        }
        let [a, b] = *operands else { return None };
        if !scalar_dtype(self.ty(a)).is_some_and(DType::is_integer) {
            return None;
        }
        let (left, right) = (self.constant(a), self.constant(b));
        match kind {
            OpKind::Add if left == Some(0) => Some(b),
            OpKind::Mul if left == Some(1) => Some(b),
            OpKind::Add | OpKind::Sub | OpKind::Shl | OpKind::Shr if right == Some(0) => Some(a),
            OpKind::Mul | OpKind::Div if right == Some(1) => Some(a),
            OpKind::Mul if left == Some(0) => Some(a),
            OpKind::Mul if right == Some(0) => Some(b),
            OpKind::Min | OpKind::Max => self.extremum(kind, a, b),
            OpKind::Sub => self.cancelled(a, b),
            OpKind::Rem if *self.ty(a) == Type::INDEX => {
                let (fact, by) = (self.fact(a), right?);
                (fact.lo >= 0 && fact.hi < by).then_some(a)
            }
            _ => None,
        }
    }

    /// `min` or `max` that facts decide, or that the other operand already contains.
    fn extremum(&self, kind: OpKind, a: ValueId, b: ValueId) -> Option<ValueId> {
        if a == b || self.contains(kind, a, b, NESTED_EXTREMA) {
            return Some(a);
        }
        if self.contains(kind, b, a, NESTED_EXTREMA) {
            return Some(b);
        }
        if *self.ty(a) != Type::INDEX {
            return None;
        }
        let (x, y) = (self.fact(a), self.fact(b));
        let (small, large) = if x.hi <= y.lo || x.below == Some(b) {
            (a, b)
        } else if y.hi <= x.lo || y.below == Some(a) {
            (b, a)
        } else {
            return None;
        };
        Some(if kind == OpKind::Min { small } else { large })
    }

    /// Whether `outer` is a chain of the same `min` or `max` with `inner` in it.
    fn contains(&self, kind: OpKind, outer: ValueId, inner: ValueId, levels: u32) -> bool {
        let Some((found, operands)) = self.definitions.get(&outer) else { return false };
        *found == kind
            && (operands.contains(&inner)
                || (levels > 0 && operands.iter().any(|o| self.contains(kind, *o, inner, levels - 1))))
    }

    /// `(x + c) - x` and `(c + x) - x` are `c`. Exact also where the sum wraps.
    fn cancelled(&self, a: ValueId, b: ValueId) -> Option<ValueId> {
        match self.definitions.get(&a) {
            Some((OpKind::Add, operands)) if operands[0] == b => Some(operands[1]),
            Some((OpKind::Add, operands)) if operands[1] == b => Some(operands[0]),
            _ => None,
        }
    }

    fn derived_fact(&self, kind: OpKind, operands: &[ValueId], dtype: DType) -> Fact {
        if dtype != DType::I64 {
            return Fact::ANY;
        }
        match (kind, operands) {
            (OpKind::Cast, [x]) => match scalar_dtype(self.ty(*x)) {
                Some(from) if from.is_integer() && from != DType::I64 => {
                    let (lo, hi) = integer_range(from);
                    Fact::range(lo, hi)
                }
                _ => Fact::ANY,
            },
            (OpKind::Select, [_, a, b]) => self.fact(*a).join(self.fact(*b)),
            (OpKind::Sub, [a, b]) if a == b => Fact::constant(0),
            (_, [a, b]) => Fact::binary(kind, (*a, self.fact(*a)), (*b, self.fact(*b))),
            _ => Fact::ANY,
        }
    }

    /// Whether the operation can neither fail nor do anything but compute.
    fn is_pure(&self, kind: OpKind, operands: &[ValueId], dtype: DType) -> bool {
        match kind.info().effect {
            Effect::Pure => true,
            // An integer division by a known divisor, neither 0 nor -1, cannot fail.
            Effect::Fails if matches!(kind, OpKind::Div | OpKind::Rem) => {
                dtype.is_float() || operands.get(1).and_then(|b| self.constant(*b)).is_some_and(|n| n != 0 && n != -1)
            }
            _ => false,
        }
    }
}
