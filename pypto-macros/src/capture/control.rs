//! Loops and branches.

use syn::{Expr, ExprForLoop, ExprIf, ExprWhile, Label};

use super::blocks::expr_text;
use super::{Capture, Use};
use crate::code;

impl Capture<'_> {
    pub(super) fn for_loop(&mut self, looped: &ExprForLoop) -> String {
        self.no_label(looped.label.as_ref());
        let iterator = self.expr(&looped.expr);
        self.scope.enter();
        let pattern = self.pattern(&looped.pat);
        let body = self.inner_block(&looped.body, Use::Unit);
        self.scope.leave();
        format!("for {pattern} {iterator} {body}")
    }

    pub(super) fn while_loop(&mut self, looped: &ExprWhile) -> String {
        self.no_label(looped.label.as_ref());
        let condition = self.condition(&looped.cond);
        let body = self.inner_block(&looped.body, Use::Unit);
        format!("while {condition} {body}")
    }

    /// `if`, as a statement or as a value.
    pub(super) fn branch(&mut self, branch: &ExprIf, used: Use) -> String {
        let condition = self.condition(&branch.cond);
        let then = self.inner_block(&branch.then_branch, used);
        let otherwise = branch.else_branch.as_ref().map(|(_, expr)| match &**expr {
            Expr::If(nested) => self.branch(nested, used),
            Expr::Block(block) => {
                let inner = self.inner_block(&block.block, used);
                expr_text(format!("block {inner}"), block)
            }
            other => self.expr(other),
        });
        expr_text(format!("if {condition} {then} {}", code::option(otherwise)), branch)
    }

    fn condition(&mut self, condition: &Expr) -> String {
        if let Expr::Let(matched) = condition {
            self.errors.over(
                matched.let_token,
                "`if let` and `while let` are not supported in a kernel body: compare values with `==`",
            );
            return String::new();
        }
        self.expr(condition)
    }

    fn no_label(&mut self, label: Option<&Label>) {
        if let Some(label) = label {
            self.errors
                .over(label, "loop labels are not supported in a kernel body: no `break` or `continue` could use it");
        }
    }
}
