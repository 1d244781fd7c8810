//! What is known of scalars, and what follows of an operation on them: constants, equal existing values, facts.
//! The builder asks while it builds, `simplify` asks again after other passes.

use std::collections::HashMap;

use super::facts::Fact;
use super::nodes::{Attrs, ValueId};
use super::{DType, Function, Type};
use crate::ops::fold::{FoldError, Literal, fold, integer_range};
use crate::ops::{Effect, OpKind};

/// How many levels of `min` or `max` are searched for an operand.
const NESTED_EXTREMA: u32 = 4;

/// What is known of the scalars of a function.
#[derive(Clone, Debug, Default)]
pub struct Scalars {
    literals: HashMap<ValueId, Literal>,
    facts: HashMap<ValueId, Fact>,
    /// How index scalars were computed, for identities over two operations.
    definitions: HashMap<ValueId, (OpKind, Vec<ValueId>)>,
}

/// What an operation on scalars amounts to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Simplified {
    Literal(Literal),
    /// An operand, or an operand's operand.
    Value(ValueId),
    /// Nothing simpler; the fact holds of the result.
    Operation(Fact),
    /// Constants that have no result.
    Error(FoldError),
}

impl Scalars {
    /// Records that a value is a constant.
    pub fn set_literal(&mut self, value: ValueId, literal: Literal, dtype: DType) {
        self.literals.insert(value, literal);
        if let (Literal::Int(n), DType::I64) = (literal, dtype) {
            self.facts.insert(value, Fact::constant(n));
        }
    }

    /// Records what is known of an index value.
    pub fn assume(&mut self, value: ValueId, fact: Fact) {
        self.facts.insert(value, fact);
    }

    /// Records how a pure index value was computed.
    pub fn define(&mut self, value: ValueId, kind: OpKind, operands: &[ValueId], fact: Fact) {
        self.definitions.insert(value, (kind, operands.to_vec()));
        if fact != Fact::ANY {
            self.facts.insert(value, fact);
        }
    }

    /// Forgets every value for which `kept` is false.
    pub fn retain(&mut self, kept: impl Fn(&ValueId) -> bool) {
        self.literals.retain(|v, _| kept(v));
        self.facts.retain(|v, _| kept(v));
        self.definitions.retain(|v, _| kept(v));
    }

    /// The value of a known constant.
    pub fn literal(&self, value: ValueId) -> Option<Literal> {
        self.literals.get(&value).copied()
    }

    /// The value of a known integer constant.
    pub fn constant(&self, value: ValueId) -> Option<i64> {
        match self.literals.get(&value) {
            Some(Literal::Int(n)) => Some(*n),
            _ => None,
        }
    }

    /// How a pure index value was computed, where it was recorded.
    pub fn definition(&self, value: ValueId) -> Option<(OpKind, &[ValueId])> {
        self.definitions.get(&value).map(|(kind, operands)| (*kind, operands.as_slice()))
    }

    /// What is known of an index value.
    pub fn fact(&self, value: ValueId) -> Fact {
        self.facts.get(&value).copied().unwrap_or(Fact::ANY)
    }

    /// What an elementwise operation on scalars of `function` amounts to. `dtype` is that of the result.
    pub fn simplify(
        &self,
        function: &Function,
        kind: OpKind,
        operands: &[ValueId],
        attrs: &Attrs,
        dtype: DType,
    ) -> Simplified {
        let view = View { scalars: self, function };
        match view.folded(kind, operands, attrs) {
            Some(Ok(literal)) => return Simplified::Literal(literal),
            Some(Err(error)) => return Simplified::Error(error),
            None => {}
        }
        if let Some(value) = view.identity(kind, operands) {
            return Simplified::Value(value);
        }
        let fact = view.derived_fact(kind, operands, dtype);
        fact.as_constant().map_or(Simplified::Operation(fact), |n| Simplified::Literal(Literal::Int(n)))
    }

    /// Whether an operation on scalars can neither fail nor do anything but compute.
    pub fn is_pure(&self, kind: OpKind, operands: &[ValueId], dtype: DType) -> bool {
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

/// The element type of a scalar type.
fn scalar_dtype(ty: &Type) -> Option<DType> {
    match ty {
        Type::Scalar(d) => Some(*d),
        _ => None,
    }
}

/// Knowledge together with the function whose types it needs.
struct View<'a> {
    scalars: &'a Scalars,
    function: &'a Function,
}

impl View<'_> {
    fn ty(&self, value: ValueId) -> &Type {
        self.function.ty(value)
    }

    fn constant(&self, value: ValueId) -> Option<i64> {
        self.scalars.constant(value)
    }

    fn fact(&self, value: ValueId) -> Fact {
        self.scalars.fact(value)
    }

    fn folded(&self, kind: OpKind, operands: &[ValueId], attrs: &Attrs) -> Option<Result<Literal, FoldError>> {
        let ty = operands.last().and_then(|v| scalar_dtype(self.ty(*v)));
        let literals: Option<Vec<Literal>> = operands.iter().map(|v| self.scalars.literal(*v)).collect();
        match (ty, literals) {
            (Some(dtype), Some(literals)) => fold(kind, dtype, attrs, &literals),
            _ => self.compared(kind, operands).map(|b| Ok(Literal::Bool(b))),
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
            return match self.scalars.literal(*mask) {
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
        let Some((found, operands)) = self.scalars.definitions.get(&outer) else { return false };
        *found == kind
            && (operands.contains(&inner)
                || (levels > 0 && operands.iter().any(|o| self.contains(kind, *o, inner, levels - 1))))
    }

    /// `(x + c) - x` and `(c + x) - x` are `c`. Exact also where the sum wraps.
    fn cancelled(&self, a: ValueId, b: ValueId) -> Option<ValueId> {
        match self.scalars.definitions.get(&a) {
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
}
