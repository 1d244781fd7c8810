//! Expressions: each accepted kind, dispatched to the file of its construct.

use syn::{Expr, Member};

use super::blocks::expr_text;
use super::{Capture, Use};
use crate::code;

/// The longest array that `[value; N]` may spell; `frontend::instantiate` has the same limit for constants.
const MAX_REPEAT: usize = 64;

impl Capture<'_> {
    /// An expression whose value is used.
    pub(super) fn expr(&mut self, expr: &Expr) -> String {
        let kind = match expr {
            Expr::Paren(e) => return self.expr(&e.expr),
            Expr::Group(e) => return self.expr(&e.expr),
            Expr::If(e) => return self.branch(e, Use::Value),
            Expr::Match(e) => return self.match_expr(e, Use::Value),
            Expr::Call(e) => return self.call(e),
            Expr::Macro(e) => return self.macro_value(&e.mac),
            Expr::MethodCall(e) => self.method(e),
            Expr::Path(e) => self.path(e),
            Expr::Lit(e) => self.literal(&e.lit),
            Expr::Unary(e) => self.unary(e),
            Expr::Binary(e) => self.binary(e),
            Expr::Cast(e) => self.cast(e),
            Expr::Reference(e) => {
                format!("borrow {} {}", e.mutability.is_some(), self.expr(&e.expr))
            }
            Expr::Range(e) => self.range(e),
            Expr::Tuple(e) => format!("tuple {}", self.exprs(&e.elems)),
            Expr::Array(e) => format!("array {}", self.exprs(&e.elems)),
            Expr::Repeat(e) => self.repeat(e),
            Expr::Index(e) if self.is_tensor(&e.expr) => {
                let name = quote::ToTokens::to_token_stream(&e.expr);
                let message = format!(
                    "`{name}` is a tensor, which has no `[..]`: `{name}.get([i, j])` is an element, `{name}.tile(offset, shape)`, \
                     `{name}.rows(i, n)` and `{name}.at(i)` are parts"
                );
                self.errors.over(e, message);
                return String::new();
            }
            Expr::Index(e) => format!("index {} {}", self.expr(&e.expr), self.expr(&e.index)),
            Expr::Field(e) => self.field(e),
            Expr::Block(e) => {
                if let Some(label) = &e.label {
                    self.errors.over(label, "labelled blocks are not supported in a kernel body: use `if`/`else`");
                }
                format!("block {}", self.inner_block(&e.block, Use::Value))
            }
            _ => return self.reject(expr),
        };
        expr_text(kind, expr)
    }

    /// Whether an expression is a parameter that is a tensor.
    pub(super) fn is_tensor(&self, expr: &Expr) -> bool {
        let Expr::Path(path) = expr else { return false };
        path.path
            .get_ident()
            .map(code::plain)
            .is_some_and(|name| self.tensors.contains(&name) && !self.scope.is_shadowed(&name))
    }

    /// A list of expressions.
    pub(super) fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> String {
        code::list(exprs.into_iter().map(|e| self.expr(e)).collect::<Vec<_>>())
    }

    fn repeat(&mut self, repeat: &syn::ExprRepeat) -> String {
        let value = self.expr(&repeat.expr);
        let count = match &*repeat.len {
            Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(count), .. }) => count.base10_parse::<usize>().ok(),
            _ => None,
        };
        if let Expr::Path(name) = &*repeat.len {
            let count = expr_text(self.path(name), name);
            return format!("repeat {value} {count}");
        }
        match count.filter(|n| *n <= MAX_REPEAT) {
            Some(count) => format!("array {}", code::list(vec![value; count])),
            None => {
                let message =
                    format!("the length of an array in a kernel body is a literal or a constant, up to {MAX_REPEAT}");
                self.errors.over(&repeat.len, message);
                String::new()
            }
        }
    }

    fn field(&mut self, field: &syn::ExprField) -> String {
        let base = self.expr(&field.base);
        match &field.member {
            Member::Unnamed(index) => format!("tuplefield {base} {}", index.index),
            Member::Named(name) => format!("field {base} {}", code::ident(name)),
        }
    }
}
