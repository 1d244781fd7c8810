//! The parts of statements and expressions, for walks over the generic IR that look at all of it.

use super::generic::{Block, Expr, ExprKind, Statement, StatementKind};

/// A part of a statement or expression.
pub enum Child<'a> {
    Expr(&'a Expr),
    Block(&'a Block),
}

impl Statement {
    /// Calls `each` with the parts, in the order in which they are written.
    pub fn children<'a>(&'a self, each: &mut dyn FnMut(Child<'a>)) {
        match &self.kind {
            StatementKind::Let { init: value, .. } | StatementKind::Return(value) => {
                value.iter().for_each(|e| each(Child::Expr(e)));
            }
            StatementKind::Assign { value: e, .. }
            | StatementKind::Expr(e)
            | StatementKind::Checkpoint { value: e, .. }
            | StatementKind::Task { call: e, .. } => each(Child::Expr(e)),
            StatementKind::StaticPrint { args, .. } | StatementKind::Print { args, .. } => {
                args.iter().for_each(|e| each(Child::Expr(e)))
            }
            StatementKind::Assert { condition, args, .. } => {
                each(Child::Expr(condition));
                args.iter().for_each(|e| each(Child::Expr(e)));
            }
            StatementKind::AssignElement { index, value, .. } => {
                each(Child::Expr(index));
                each(Child::Expr(value));
            }
            StatementKind::For { iterator: head, body, .. } | StatementKind::While { condition: head, body } => {
                each(Child::Expr(head));
                each(Child::Block(body));
            }
        }
    }
}

impl Expr {
    /// Calls `each` with the parts, in the order in which they are written.
    pub fn children<'a>(&'a self, each: &mut dyn FnMut(Child<'a>)) {
        match &self.kind {
            ExprKind::Int(..)
            | ExprKind::Float(..)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Local(_)
            | ExprKind::Constant { .. }
            | ExprKind::Comptime { .. } => {}
            ExprKind::Unary(_, x)
            | ExprKind::TupleField(x, _)
            | ExprKind::Field(x, _)
            | ExprKind::Cast(x, _)
            | ExprKind::Borrow { value: x, .. } => each(Child::Expr(x)),
            ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) | ExprKind::Repeat(a, b) | ExprKind::Range(a, b) => {
                each(Child::Expr(a));
                each(Child::Expr(b));
            }
            ExprKind::If(condition, then, otherwise) => {
                each(Child::Expr(condition));
                each(Child::Block(then));
                otherwise.iter().for_each(|e| each(Child::Expr(e)));
            }
            ExprKind::Block(block) => each(Child::Block(block)),
            ExprKind::Method { receiver, args, .. } => {
                each(Child::Expr(receiver));
                args.iter().for_each(|e| each(Child::Expr(e)));
            }
            ExprKind::Call { args: parts, .. }
            | ExprKind::Associated { args: parts, .. }
            | ExprKind::Tuple(parts)
            | ExprKind::Array(parts) => parts.iter().for_each(|e| each(Child::Expr(e))),
        }
    }
}
