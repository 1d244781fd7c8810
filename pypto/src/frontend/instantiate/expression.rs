//! Expressions: one arm for each construct.

use std::rc::Rc;

use super::coerce::Operand;
use super::value::{Item, Iteration, Span, Value};
use super::{Flow, Reported, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{Block, ConstantValue, Expr, ExprKind, Ident};
use crate::frontend::suggest;
use crate::ir::{DType, Loc, LoopKind};
use crate::ops::fold::Literal;

impl Walker<'_> {
    /// Evaluates an expression.
    pub fn expr(&mut self, expr: &'static Expr) -> Flow<Value> {
        let loc = self.loc(expr.span);
        match &expr.kind {
            ExprKind::Int(n, None) => Ok(Value::Int(*n)),
            ExprKind::Int(n, Some(dtype)) => self.literal(Literal::Int(*n), *dtype, loc).map(Value::Scalar),
            ExprKind::Float(x, None) => Ok(Value::Float(*x)),
            ExprKind::Float(x, Some(dtype)) => self.literal(Literal::Float(*x), *dtype, loc).map(Value::Scalar),
            ExprKind::Bool(b) => self.literal(Literal::Bool(*b), DType::Bool, loc).map(Value::Scalar),
            ExprKind::Str(_) => Err(self.unsupported(loc, "text is not a value in a kernel", "use it in `assert!`")),
            ExprKind::Local(name) => self.local(name, loc),
            ExprKind::Constant { value, .. } => self.constant(value(), loc),
            ExprKind::Comptime { value, args } => self.comptime(*value, args, loc),
            ExprKind::Unary(op, x) => self.unary_operator(*op, x, loc),
            ExprKind::Binary(op, a, b) => self.binary_operator(*op, a, b, loc),
            ExprKind::If(condition, then, otherwise) => self.if_expression(condition, then, *otherwise, loc),
            ExprKind::Block(block) => self.block(block),
            ExprKind::Call { name, callee, type_args, args } => {
                self.call_expression(*name, *callee, type_args, args, loc)
            }
            ExprKind::Associated { ty, name, type_args, args } => self.associated(ty, *name, type_args, args, loc),
            ExprKind::Method { receiver, name, type_args, args } => self.method(receiver, *name, type_args, args, loc),
            ExprKind::Tuple(parts) => Ok(Value::Tuple(self.all(parts)?)),
            ExprKind::Array(parts) => Ok(Value::Array(self.all(parts)?)),
            ExprKind::Repeat(value, length) => self.repeat_expression(value, length),
            ExprKind::Index(base, index) => self.index_expression(base, index),
            ExprKind::TupleField(base, index) => self.tuple_field(base, *index, loc),
            ExprKind::Field(base, name) => self.field(base, *name),
            ExprKind::Cast(x, element) => {
                let dtype = self.frame().dtype(*element);
                self.cast_operator(x, dtype, loc)
            }
            // Borrows matter to rustc alone: a tensor is a handle here.
            ExprKind::Borrow { value, .. } => self.expr(value),
            ExprKind::Range(lower, upper) => self.range(lower, upper, loc),
        }
    }

    fn all(&mut self, parts: &'static [Expr]) -> Flow<Rc<[Value]>> {
        let values: Vec<Flow<Value>> = parts.iter().map(|p| self.expr(p)).collect();
        values.into_iter().collect()
    }

    fn local(&mut self, name: &'static str, loc: Loc) -> Flow<Value> {
        let Some(slot) = self.scope.find(name) else {
            let mut diagnostic =
                Diagnostic::error(codes::UNKNOWN_NAME, loc, format!("`{name}` is not known in this kernel"), "");
            if let Some(similar) = suggest::closest(name, self.scope.names()) {
                diagnostic = diagnostic.help(format!("did you mean `{similar}`?"));
            }
            return Err(self.report(diagnostic));
        };
        match &self.scope.get(slot).value {
            Some(Value::Poison) => Err(Reported),
            Some(value) => Ok(value.clone()),
            None => {
                let title = format!("`{name}` is used before it has a value");
                Err(self.error(codes::UNKNOWN_NAME, loc, title, "not initialized"))
            }
        }
    }

    /// Runs Rust code on values that are known now.
    fn comptime(&mut self, value: fn(&[i64]) -> ConstantValue, args: &'static [Ident], loc: Loc) -> Flow<Value> {
        let mut known = Vec::with_capacity(args.len());
        for arg in args {
            let place = self.loc(arg.span);
            let value = self.local(arg.name, place)?;
            let operand = Operand { value, loc: place, name: format!("`{}`", arg.name) };
            known.push(self.constant_of(&operand, &format!("`{}` in `comptime!`", arg.name)));
        }
        let known: Vec<i64> = known.into_iter().collect::<Flow<_>>()?;
        self.constant(value(&known), loc)
    }

    fn constant(&mut self, value: ConstantValue, loc: Loc) -> Flow<Value> {
        let (literal, dtype) = match value {
            ConstantValue::Int(n, dtype) => (Literal::Int(n), dtype),
            ConstantValue::Float(x, dtype) => (Literal::Float(x), dtype),
            ConstantValue::Bool(b) => (Literal::Bool(b), DType::Bool),
            ConstantValue::Round(round) => return Ok(Value::Round(round)),
            ConstantValue::DType(dtype) => return Ok(Value::DType(dtype)),
            ConstantValue::Array(parts) => return Ok(Value::Array(self.constants(parts, loc)?)),
            ConstantValue::Tuple(parts) => return Ok(Value::Tuple(self.constants(parts, loc)?)),
        };
        self.literal(literal, dtype, loc).map(Value::Scalar)
    }

    fn constants(&mut self, parts: Vec<ConstantValue>, loc: Loc) -> Flow<Rc<[Value]>> {
        parts.into_iter().map(|part| self.constant(part, loc)).collect()
    }

    /// The statements of a block and its value. Errors do not keep later statements from being looked at.
    pub fn block(&mut self, block: &'static Block) -> Flow<Value> {
        let mark = self.scope.mark();
        for statement in block.statements {
            self.statement(statement);
        }
        let value = match block.result {
            Some(result) => self.expr(result),
            None => Ok(Value::Unit),
        };
        self.scope.close(mark);
        value
    }

    fn tuple_field(&mut self, base: &'static Expr, index: usize, loc: Loc) -> Flow<Value> {
        let base = self.operand(base)?;
        match &base.value {
            Value::Tuple(parts) if index < parts.len() => Ok(parts[index].clone()),
            Value::Tuple(_) => Err(self.error(codes::UNKNOWN_NAME, loc, format!("the tuple has no field {index}"), "")),
            _ => Err(self.unexpected("a tuple", &base)),
        }
    }

    /// `lower..upper`, in order, by steps of 1.
    fn range(&mut self, lower: &'static Expr, upper: &'static Expr, loc: Loc) -> Flow<Value> {
        let (lower, upper) = (self.operand(lower), self.operand(upper));
        let (lower, upper) = (lower?, upper?);
        let dtype = self.dtype_of(&lower.value).or(self.dtype_of(&upper.value)).unwrap_or(DType::I64);
        let (lower, upper) = (self.bound(&lower, dtype)?, self.bound(&upper, dtype)?);
        let step = self.builder.index(1, loc);
        let dims = vec![Span { lower, upper, step }];
        let item = Item::Index { dtype };
        Ok(Value::Iterator(Rc::new(Iteration { kind: LoopKind::Sequential, dims, item, loc })))
    }
}
