//! `break`, `continue` and `return`, as structured control flow.
//!
//! The generic IR has no jumps. A loop body that may be left early gets a variable that tells whether this iteration was
//! left, and one that tells whether the loop was: a statement that may leave sets them, and what follows it in its block
//! runs only where the iteration goes on. A `while` then also stops; a `for` runs its other iterations empty. A function that
//! returns within a loop is like the iteration of one more loop.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Block, Expr, ExprLoop, Label, Lifetime, Stmt};

use super::Capture;
use crate::code;

/// The variable that tells whether this iteration was left, and the one that tells whether the loop was. A keyword is no
/// variable of the user's, and reads well in errors; those of loops within are in scopes of their own. Loops that labels
/// take part in have names of their own, because exits reach past the loops between.
const LEFT: &str = "continue";
const STOPPED: &str = "break";

/// The variable that tells whether the function has returned.
const RETURNED: &str = "return";

/// A loop whose body may be left early, or a function.
pub(super) struct Exits {
    is_function: bool,
    label: Option<String>,
    left: String,
    stopped: String,
    /// Whether something leaves the loop as a whole.
    stops: bool,
}

/// What may leave a piece of code, apart from what stays within its own loops.
#[derive(Default)]
struct Found {
    breaks: bool,
    continues: bool,
    returns: bool,
    /// Loops around the point of the walk, with their labels.
    within: Vec<Option<String>>,
    /// Labels of loops further out that are named, and whether those loops are left as a whole.
    labels: Vec<(String, bool)>,
}

impl Found {
    fn exit(&mut self, label: Option<&Lifetime>, breaks: bool) {
        match label.map(|label| label.ident.to_string()) {
            None if self.within.is_empty() && breaks => self.breaks = true,
            None if self.within.is_empty() => self.continues = true,
            Some(label) if !self.within.contains(&Some(label.clone())) => self.labels.push((label, breaks)),
            _ => {}
        }
    }

    fn inside(&mut self, label: Option<&Label>, body: &Block) {
        self.within.push(name_of(label));
        self.visit_block(body);
        self.within.pop();
    }

    fn any(&self) -> bool {
        self.breaks || self.continues || self.returns || !self.labels.is_empty()
    }
}

impl Visit<'_> for Found {
    fn visit_expr_break(&mut self, exit: &syn::ExprBreak) {
        self.exit(exit.label.as_ref(), true);
    }

    fn visit_expr_continue(&mut self, exit: &syn::ExprContinue) {
        self.exit(exit.label.as_ref(), false);
    }

    fn visit_expr_return(&mut self, _: &syn::ExprReturn) {
        self.returns = true;
    }

    fn visit_expr_for_loop(&mut self, looped: &syn::ExprForLoop) {
        self.inside(looped.label.as_ref(), &looped.body);
    }

    fn visit_expr_while(&mut self, looped: &syn::ExprWhile) {
        self.inside(looped.label.as_ref(), &looped.body);
    }

    fn visit_expr_loop(&mut self, looped: &ExprLoop) {
        self.inside(looped.label.as_ref(), &looped.body);
    }

    fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
}

fn name_of(label: Option<&Label>) -> Option<String> {
    label.map(|label| label.name.ident.to_string())
}

impl Capture<'_> {
    /// Names for the exits of a loop with this body; `None` where nothing leaves it early.
    fn exits(&self, label: Option<&Label>, body: &Block) -> Option<Exits> {
        let mut found = Found::default();
        found.visit_block(body);
        found.returns &= self.in_leavable_function();
        if !found.any() {
            return None;
        }
        let label = name_of(label);
        let own = |(named, breaks): &(String, bool)| Some(named) != label.as_ref() || *breaks;
        let stops = found.breaks || found.returns || found.labels.iter().any(own);
        let reaches_out = found.returns || !found.labels.is_empty();
        let number = || reaches_out.then(|| self.exits.len().to_string());
        let suffix = label.clone().or_else(number).map_or(String::new(), |name| format!("'{name}"));
        let (left, stopped) = (format!("{LEFT}{suffix}"), format!("{STOPPED}{suffix}"));
        Some(Exits { is_function: false, label, left, stopped, stops })
    }

    fn in_leavable_function(&self) -> bool {
        matches!(self.exits.first(), Some(Some(Exits { is_function: true, .. })))
    }

    /// The body of a function without a value that returns within loops or blocks, in words of a block.
    pub(super) fn leavable_function(&mut self, statements: &[Stmt], place: String) -> String {
        let (left, stopped) = (RETURNED.to_owned(), String::new());
        self.exits.push(Some(Exits { is_function: true, label: None, left, stopped, stops: false }));
        let body = self.block(statements, place.clone(), super::Use::Tail(false));
        self.exits.pop();
        format!("2 {} {place} expr {place} block {body} 0 {place}", let_bool(RETURNED, &place))
    }

    /// The loop in words; `head` makes them from the body, and from a condition under which the loop goes on.
    pub(super) fn leavable(
        &mut self,
        label: Option<&Label>,
        body: &Block,
        place: &impl ToTokens,
        head: impl FnOnce(&mut Self, &dyn Fn(&mut Self) -> String, Option<String>) -> String,
    ) -> String {
        let Some(exits) = self.exits(label, body) else {
            self.exits.push(None);
            let words = head(self, &|capture| capture.inner_block(body, super::Use::Unit), None);
            self.exits.pop();
            return words;
        };
        let range = code::range(place);
        let (stops, left, stopped) = (exits.stops, exits.left.clone(), exits.stopped.clone());
        self.exits.push(Some(exits));
        let body = |capture: &mut Self| {
            let inner = capture.inner_block(body, super::Use::Unit);
            let reset = let_bool(&left, &range);
            let own = format!("{range} expr {range} block {inner}");
            format!("2 {reset} {own} 0 {range}")
        };
        let goes_on = stops.then(|| not(&stopped, &range));
        let words = head(self, &body, goes_on);
        self.exits.pop();
        if !stops {
            return words;
        }
        let statements = format!("2 {} {range} {words}", let_bool(&stopped, &range));
        format!("expr {range} block {statements} 0 {range}")
    }

    /// `loop { .. }`, which ends by `break`.
    pub(super) fn endless_loop(&mut self, looped: &ExprLoop) -> String {
        if self.exits(looped.label.as_ref(), &looped.body).is_none_or(|exits| !exits.stops) {
            let message = "this `loop` has no `break` of its own, and a kernel has to end";
            self.errors.over(looped.loop_token, message);
        }
        self.leavable(looped.label.as_ref(), &looped.body, looped, |capture, body, goes_on| {
            format!("while {} {}", goes_on.unwrap_or_default(), body(capture))
        })
    }

    /// Whether the statement may leave the loop that it is in.
    pub(super) fn may_leave(&self, statement: &Stmt) -> bool {
        let in_loop = matches!(self.exits.last(), Some(Some(_)));
        let Stmt::Expr(expr, _) = statement else { return false };
        let branches = matches!(expr, Expr::If(_) | Expr::Block(_) | Expr::Match(_));
        let exits = matches!(expr, Expr::Break(_) | Expr::Continue(_) | Expr::Return(_));
        if !branches && !exits && !matches!(expr, Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_)) {
            return false;
        }
        let mut found = Found::default();
        found.visit_expr(expr);
        found.returns &= self.in_leavable_function();
        in_loop && found.any()
    }

    /// `break`, `continue` or `return`, in words of statements; `None` where this is neither, or not within a loop.
    pub(super) fn exit(&mut self, statement: &Stmt) -> Option<Vec<String>> {
        let Stmt::Expr(expr @ (Expr::Break(_) | Expr::Continue(_) | Expr::Return(_)), _) = statement else {
            return None;
        };
        if let Expr::Break(exit) = expr
            && let Some(value) = &exit.expr
        {
            self.errors.over(value, "`break` with a value is not supported in a kernel body: assign a variable first");
        }
        let (label, breaks) = match expr {
            Expr::Break(exit) => (exit.label.as_ref(), true),
            Expr::Continue(exit) => (exit.label.as_ref(), false),
            _ => (None, false),
        };
        let returns = matches!(expr, Expr::Return(_));
        let named = |exits: &Option<Exits>| match (exits, label) {
            (Some(exits), _) if exits.is_function || returns => returns && exits.is_function,
            (_, None) => !returns,
            (Some(exits), Some(label)) => exits.label.as_ref().is_some_and(|name| label.ident == name),
            (None, Some(_)) => false,
        };
        // A label that there is not is rustc's to report.
        let Some(target) = self.exits.iter().rposition(named) else { return Some(Vec::new()) };
        let place = code::span(expr.span());
        let mut texts = Vec::new();
        for (distance, exits) in self.exits[target..].iter().enumerate() {
            let Some(exits) = exits else { continue };
            texts.push(assign_true(&exits.left, &place));
            // The loops between are left as a whole.
            if exits.stops && (breaks || distance > 0) {
                texts.push(assign_true(&exits.stopped, &place));
            }
        }
        Some(texts)
    }

    /// The statements after one that may leave, in words of one statement: they run where the iteration goes on.
    pub(super) fn where_not_left(&self, rest: Vec<String>, place: Span) -> Option<String> {
        let left = &self.exits.last()?.as_ref()?.left;
        let place = code::span(place);
        let block = format!("{} 0 {place}", code::list(rest));
        Some(format!("{place} expr {place} if {} {block} 0", not(left, &place)))
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
