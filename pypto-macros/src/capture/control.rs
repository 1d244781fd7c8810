//! Loops and branches.

use syn::{Expr, ExprForLoop, ExprIf, ExprWhile};

use super::blocks::expr_text;
use super::{Capture, Use};
use crate::code;

impl Capture<'_> {
    pub(super) fn for_loop(&mut self, looped: &ExprForLoop) -> String {
        let iterator = self.expr(&looped.expr);
        self.scope.enter();
        let pattern = self.pattern(&looped.pat);
        let words = self.leavable(looped.label.as_ref(), &looped.body, looped, |capture, body, goes_on| {
            let (body, place) = (body(capture), code::range(looped));
            match goes_on {
                // The iterations after a `break` are empty.
                Some(goes_on) => {
                    format!("for {pattern} {iterator} 1 {place} expr {place} if {goes_on} {body} 0 0 {place}")
                }
                None => format!("for {pattern} {iterator} {body}"),
            }
        });
        self.scope.leave();
        words
    }

    pub(super) fn while_loop(&mut self, looped: &ExprWhile) -> String {
        let condition = self.condition(&looped.cond);
        self.leavable(looped.label.as_ref(), &looped.body, looped, |capture, body, goes_on| {
            let condition = match goes_on {
                Some(goes_on) => format!("{} binary And {goes_on} {condition}", code::range(&looped.cond)),
                None => condition,
            };
            format!("while {condition} {}", body(capture))
        })
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

    pub(super) fn condition(&mut self, condition: &Expr) -> String {
        if let Expr::Let(matched) = condition {
            self.errors.over(
                matched.let_token,
                "`if let` and `while let` are not supported in a kernel body: compare values with `==`",
            );
            return String::new();
        }
        self.expr(condition)
    }
}
