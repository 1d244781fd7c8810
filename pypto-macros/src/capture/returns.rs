//! `return` before the end of a function.
//!
//! Where a branch of an `if` ends in `return`, what follows the `if` is what its other branch goes on with: both ways stay in sight
//! of the analyses of outputs, and a value needs no variable. Any other `return` of a function without a value leaves the loops
//! around it, and the function, as a `break` leaves a loop (see [`exits`](super::exits)).

use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Block, Expr, ExprIf, Stmt};

use super::blocks::expr_text;
use super::{Capture, Use};
use crate::code;

/// Whether something of a piece of code returns.
#[derive(Default)]
struct Returns(bool);

impl Visit<'_> for Returns {
    fn visit_expr_return(&mut self, _: &syn::ExprReturn) {
        self.0 = true;
    }

    fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}

    fn visit_expr_async(&mut self, _: &syn::ExprAsync) {}

    fn visit_item(&mut self, _: &syn::Item) {}
}

fn returns(statement: &Stmt) -> bool {
    let mut found = Returns::default();
    found.visit_stmt(statement);
    found.0
}

fn is_return(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(Expr::Return(_), _))
}

/// Whether the block returns at its end, and nowhere else.
fn ends_in_return(block: &Block) -> bool {
    match block.stmts.split_last() {
        Some((last, before)) => is_return(last) && !before.iter().any(returns),
        None => false,
    }
}

/// Statements that begin with an `if` whose first branch ends in `return`: that `if`, and what runs where the branch is not taken.
fn divided(statements: &[Stmt]) -> Option<(&ExprIf, Vec<Stmt>)> {
    let (Stmt::Expr(Expr::If(branch), _), rest) = statements.split_first()? else { return None };
    if !ends_in_return(&branch.then_branch) {
        return None;
    }
    let otherwise = branch.else_branch.as_ref().map(|(_, otherwise)| &**otherwise);
    let mut statements = match otherwise {
        None => Vec::new(),
        // The block's value is the function's.
        Some(Expr::Block(block)) if rest.is_empty() => block.block.stmts.clone(),
        Some(nested) if rest.is_empty() => vec![Stmt::Expr(nested.clone(), None)],
        Some(nested) => vec![Stmt::Expr(nested.clone(), Some(syn::Token![;](nested.span())))],
    };
    statements.extend(rest.iter().cloned());
    Some((branch, statements))
}

/// Whether a function with these statements returns in other places than its end and the ends of branches.
pub(super) fn leaves_early(statements: &[Stmt]) -> bool {
    for (index, statement) in statements.iter().enumerate() {
        if let Some((_, otherwise)) = divided(&statements[index..]) {
            return leaves_early(&otherwise);
        }
        let at_end = index + 1 == statements.len() && is_return(statement);
        if !at_end && returns(statement) {
            return true;
        }
    }
    false
}

impl Capture<'_> {
    /// The statements from here to the end of the function as one `if`, in words of an expression, where they begin with one whose
    /// first branch ends in `return`.
    pub(super) fn returning_branch(&mut self, statements: &[Stmt], used: Use) -> Option<String> {
        let (Use::Function(value) | Use::Tail(value)) = used else { return None };
        let (branch, otherwise) = divided(statements)?;
        let condition = self.condition(&branch.cond);
        let then = self.inner_block(&branch.then_branch, Use::Tail(value));
        let otherwise = otherwise.first().map(|first| {
            let last = otherwise.last().unwrap_or(first);
            let place = code::between(first.span(), last.span());
            let block = self.block(&otherwise, place.clone(), Use::Tail(value));
            format!("{place} block {block}")
        });
        Some(expr_text(format!("if {condition} {then} {}", code::option(otherwise)), branch))
    }
}
