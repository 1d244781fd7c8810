//! Which variables of the surrounding blocks a piece of code assigns: those a loop carries and a branch merges.

use crate::frontend::children::Child;
use crate::frontend::generic::{Block, Expr, Pattern, Statement, StatementKind};

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
                self.assign(target.name);
            }
            StatementKind::AssignElement { target, index, value, .. } => {
                self.expr(index);
                self.expr(value);
                self.assign(target.name);
            }
            StatementKind::For { pattern, iterator, body } => {
                self.expr(iterator);
                let mark = self.local.len();
                self.bind(pattern);
                self.block(body);
                self.local.truncate(mark);
            }
            _ => statement.children(&mut |child| self.child(child)),
        }
    }

    fn assign(&mut self, name: &'static str) {
        if !self.local.contains(&name) && !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// Expressions assign through the blocks that they hold.
    fn expr(&mut self, expr: &Expr) {
        expr.children(&mut |child| self.child(child));
    }

    fn child(&mut self, child: Child<'_>) {
        match child {
            Child::Expr(expr) => self.expr(expr),
            Child::Block(block) => self.block(block),
        }
    }
}
