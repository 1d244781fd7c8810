//! `break` and `continue`, as structured control flow.
//!
//! The generic IR has no jumps. A loop body that may be left early gets a variable that tells whether this iteration was
//! left, and one that tells whether the loop was: a statement that may leave sets them, and what follows it in its block
//! runs only where the iteration goes on. A `while` then also stops; a `for` runs its other iterations empty.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Block, Expr, ExprLoop, Stmt};

use super::Capture;
use crate::code;

/// The variable that tells whether this iteration was left, and the one that tells whether the loop was. A keyword is no
/// variable of the user's, and reads well in errors; those of loops within are in scopes of their own.
const LEFT: &str = "continue";
const STOPPED: &str = "break";

/// A loop whose body may be left early.
pub(super) struct Exits {
    /// Whether it has a `break`.
    stops: bool,
}

/// What may leave a piece of code, apart from loops within.
#[derive(Default)]
struct Found {
    breaks: bool,
    continues: bool,
}

impl Visit<'_> for Found {
    fn visit_expr_break(&mut self, _: &syn::ExprBreak) {
        self.breaks = true;
    }

    fn visit_expr_continue(&mut self, _: &syn::ExprContinue) {
        self.continues = true;
    }

    fn visit_expr_for_loop(&mut self, _: &syn::ExprForLoop) {}
    fn visit_expr_while(&mut self, _: &syn::ExprWhile) {}
    fn visit_expr_loop(&mut self, _: &ExprLoop) {}
    fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
}

impl Found {
    fn any(&self) -> bool {
        self.breaks || self.continues
    }
}

impl Capture<'_> {
    /// Names for the exits of a loop with this body; `None` where nothing leaves it early.
    fn exits(&self, body: &Block) -> Option<Exits> {
        let mut found = Found::default();
        found.visit_block(body);
        if !found.any() {
            return None;
        }
        Some(Exits { stops: found.breaks })
    }

    /// The loop in words; `head` makes them from the body, and from a condition under which the loop goes on.
    pub(super) fn leavable(
        &mut self,
        body: &Block,
        place: &impl ToTokens,
        head: impl FnOnce(&mut Self, &dyn Fn(&mut Self) -> String, Option<String>) -> String,
    ) -> String {
        let Some(exits) = self.exits(body) else {
            self.exits.push(None);
            let words = head(self, &|capture| capture.inner_block(body, super::Use::Unit), None);
            self.exits.pop();
            return words;
        };
        let range = code::range(place);
        let stops = exits.stops;
        self.exits.push(Some(exits));
        let body = |capture: &mut Self| {
            let inner = capture.inner_block(body, super::Use::Unit);
            let reset = let_bool(LEFT, &range);
            let own = format!("{range} expr {range} block {inner}");
            format!("2 {reset} {own} 0 {range}")
        };
        let goes_on = stops.then(|| not(STOPPED, &range));
        let words = head(self, &body, goes_on);
        self.exits.pop();
        if !stops {
            return words;
        }
        let statements = format!("2 {} {range} {words}", let_bool(STOPPED, &range));
        format!("expr {range} block {statements} 0 {range}")
    }

    /// `loop { .. }`, which ends by `break`.
    pub(super) fn endless_loop(&mut self, looped: &ExprLoop) -> String {
        self.no_label(looped.label.as_ref());
        let mut found = Found::default();
        found.visit_block(&looped.body);
        if !found.breaks {
            let message = "this `loop` has no `break` of its own, and a kernel has to end";
            self.errors.over(looped.loop_token, message);
        }
        self.leavable(&looped.body, looped, |capture, body, goes_on| {
            format!("while {} {}", goes_on.unwrap_or_default(), body(capture))
        })
    }

    /// Whether the statement may leave the loop that it is in.
    pub(super) fn may_leave(&self, statement: &Stmt) -> bool {
        let in_loop = matches!(self.exits.last(), Some(Some(_)));
        let Stmt::Expr(expr @ (Expr::If(_) | Expr::Block(_) | Expr::Match(_) | Expr::Break(_) | Expr::Continue(_)), _) =
            statement
        else {
            return false;
        };
        let mut found = Found::default();
        found.visit_expr(expr);
        in_loop && found.any()
    }

    /// `break` or `continue`, in words of statements; `None` where this is neither, or not within a loop.
    pub(super) fn exit(&mut self, statement: &Stmt) -> Option<Vec<String>> {
        let Stmt::Expr(expr @ (Expr::Break(_) | Expr::Continue(_)), _) = statement else { return None };
        if let Expr::Break(exit) = expr
            && let Some(value) = &exit.expr
        {
            self.errors.over(value, "`break` with a value is not supported in a kernel body: assign a variable first");
        }
        let label = match expr {
            Expr::Break(exit) => exit.label.as_ref(),
            Expr::Continue(exit) => exit.label.as_ref(),
            _ => None,
        };
        if let Some(label) = label {
            self.errors.over(label, "labels are not supported in a kernel body: set a variable, and test it outside");
        }
        let Some(Some(exits)) = self.exits.last() else { return Some(Vec::new()) };
        let place = code::span(expr.span());
        let mut texts = vec![assign_true(LEFT, &place)];
        if exits.stops && matches!(expr, Expr::Break(_)) {
            texts.push(assign_true(STOPPED, &place));
        }
        Some(texts)
    }

    /// The statements after one that may leave, in words of one statement: they run where the iteration goes on.
    pub(super) fn where_not_left(&self, rest: Vec<String>, place: Span) -> Option<String> {
        self.exits.last()?.as_ref()?;
        let place = code::span(place);
        let block = format!("{} 0 {place}", code::list(rest));
        Some(format!("{place} expr {place} if {} {block} 0", not(LEFT, &place)))
    }
}

fn let_bool(name: &str, place: &str) -> String {
    format!("{place} let name {name} {place} true 0 1 {place} bool false")
}

fn assign_true(name: &str, place: &str) -> String {
    format!("{place} assign {name} {place} 0 {place} bool true")
}

fn not(name: &str, place: &str) -> String {
    format!("{place} unary Not {place} local {name}")
}
