//! Literals, and paths that name variables and constants.

use quote::ToTokens;
use syn::{ExprPath, Lit, LitFloat, LitInt};

use super::Capture;
use crate::code::{self, plain};
use crate::types;

impl Capture<'_> {
    pub(super) fn literal(&mut self, literal: &Lit) -> String {
        match literal {
            Lit::Int(int) => self.int(int, false),
            Lit::Float(float) => self.float(float),
            Lit::Bool(bool) => format!("bool {}", bool.value),
            Lit::Str(_) => {
                self.errors.over(literal, "strings are not values in a kernel body, only messages of `assert!` and texts of `println!`: tell cases apart by `bool`s, or integers \
                     (`meta(..)`, `#[spec]`)");
                String::new()
            }
            _ => {
                self.errors.over(literal, "literals in a kernel body are integers, floats and `bool`");
                String::new()
            }
        }
    }

    /// An integer literal; `negative` where it stands behind a minus sign.
    pub(super) fn int(&mut self, literal: &LitInt, negative: bool) -> String {
        if matches!(literal.suffix(), "f32" | "f64" | "f16") {
            return self.float(&LitFloat::new(&literal.to_string(), literal.span()));
        }
        let suffix = self.suffix(literal.suffix(), literal.span());
        let value = literal.base10_parse::<i128>().unwrap_or(i128::MAX);
        let value = if negative { -value } else { value };
        match i64::try_from(value) {
            Ok(value) => format!("int {value} {suffix}"),
            Err(_) => {
                self.errors.over(literal, "this integer does not fit `i64`, the widest integer type in a kernel");
                String::new()
            }
        }
    }

    fn float(&mut self, literal: &LitFloat) -> String {
        let suffix = self.suffix(literal.suffix(), literal.span());
        match literal.base10_parse::<f64>() {
            Ok(value) if value.is_finite() => format!("float {:x} {suffix}", value.to_bits()),
            _ => {
                self.errors.over(literal, "this float literal is out of range: use `f32::INFINITY`");
                String::new()
            }
        }
    }

    fn suffix(&mut self, suffix: &str, span: proc_macro2::Span) -> String {
        let dtype = match suffix {
            "" => return "-".to_owned(),
            _ => types::dtype(suffix),
        };
        match dtype {
            Some(dtype) => dtype.to_owned(),
            None => {
                let instead = if suffix == "f64" { "f32" } else { "i64" };
                self.errors.at(span, format!("`{suffix}` is not an element type of PyPTO: use `{instead}`"));
                String::new()
            }
        }
    }

    /// A variable, or a constant that rustc resolves.
    pub(super) fn path(&mut self, expr: &ExprPath) -> String {
        if expr.qself.is_some() {
            self.errors
                .over(expr, "paths like `<T as Trait>::NAME` are not supported in a kernel body: name a constant");
            return String::new();
        }
        let segments = &expr.path.segments;
        if let Some(arguments) = segments.iter().find(|s| !s.arguments.is_none()) {
            self.errors.over(&arguments.arguments, "type arguments are only supported on calls");
            return String::new();
        }
        if let Some(name) = expr.path.get_ident() {
            // A lower-case name that is no variable is one that rustc will not find either: it says so once, in the
            // verbatim body.
            let text = plain(name);
            if self.scope.contains(&text) || !text.starts_with(|c: char| c.is_uppercase()) {
                return format!("local {text}");
            }
        }
        if segments.len() == 2 && self.type_params.contains(&segments[0].ident) {
            return format!("associated {} {} 0 0", plain(&segments[0].ident), code::ident(&segments[1].ident));
        }
        let name = expr.to_token_stream().to_string().replace(' ', "");
        let value = self.names.constant(expr.to_token_stream());
        format!("constant {name} {value}")
    }
}
