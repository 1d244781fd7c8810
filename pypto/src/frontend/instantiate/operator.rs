//! Prefix and infix operators: on literals at once, on scalars with Rust's semantics, on tiles and tensors elementwise.

use super::coerce::Operand;
use super::value::Value;
use super::{Flow, Site, Walker};
use crate::diagnostics::codes;
use crate::frontend::generic::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::ir::{Attrs, DType, Loc, Round, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// The operation that an operator stands for.
fn operation(op: BinaryOp) -> OpKind {
    match op {
        BinaryOp::Add => OpKind::Add,
        BinaryOp::Sub => OpKind::Sub,
        BinaryOp::Mul => OpKind::Mul,
        BinaryOp::Div => OpKind::Div,
        BinaryOp::Rem => OpKind::Rem,
        BinaryOp::BitAnd | BinaryOp::And => OpKind::And,
        BinaryOp::BitOr | BinaryOp::Or => OpKind::Or,
        BinaryOp::BitXor => OpKind::Xor,
        BinaryOp::Shl => OpKind::Shl,
        BinaryOp::Shr => OpKind::Shr,
        BinaryOp::Eq => OpKind::CmpEq,
        BinaryOp::Ne => OpKind::CmpNe,
        BinaryOp::Lt => OpKind::CmpLt,
        BinaryOp::Le => OpKind::CmpLe,
        BinaryOp::Gt => OpKind::CmpGt,
        BinaryOp::Ge => OpKind::CmpGe,
    }
}

/// The operator as it is written.
fn spelling(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
    }
}

impl Walker<'_> {
    pub fn unary_operator(&mut self, op: UnaryOp, expr: &'static Expr, loc: Loc) -> Flow<Value> {
        let x = self.operand(expr)?;
        match (op, &x.value) {
            (UnaryOp::Neg, Value::Int(n)) => Ok(Value::Int(n.wrapping_neg())),
            (UnaryOp::Neg, Value::Float(v)) => Ok(Value::Float(-v)),
            (UnaryOp::Neg, _) => self.unary(OpKind::Neg, "-", &x, loc),
            (UnaryOp::Not, _) => self.unary(OpKind::Not, "!", &x, loc),
        }
    }

    /// A unary operation on a scalar, tile or tensor.
    pub fn unary(&mut self, kind: OpKind, spelled: &str, x: &Operand, loc: Loc) -> Flow<Value> {
        let scalar = matches!(x.value, Value::Int(_) | Value::Float(_) | Value::Scalar(_));
        let value = if scalar { self.scalar_of(x, None)? } else { self.tile_of(x)? };
        let site = self.site(spelled, loc, &[(x, value)]);
        let result = self.emit(kind, &[value], Attrs::new(), &site)?;
        Ok(if scalar { Value::Scalar(result) } else { Value::Tile(result) })
    }

    pub fn binary_operator(&mut self, op: BinaryOp, a: &'static Expr, b: &'static Expr, loc: Loc) -> Flow<Value> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            return self.logical(op, a, b, loc);
        }
        let (a, b) = (self.operand(a), self.operand(b));
        self.binary_values(op, &a?, &b?, loc)
    }

    /// `a op b` on evaluated operands; also of compound assignments.
    pub fn binary_values(&mut self, op: BinaryOp, a: &Operand, b: &Operand, loc: Loc) -> Flow<Value> {
        if let (&Value::DType(x), &Value::DType(y), BinaryOp::Eq | BinaryOp::Ne) = (&a.value, &b.value, op) {
            let same = Literal::Bool((x == y) == (op == BinaryOp::Eq));
            return self.literal(same, DType::Bool, loc).map(Value::Scalar);
        }
        if let (Some(x), Some(y)) = (bare_literal(&a.value), bare_literal(&b.value)) {
            return self.literals(op, x, y, loc);
        }
        self.binary(operation(op), spelling(op), a, b, loc)
    }

    /// Unsuffixed literals stay literals, so that the result still takes its type from its context.
    fn literals(&mut self, op: BinaryOp, a: Literal, b: Literal, loc: Loc) -> Flow<Value> {
        let dtype = if let (Literal::Int(_), Literal::Int(_)) = (a, b) { DType::I64 } else { DType::F32 };
        let (a, b) = (self.literal(a, dtype, loc)?, self.literal(b, dtype, loc)?);
        let result = self.builder.binary(operation(op), a, b, loc);
        let result = self.check(result, &Site::new(spelling(op), loc))?;
        Ok(match self.builder.literal(result) {
            Some(Literal::Int(n)) => Value::Int(n),
            Some(Literal::Float(x)) => Value::Float(x),
            _ => Value::Scalar(result),
        })
    }

    /// A binary operation on scalars, tiles and tensors in any combination.
    pub fn binary(&mut self, kind: OpKind, spelled: &str, a: &Operand, b: &Operand, loc: Loc) -> Flow<Value> {
        let (x, y) = self.unified(kind, a, b)?;
        let site = self.site(spelled, loc, &[(a, x), (b, y)]);
        let result = self.emit(kind, &[x, y], Attrs::new(), &site)?;
        Ok(self.scalar_or_tile(result))
    }

    /// The language value of an IR scalar or tile.
    pub fn scalar_or_tile(&self, value: ValueId) -> Value {
        if self.builder.tile_type(value).is_some() { Value::Tile(value) } else { Value::Scalar(value) }
    }

    /// Both operands as IR values of one element type, as far as literals and guesses allow.
    pub fn unified(&mut self, kind: OpKind, a: &Operand, b: &Operand) -> Flow<(ValueId, ValueId)> {
        let dtype = self.dtype_of(&a.value).or(self.dtype_of(&b.value));
        let (x, y) = (self.scalar_or_loaded(a, dtype), self.scalar_or_loaded(b, dtype));
        let (mut x, mut y) = (x?, y?);
        let (p, q) = (self.builder.ty(x).dtype(), self.builder.ty(y).dtype());
        if let (Some(p), Some(q)) = (p, q)
            && p != q
        {
            if matches!(kind, OpKind::Shl | OpKind::Shr) && self.builder.tile_type(y).is_none() {
                // Rust lets the amount have any integer type.
                let amount = self.builder.cast(y, p, Round::None, b.loc);
                y = self.check(amount, &Site::new("as", b.loc))?;
            } else if let Some(other) = self.infer(y, p) {
                y = other;
            } else if let Some(other) = self.infer(x, q) {
                x = other;
            }
        }
        Ok((x, y))
    }

    /// A scalar with literals of type `dtype`, or a tile.
    fn scalar_or_loaded(&mut self, operand: &Operand, dtype: Option<DType>) -> Flow<ValueId> {
        match operand.value {
            Value::Int(_) | Value::Float(_) => self.scalar_of(operand, dtype),
            Value::Scalar(value) => Ok(value),
            _ => self.tile_of(operand),
        }
    }

    /// `&&` and `||`: the right operand is evaluated only where the left one does not decide.
    fn logical(&mut self, op: BinaryOp, a: &'static Expr, b: &'static Expr, loc: Loc) -> Flow<Value> {
        let left = self.operand(a)?;
        let left = self.scalar_of(&left, Some(DType::Bool))?;
        let decided_by = op == BinaryOp::Or;
        match self.builder.literal(left) {
            Some(Literal::Bool(value)) if value == decided_by => return Ok(Value::Scalar(left)),
            Some(Literal::Bool(_)) => return self.expr(b),
            _ => {}
        }
        if is_harmless(b) {
            let right = self.operand(b)?;
            let right = self.scalar_of(&right, Some(DType::Bool))?;
            let result = self.builder.binary(operation(op), left, right, loc);
            return self.check(result, &Site::new(spelling(op), loc)).map(Value::Scalar);
        }
        self.guarded(left, decided_by, b, loc)
    }

    /// `if left { decided } else { b }`, or with the branches exchanged.
    fn guarded(&mut self, left: ValueId, decided_by: bool, b: &'static Expr, loc: Loc) -> Flow<Value> {
        let site = Site::new(if decided_by { "||" } else { "&&" }, loc);
        let known = self.literal(Literal::Bool(decided_by), DType::Bool, loc)?;
        let condition = if decided_by {
            let inverted = self.builder.unary(OpKind::Not, left, loc);
            self.check(inverted, &site)?
        } else {
            left
        };
        let checkpoint = self.checkpoint();
        let opened = self.builder.begin_if(condition, loc);
        self.check(opened, &site)?;
        self.conditional += 1;
        let right = self.operand(b).and_then(|right| self.scalar_of(&right, Some(DType::Bool)));
        self.conditional -= 1;
        let Ok(right) = right else {
            self.rollback(&checkpoint, true);
            return Err(super::Reported);
        };
        let results = self.builder.begin_else(&[right]).and_then(|()| self.builder.end_if(&[known]));
        let results = self.check(results, &site)?;
        Ok(Value::Scalar(results[0]))
    }

    /// `value as dtype`.
    pub fn cast_operator(&mut self, expr: &'static Expr, dtype: DType, loc: Loc) -> Flow<Value> {
        let x = self.operand(expr)?;
        let value = match x.value {
            Value::Int(n) if dtype.is_float() => {
                return self.literal(Literal::Float(n as f64), dtype, loc).map(Value::Scalar);
            }
            Value::Int(_) | Value::Float(_) | Value::Scalar(_) => self.scalar_of(&x, None)?,
            _ => return Err(self.unexpected("a scalar", &x)),
        };
        if self.builder.ty(value).dtype() == Some(dtype) {
            return Ok(Value::Scalar(value));
        }
        let result = self.builder.cast(value, dtype, Round::None, loc);
        self.check(result, &Site::new("as", loc)).map(Value::Scalar)
    }

    /// Compares against an index bound at specialization where facts decide, else at run time.
    ///
    /// `holds` is what must be true; where it is known to be false the caller reports.
    pub fn require(&mut self, holds: ValueId, message: &str, loc: Loc) -> Flow<bool> {
        let template = message.replace('{', "{{").replace('}', "}}");
        self.require_showing(holds, &template, &[], loc)
    }

    /// As [`require`](Self::require), with a message that has a placeholder for each value.
    pub fn require_showing(&mut self, holds: ValueId, template: &str, values: &[ValueId], loc: Loc) -> Flow<bool> {
        match self.builder.literal(holds) {
            Some(Literal::Bool(known)) => Ok(known),
            _ => {
                let outcome = self.builder.assert_showing(holds, template, values, loc);
                self.check(outcome, &Site::new("assert", loc)).map(|()| true)
            }
        }
    }

    /// An operand that must not be here.
    pub fn unsupported(&mut self, loc: Loc, what: &str, alternative: &str) -> super::Reported {
        let diagnostic = crate::diagnostics::Diagnostic::error(codes::UNSUPPORTED, loc, what, "not translated");
        self.report(diagnostic.help(alternative))
    }
}

/// The number of a literal whose type is not known yet.
pub(super) fn bare_literal(value: &Value) -> Option<Literal> {
    match value {
        Value::Int(n) => Some(Literal::Int(*n)),
        Value::Float(x) => Some(Literal::Float(*x)),
        _ => None,
    }
}

/// Whether evaluating an expression needlessly is unobservable: no memory access, no division, no call.
fn is_harmless(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(..)
        | ExprKind::Float(..)
        | ExprKind::Bool(_)
        | ExprKind::Local(_)
        | ExprKind::Constant { .. } => true,
        ExprKind::Unary(_, x) | ExprKind::Cast(x, _) => is_harmless(x),
        ExprKind::Binary(op, a, b) => !matches!(op, BinaryOp::Div | BinaryOp::Rem) && is_harmless(a) && is_harmless(b),
        _ => false,
    }
}
