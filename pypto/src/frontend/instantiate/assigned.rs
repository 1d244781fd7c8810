//! Which variables of the surrounding blocks a piece of code assigns: those a loop carries and a branch merges.

use crate::frontend::generic::{Block, Expr, ExprKind, Pattern, Statement, StatementKind};

/// Names of assigned variables that are not defined within, in order of their first assignment.
#[derive(Default)]
pub(super) struct Assigned {
    names: Vec<&'static str>,
    /// Variables defined within, innermost last.
    local: Vec<&'static str>,
}

impl Assigned {
    /// Of a loop body, whose pattern is local to it.
    pub fn in_loop(pattern: Option<&Pattern>, body: &Block) -> Vec<&'static str> {
        let mut scan = Assigned::default();
        if let Some(pattern) = pattern {
            scan.bind(pattern);
        }
        scan.block(body);
        scan.names
    }

    /// Of the branches of an `if`.
    pub fn in_branches(then: &Block, otherwise: Option<&Expr>) -> Vec<&'static str> {
        let mut scan = Assigned::default();
        scan.block(then);
        if let Some(expr) = otherwise {
            scan.expr(expr);
        }
        scan.names
    }

    /// Of one expression.
    pub fn in_expression(expr: &Expr) -> Vec<&'static str> {
        let mut scan = Assigned::default();
        scan.expr(expr);
        scan.names
    }

    fn bind(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Name { name, .. } => self.local.push(name.name),
            Pattern::Ignore(_) => {}
            Pattern::Tuple(parts, _) => parts.iter().for_each(|p| self.bind(p)),
        }
    }

    fn block(&mut self, block: &Block) {
        let mark = self.local.len();
        for statement in block.statements {
            self.statement(statement);
        }
        if let Some(result) = block.result {
            self.expr(result);
        }
        self.local.truncate(mark);
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Let { pattern, init, .. } => {
                if let Some(init) = init {
                    self.expr(init);
                }
                self.bind(pattern);
            }
            StatementKind::Assign { target, value, .. } => {
                self.expr(value);
                if !self.local.contains(&target.name) && !self.names.contains(&target.name) {
                    self.names.push(target.name);
                }
            }
            StatementKind::Expr(expr) => self.expr(expr),
            StatementKind::For { pattern, iterator, body } => {
                self.expr(iterator);
                let mark = self.local.len();
                self.bind(pattern);
                self.block(body);
                self.local.truncate(mark);
            }
            StatementKind::While { condition, body } => {
                self.expr(condition);
                self.block(body);
            }
            StatementKind::Return(value) => value.iter().for_each(|v| self.expr(v)),
            StatementKind::Assert { condition, .. } => self.expr(condition),
            StatementKind::Task { call, .. } => self.expr(call),
        }
    }

    /// Expressions assign through the blocks that they hold.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int(..)
            | ExprKind::Float(..)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Local(_)
            | ExprKind::Constant { .. } => {}
            ExprKind::Unary(_, x)
            | ExprKind::TupleField(x, _)
            | ExprKind::Field(x, _)
            | ExprKind::Cast(x, _)
            | ExprKind::Borrow { value: x, .. } => self.expr(x),
            ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) | ExprKind::Range(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::If(condition, then, otherwise) => {
                self.expr(condition);
                self.block(then);
                otherwise.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Call { args, .. } | ExprKind::Associated { args, .. } => args.iter().for_each(|a| self.expr(a)),
            ExprKind::Method { receiver, args, .. } => {
                self.expr(receiver);
                args.iter().for_each(|a| self.expr(a));
            }
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter().for_each(|p| self.expr(p)),
        }
    }
}
