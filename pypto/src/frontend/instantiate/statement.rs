//! Statements. A statement that is wrong poisons what it defines, and the next one is looked at.

use super::coerce::Operand;
use super::printing::Message;
use super::value::Value;
use super::{Flow, Site, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{BinaryOp, Expr, ExprKind, Ident, Pattern, Statement, StatementKind, ValueType};
use crate::ir::{DType, Loc};
use crate::ops::fold::Literal;

impl Walker<'_> {
    /// Walks one statement.
    pub fn statement(&mut self, statement: &'static Statement) {
        let loc = self.loc(statement.span);
        match &statement.kind {
            StatementKind::Let { pattern, ty, init } => self.let_statement(pattern, *ty, init.as_ref()),
            StatementKind::Assign { target, op, value } => self.assign(*target, *op, value, loc),
            StatementKind::AssignElement { target, index, op, value } => {
                self.assign_element(*target, index, *op, value, loc);
            }
            StatementKind::Expr(expr) => {
                let _ = match &expr.kind {
                    // Without a value there is nothing to merge but the assigned variables.
                    ExprKind::If(condition, then, otherwise) => self.if_expression(condition, then, *otherwise, loc),
                    _ => self.expr(expr),
                };
            }
            StatementKind::For { pattern, iterator, body } => self.for_statement(pattern, iterator, body, loc),
            StatementKind::While { condition, body } => self.while_statement(condition, body, loc),
            StatementKind::Return(value) => {
                let value = match value {
                    Some(expr) => self.expr(expr).unwrap_or(Value::Poison),
                    None => Value::Unit,
                };
                if let Some(frame) = self.frames.last_mut() {
                    frame.returned = Some(value);
                }
            }
            StatementKind::Assert { condition, text, args, known } => {
                if let Ok(message) = self.assertion_message(text, args) {
                    let _ = self.assert_statement(condition, &message, *known, loc);
                }
            }
            StatementKind::StaticPrint { pieces, args } => self.static_print(pieces, args, loc),
            StatementKind::Print { text, args } => {
                let _ = self.print(text, args, loc);
            }
            StatementKind::Checkpoint { value, name } => {
                let _ = self.checkpoint_statement(value, name, loc);
            }
            StatementKind::Task { name, after, call } => {
                let _ = self.task(*name, after, call, loc);
            }
        }
    }

    fn let_statement(&mut self, pattern: &'static Pattern, ty: Option<ValueType>, init: Option<&'static Expr>) {
        let Some(init) = init else {
            self.bind_uninitialized(pattern);
            return;
        };
        let loc = self.loc(init.span);
        let value = self.operand(init).and_then(|operand| self.annotated(operand, ty));
        self.bind(pattern, value.unwrap_or(Value::Poison), loc);
    }

    fn bind_uninitialized(&mut self, pattern: &'static Pattern) {
        match pattern {
            Pattern::Name { name, .. } => {
                let loc = self.loc(name.span);
                self.scope.define(name.name, None, loc);
            }
            Pattern::Ignore(_) => {}
            Pattern::Tuple(parts, _) => parts.iter().for_each(|p| self.bind_uninitialized(p)),
        }
    }

    /// The value with the element type that an annotation states for literals and guesses.
    pub fn annotated(&mut self, operand: Operand, ty: Option<ValueType>) -> Flow<Value> {
        match (ty, &operand.value) {
            (Some(ValueType::Scalar(element)), Value::Int(_) | Value::Float(_) | Value::Scalar(_)) => {
                let dtype = self.frame().dtype(element);
                self.scalar_of(&operand, Some(dtype)).map(Value::Scalar)
            }
            (Some(ValueType::Tile { element, .. }), Value::Tile(tile)) => {
                let dtype = self.frame().dtype(element);
                Ok(Value::Tile(self.infer(*tile, dtype).unwrap_or(*tile)))
            }
            (Some(ValueType::Tensor { element, .. }), Value::Tensor(tensor)) => {
                let dtype = self.frame().dtype(element);
                self.infer(tensor.value, dtype);
                Ok(operand.value)
            }
            (Some(ValueType::Tuple(types)), Value::Tuple(parts)) if types.len() == parts.len() => {
                let part =
                    |(ty, value): (&ValueType, &Value)| (*ty, Operand { value: value.clone(), ..operand.clone() });
                let parts: Vec<_> = types.iter().zip(parts.iter()).map(part).collect();
                let parts: Flow<Vec<Value>> = parts.into_iter().map(|(ty, p)| self.annotated(p, Some(ty))).collect();
                Ok(Value::Tuple(parts?.into()))
            }
            _ => Ok(operand.value),
        }
    }

    /// Defines the variables of a pattern.
    pub fn bind(&mut self, pattern: &'static Pattern, value: Value, loc: Loc) {
        match pattern {
            Pattern::Name { name, .. } => {
                let mut value = value;
                match &mut value {
                    Value::Scalar(v) | Value::Tile(v) => self.builder.set_name(*v, name.name),
                    Value::Tensor(tensor) => {
                        self.builder.set_name(tensor.value, name.name);
                        // A new tensor is called by its first variable.
                        if tensor.root.is_empty() {
                            tensor.root = name.name;
                        }
                    }
                    _ => {}
                }
                self.scope.define(name.name, Some(value), loc);
            }
            Pattern::Ignore(_) => {}
            Pattern::Tuple(patterns, span) => {
                let parts = match &value {
                    Value::Tuple(parts) | Value::Array(parts) if parts.len() == patterns.len() => parts.to_vec(),
                    Value::Poison => vec![Value::Poison; patterns.len()],
                    other => {
                        let title = format!("expected a tuple of {} values, found {}", patterns.len(), other.kind());
                        let loc = self.loc(*span);
                        self.error(codes::OPERAND, loc, title, "");
                        vec![Value::Poison; patterns.len()]
                    }
                };
                patterns.iter().zip(parts).for_each(|(p, v)| self.bind(p, v, loc));
            }
        }
    }

    fn assign(&mut self, target: Ident, op: Option<BinaryOp>, value: &'static Expr, loc: Loc) {
        let place = self.loc(value.span);
        let value = match op {
            None => self.operand(value).and_then(|right| self.like_target(target, right)),
            Some(op) => self.compound(target, op, value, loc),
        };
        let Some(slot) = self.scope.find(target.name) else {
            let loc = self.loc(target.span);
            self.error(codes::UNKNOWN_NAME, loc, format!("`{}` is not known in this kernel", target.name), "");
            return;
        };
        if let Ok(Value::Scalar(v) | Value::Tile(v)) = value {
            self.builder.set_name(v, target.name);
        }
        self.scope.set(slot, Some(value.unwrap_or(Value::Poison)), place);
    }

    /// A literal that is assigned takes the type that the variable has.
    fn like_target(&mut self, target: Ident, right: Operand) -> Flow<Value> {
        let present = self.scope.find(target.name).and_then(|slot| self.scope.get(slot).value.clone());
        match (&right.value, present) {
            (Value::Int(_) | Value::Float(_), Some(Value::Scalar(present))) => {
                let dtype = self.builder.ty(present).dtype();
                self.scalar_of(&right, dtype).map(Value::Scalar)
            }
            _ => Ok(right.value),
        }
    }

    fn compound(&mut self, target: Ident, op: BinaryOp, value: &'static Expr, loc: Loc) -> Flow<Value> {
        let left = self.scope.find(target.name).and_then(|slot| self.scope.get(slot).value.clone());
        let right = self.operand(value)?;
        let left = match left {
            Some(Value::Poison) | None => return Err(super::Reported),
            Some(value) => value,
        };
        let left = Operand { value: left, loc: self.loc(target.span), name: format!("`{}`", target.name) };
        self.binary_values(op, &left, &right, loc)
    }

    fn assert_statement(&mut self, condition: &'static Expr, message: &Message, known: bool, loc: Loc) -> Flow<()> {
        let condition = self.operand(condition)?;
        let holds = self.scalar_of(&condition, Some(DType::Bool))?;
        match self.builder.literal(holds) {
            Some(Literal::Bool(false)) if known || self.conditional == 0 => {
                let label = "false for these arguments";
                let diagnostic = Diagnostic::error(codes::ASSERTION, condition.loc, message.named(), label);
                Err(self.report(diagnostic))
            }
            None if known => Err(self.not_constant(holds, "the condition of `static_assert!`", condition.loc)),
            Some(_) if known => Ok(()),
            // Where it is known to be false, the path may not be taken: the kernel stops where it is.
            _ => {
                let outcome = self.builder.assert_showing(holds, &message.text, &message.values, loc);
                self.check(outcome, &Site::new("assert", loc))
            }
        }
    }
}
