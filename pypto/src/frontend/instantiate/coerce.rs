//! From language values to IR values: literals take the type of their context, tensors become tiles by loading them.

use super::rule_message::{OperandPlace, Site};
use super::value::Value;
use super::{Flow, Reported, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{Expr, ExprKind};
use crate::ir::{DType, Extent, Loc, ValueId};
use crate::ops::fold::Literal;

/// An evaluated expression with its place.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub value: Value,
    pub loc: Loc,
    /// `` `acc` ``, or `this value` for longer expressions.
    pub name: String,
}

impl Walker<'_> {
    /// Evaluates an expression and keeps where it stands.
    pub fn operand(&mut self, expr: &'static Expr) -> Flow<Operand> {
        let value = self.expr(expr)?;
        Ok(Operand { value, loc: self.loc(expr.span), name: name_of(expr) })
    }

    /// Evaluates all, so that each one's errors are reported.
    pub fn operands(&mut self, exprs: &'static [Expr]) -> Flow<Vec<Operand>> {
        let all: Vec<Flow<Operand>> = exprs.iter().map(|e| self.operand(e)).collect();
        all.into_iter().collect()
    }

    /// The places of an operation and its operands, for errors.
    pub fn site(&self, spelled: &str, loc: Loc, operands: &[(&Operand, ValueId)]) -> Site {
        let place = |(operand, value): &(&Operand, ValueId)| OperandPlace {
            loc: operand.loc,
            origin: self.origin(*value),
            name: operand.name.clone(),
        };
        Site { spelled: spelled.to_owned(), loc, operands: operands.iter().map(place).collect() }
    }

    /// A literal as a scalar constant.
    pub fn literal(&mut self, literal: Literal, dtype: DType, loc: Loc) -> Flow<ValueId> {
        let literal = match literal {
            Literal::Int(n) if dtype.is_float() => Literal::Float(n as f64),
            other => other,
        };
        match self.builder.literal_of(literal, dtype, loc) {
            Ok(value) => Ok(value),
            Err(_) => {
                let text = match literal {
                    Literal::Int(n) => n.to_string(),
                    Literal::Float(x) => x.to_string(),
                    Literal::Bool(b) => b.to_string(),
                };
                Err(self.error(codes::DTYPE_MISMATCH, loc, format!("`{text}` is not a value of `{dtype}`"), ""))
            }
        }
    }

    /// The element type of a value that has one: not of unsuffixed literals.
    pub fn dtype_of(&self, value: &Value) -> Option<DType> {
        match value {
            Value::Scalar(v) | Value::Tile(v) => self.builder.ty(*v).dtype(),
            Value::Tensor(t) => self.builder.ty(t.value).dtype(),
            _ => None,
        }
    }

    /// A scalar; `dtype` is what the context wants, if it wants anything.
    pub fn scalar_of(&mut self, operand: &Operand, dtype: Option<DType>) -> Flow<ValueId> {
        match operand.value {
            Value::Int(n) => self.literal(Literal::Int(n), dtype.unwrap_or(DType::I64), operand.loc),
            Value::Float(x) => self.literal(Literal::Float(x), dtype.unwrap_or(DType::F32), operand.loc),
            Value::Scalar(value) => self.typed(value, dtype, operand),
            _ => Err(self.unexpected("a scalar", operand)),
        }
    }

    /// The value if it has the wanted element type, or can have it because its type was a guess.
    fn typed(&mut self, value: ValueId, dtype: Option<DType>, operand: &Operand) -> Flow<ValueId> {
        let found = self.builder.ty(value).dtype();
        match dtype {
            Some(wanted) if found != Some(wanted) => {
                if let Some(value) = self.infer(value, wanted) {
                    return Ok(value);
                }
                let found = found.map_or("no number", DType::name);
                let title = format!("expected `{wanted}`, found `{found}`");
                let diagnostic =
                    Diagnostic::error(codes::DTYPE_MISMATCH, operand.loc, title, "there is no implicit conversion")
                        .help(format!("convert it: `as {wanted}`"));
                Err(self.report(diagnostic))
            }
            _ => Ok(value),
        }
    }

    /// An index or extent.
    pub fn index_of(&mut self, operand: &Operand) -> Flow<ValueId> {
        self.scalar_of(operand, Some(DType::I64))
    }

    /// A tile: a tensor is loaded as a whole.
    pub fn tile_of(&mut self, operand: &Operand) -> Flow<ValueId> {
        match operand.value {
            Value::Tile(value) => Ok(value),
            Value::Tensor(tensor) => {
                let site = Site::new("load_all", operand.loc);
                let outcome = self.builder.load_all(tensor.value, operand.loc);
                let tile = self.check(outcome, &site)?;
                let origin = self.origin(tensor.value);
                self.shapes.insert(tile, origin);
                self.propagate(tile, &[tensor.value]);
                Ok(tile)
            }
            _ => Err(self.unexpected("a tile", operand)),
        }
    }

    /// A tile of the wanted element type, or a guess made to be one.
    pub fn tile_typed(&mut self, operand: &Operand, dtype: DType) -> Flow<ValueId> {
        let tile = self.tile_of(operand)?;
        Ok(self.infer(tile, dtype).unwrap_or(tile))
    }

    /// Reports that an operand is of another kind than expected; silent for poison.
    pub fn unexpected(&mut self, expected: &str, operand: &Operand) -> Reported {
        if let Value::Poison = operand.value {
            return Reported;
        }
        let title = format!("expected {expected}, found {}", operand.value.kind());
        self.error(codes::OPERAND, operand.loc, title, "")
    }

    /// An extent as an index value of the language.
    pub fn extent_scalar(&mut self, extent: Extent, loc: Loc) -> Value {
        Value::Scalar(self.builder.extent_value(extent, loc))
    }

    /// An integer that must be known now; `what` names it in the error.
    pub fn constant_of(&mut self, operand: &Operand, what: &str) -> Flow<i64> {
        if let Value::Int(n) = operand.value {
            return Ok(n);
        }
        let value = self.index_of(operand)?;
        match self.builder.constant(value) {
            Some(n) => Ok(n),
            None => Err(self.not_constant(value, what, operand.loc)),
        }
    }

    /// Reports that something must be known at specialization, and why it is not.
    pub fn not_constant(&mut self, value: ValueId, what: &str, loc: Loc) -> Reported {
        let cause = self.dynamic_cause(value);
        let title = match &cause {
            Some((name, _)) => format!("{what} depends on dynamic dimension `{name}`"),
            None => format!("{what} must be known at specialization"),
        };
        let mut diagnostic = Diagnostic::error(codes::DYNAMIC_EXTENT, loc, title, "known at run time only");
        diagnostic = match cause {
            Some((name, place)) => diagnostic.label(place, format!("`{name}` is declared dynamic here")).help(format!(
                "use a fixed tile extent and iterate: `tiles([{name}, ..], [64, ..])` carries the rest as the valid extent"
            )),
            None => diagnostic.help(match what {
                "a tile extent" => {
                    "a scalar parameter becomes known with `#[spec]`; a tile of fixed extents holds fewer elements with `set_valid([n, ..])`"
                }
                _ => "a scalar parameter becomes known with `#[spec]`",
            }),
        };
        self.report(diagnostic)
    }

    /// The dynamic extent that a value is, or is computed from.
    fn dynamic_cause(&self, value: ValueId) -> Option<(&'static str, Loc)> {
        if let Some(cause) = self.dynamic.get(&value) {
            return Some(*cause);
        }
        let (_, operands) = self.builder.definition(value)?;
        operands.iter().find_map(|v| self.dynamic_cause(*v))
    }
}

/// How messages call an expression.
pub(super) fn name_of(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Local(name) => format!("`{name}`"),
        ExprKind::Field(base, field) if matches!(base.kind, ExprKind::Local(_) | ExprKind::Field(..)) => {
            format!("`{}.{}`", name_of(base).trim_matches('`'), field.name)
        }
        ExprKind::Borrow { value, .. } => name_of(value),
        _ => "this value".to_owned(),
    }
}
