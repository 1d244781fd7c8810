//! `match` on integers and `bool`, as nested `if`s. rustc has checked that the arms cover every value, so the last one
//! needs no test.

use quote::ToTokens;
use syn::{Arm, Expr, ExprMatch, Lit, Pat, RangeLimits, Stmt};

use super::blocks::expr_text;
use super::{Capture, Use};
use crate::code;

/// The variable that holds the matched value. A keyword is no variable of the user's.
const SUBJECT: &str = "match";

/// An arm in words.
struct ArmWords {
    /// `None` where it matches anything.
    condition: Option<String>,
    block: String,
    place: String,
}

impl Capture<'_> {
    /// The `match` in words of an expression.
    pub(super) fn match_expr(&mut self, matched: &ExprMatch, used: Use) -> String {
        let place = code::range(&matched.expr);
        let value = self.expr(&matched.expr);
        // The value is evaluated once.
        let subject = format!("{place} local {SUBJECT}");
        let arms: Vec<ArmWords> = matched.arms.iter().map(|arm| self.arm(arm, &subject, used)).collect();
        let whole = code::range(matched);
        let mut chain: Option<String> = None;
        let last = arms.iter().position(|arm| arm.condition.is_none()).unwrap_or(arms.len().saturating_sub(1));
        for (index, ArmWords { condition, block, place }) in arms.into_iter().enumerate().take(last + 1).rev() {
            chain = Some(match condition.filter(|_| index < last) {
                Some(condition) => format!("{place} if {condition} {block} {}", code::option(chain)),
                None => format!("{place} block {block}"),
            });
        }
        let binding = format!("{place} let name {SUBJECT} {place} false 0 1 {value}");
        let chain = chain.unwrap_or_default();
        let inner = match used {
            Use::Value | Use::Function(true) => format!("1 {binding} 1 {chain} {whole}"),
            _ => format!("2 {binding} {whole} expr {chain} 0 {whole}"),
        };
        expr_text(format!("block {inner}"), matched)
    }

    fn arm(&mut self, arm: &Arm, subject: &str, used: Use) -> ArmWords {
        self.scope.enter();
        let place = code::range(arm);
        let test = self.arm_test(&arm.pat, subject);
        // A name that the pattern binds is the subject itself.
        let binding = match &arm.pat {
            Pat::Ident(bound) if !is_constant(bound) => {
                self.scope.bind(&bound.ident);
                let at = code::range(&arm.pat);
                Some(format!("{at} let name {} false 0 1 {at} local {SUBJECT}", code::ident(&bound.ident)))
            }
            _ => None,
        };
        let guard = arm.guard.as_ref().map(|(_, guard)| {
            let words = self.expr(guard);
            match &binding {
                Some(binding) => expr_text(format!("block 1 {binding} 1 {words} {}", code::range(guard)), guard),
                None => words,
            }
        });
        let body = match (&*arm.body, used) {
            (Expr::Block(block), _) if block.label.is_none() => self.inner_block(&block.block, used),
            (body, Use::Value | Use::Function(true)) => {
                self.block(&[Stmt::Expr(body.clone(), None)], place.clone(), Use::Value)
            }
            (body, _) => self.block(&[Stmt::Expr(body.clone(), Some(Default::default()))], place.clone(), Use::Unit),
        };
        let block = match (binding, used) {
            (None, _) => body,
            (Some(binding), Use::Value | Use::Function(true)) => format!("1 {binding} 1 {place} block {body} {place}"),
            (Some(binding), _) => format!("2 {binding} {place} expr {place} block {body} 0 {place}"),
        };
        self.scope.leave();
        let condition = match (test, guard) {
            (Some(test), Some(guard)) => Some(format!("{place} binary And {test} {guard}")),
            (test, guard) => test.or(guard),
        };
        ArmWords { condition, block, place }
    }

    /// The test of a pattern; `None` where it matches anything.
    fn arm_test(&mut self, pattern: &Pat, subject: &str) -> Option<String> {
        let place = code::range(pattern);
        match pattern {
            Pat::Wild(_) => None,
            Pat::Paren(inner) => self.arm_test(&inner.pat, subject),
            Pat::Ident(bound) if is_constant(bound) => {
                let value = self.names.constant(bound.ident.to_token_stream());
                Some(format!("{place} binary Eq {subject} {place} constant {} {value}", code::plain(&bound.ident)))
            }
            Pat::Ident(bound) => {
                if bound.by_ref.is_some() || bound.subpat.is_some() {
                    self.errors.over(pattern, "`ref` and `@` are not supported in a kernel body: write a guard");
                }
                None
            }
            Pat::Lit(literal) => Some(match &literal.lit {
                Lit::Bool(value) if value.value => subject.to_owned(),
                Lit::Bool(_) => format!("{place} unary Not {subject}"),
                lit => format!("{place} binary Eq {subject} {place} {}", self.literal(lit)),
            }),
            Pat::Path(path) => Some(format!("{place} binary Eq {subject} {place} {}", self.path(path))),
            Pat::Or(either) => {
                let tests: Vec<Option<String>> = either.cases.iter().map(|p| self.arm_test(p, subject)).collect();
                let tests: Option<Vec<String>> = tests.into_iter().collect();
                tests?.into_iter().reduce(|a, b| format!("{place} binary Or {a} {b}"))
            }
            Pat::Range(range) => {
                let lower = range.start.as_ref().map(|e| format!("{place} binary Ge {subject} {}", self.expr(e)));
                let op = if matches!(range.limits, RangeLimits::Closed(_)) { "Le" } else { "Lt" };
                let upper = range.end.as_ref().map(|e| format!("{place} binary {op} {subject} {}", self.expr(e)));
                match (lower, upper) {
                    (Some(lower), Some(upper)) => Some(format!("{place} binary And {lower} {upper}")),
                    (lower, upper) => lower.or(upper),
                }
            }
            other => {
                let message = "a `match` in a kernel body compares integers and `bool`: with literals, constants, ranges, \
                               `|`, names and `_`";
                self.errors.over(other, message);
                Some(String::new())
            }
        }
    }
}

/// `LIMIT`: a pattern of one name is a constant where it is spelled like one, as rustc's lint demands.
fn is_constant(bound: &syn::PatIdent) -> bool {
    let name = bound.ident.to_string();
    bound.by_ref.is_none() && bound.subpat.is_none() && name.chars().all(|c| !c.is_lowercase()) && name != "_"
}
