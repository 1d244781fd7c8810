//! Identities of operations on tiles. Each is exact for every input, also for signed zeros, infinities and NaN (whose
//! payloads do not count): `x + 0.0` is not `x` where x is -0.0, but `x - 0.0` and `x + -0.0` are.

use super::Simplify;
use crate::ir::{Function, Op, Round, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

impl Simplify {
    /// A value that the operation equals, up to the type, which the caller compares.
    pub(super) fn tile_identity(&self, op: &Op, function: &Function) -> Option<ValueId> {
        let x = *op.operands.first()?;
        let inner = self.tiles.get(&x).map(|(kind, operands)| (*kind, operands[..].first().copied()));
        match op.kind {
            OpKind::Neg | OpKind::Not | OpKind::Transpose => match inner {
                Some((kind, Some(original))) if kind == op.kind => Some(original),
                _ => None,
            },
            OpKind::Abs | OpKind::Relu => inner.filter(|(kind, _)| *kind == op.kind).map(|_| x),
            kind if is_rounding(kind) => inner.filter(|(kind, _)| is_rounding(*kind)).map(|_| x),
            OpKind::Cast => (op.attrs.round() == Round::None).then_some(x),
            OpKind::SetValid | OpKind::Broadcast | OpKind::Reshape => Some(x),
            OpKind::Fillpad => function.ty(x).as_tile().is_some_and(|t| t.is_full()).then_some(x),
            OpKind::Slice => op.operands[1..].iter().all(|v| self.scalars.constant(*v) == Some(0)).then_some(x),
            OpKind::Select if op.operands[1] == op.operands[2] => Some(op.operands[1]),
            _ => self.binary_identity(op),
        }
    }

    fn binary_identity(&self, op: &Op) -> Option<ValueId> {
        let [a, b] = op.operands[..] else { return None };
        match op.kind {
            OpKind::Min | OpKind::Max | OpKind::And | OpKind::Or if a == b => Some(a),
            OpKind::Add if self.is(b, 0, -0.0) => Some(a),
            OpKind::Add if self.is(a, 0, -0.0) => Some(b),
            OpKind::Sub if self.is(b, 0, 0.0) => Some(a),
            OpKind::Mul | OpKind::Div if self.is(b, 1, 1.0) => Some(a),
            OpKind::Mul if self.is(a, 1, 1.0) => Some(b),
            OpKind::Shl | OpKind::Shr if self.is(b, 0, f64::NAN) => Some(a),
            _ => None,
        }
    }

    /// Whether a value is, in every element, the given integer, or the float of the given bits.
    fn is(&self, value: ValueId, integer: i64, float: f64) -> bool {
        let scalar = match self.tiles.get(&value) {
            Some((OpKind::Full, operands)) => operands[0],
            _ => value,
        };
        match self.scalars.literal(scalar) {
            Some(Literal::Int(n)) => n == integer,
            Some(Literal::Float(x)) => x.to_bits() == float.to_bits(),
            _ => false,
        }
    }
}

/// Operations whose results are integral, and which leave integral values as they are.
fn is_rounding(kind: OpKind) -> bool {
    matches!(kind, OpKind::Floor | OpKind::Ceil | OpKind::Trunc | OpKind::Round | OpKind::RoundTiesEven)
}
