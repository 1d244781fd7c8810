//! Macros that a body may use: assertions and what [`printing`](super::printing) reads, which become part of the kernel,
//! and what only eager runs do.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::Visit;
use syn::{Expr, Ident, Lit, Macro, Token};

use super::Capture;
use super::blocks::expr_text;
use crate::code;

impl Capture<'_> {
    /// A macro as a statement; `None` where only eager runs execute it.
    pub(super) fn macro_statement(&mut self, mac: &Macro) -> Option<String> {
        match name(mac).as_str() {
            "assert" | "debug_assert" | "device_assert" => self.assertion(mac, 1, false),
            "static_assert" => self.assertion(mac, 1, true),
            "assert_eq" | "debug_assert_eq" => self.assertion(mac, 2, false),
            "static_print" => self.static_print(mac),
            print @ ("print" | "println") => self.print(mac, print),
            "checkpoint" => self.checkpoint(mac),
            "eprintln" | "eprint" | "dbg" => None,
            _ => {
                self.reject_macro(mac);
                None
            }
        }
    }

    /// A macro as a value: `dbg!(value)` and `comptime!(value)`.
    pub(super) fn macro_value(&mut self, mac: &Macro) -> String {
        if name(mac) == "comptime" {
            return self.comptime(mac);
        }
        if name(mac) == "dbg"
            && let Ok(value) = syn::parse2::<Expr>(mac.tokens.clone())
        {
            return self.expr(&value);
        }
        self.reject_macro(mac);
        String::new()
    }

    fn assertion(&mut self, mac: &Macro, operands: usize, known: bool) -> Option<String> {
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let arguments = self.errors.take(parser.parse2(mac.tokens.clone()))?;
        let arguments: Vec<Expr> = arguments.into_iter().collect();
        if arguments.len() < operands {
            let tokens: TokenStream = quote!(#mac);
            self.errors.over(tokens, format!("this assertion needs {operands} operand(s)"));
            return None;
        }
        let (values, message) = arguments.split_at(operands);
        let condition = match values {
            [left, right] => {
                let text = format!("binary Eq {} {}", self.expr(left), self.expr(right));
                expr_text(text, mac)
            }
            _ => self.expr(&values[0]),
        };
        let message = match message {
            [] if operands == 2 => {
                let text = code::string("assertion `left == right` failed: left is {:?}, right is {:?}");
                format!("{text} {}", code::list(values.iter().map(|value| self.expr(value))))
            }
            [] => format!("{} 0", code::string("assertion failed")),
            [Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }), values @ ..] => {
                self.assertion_message(text, values)?
            }
            [first, ..] => {
                self.errors.over(first, "the message of an assertion in a kernel is a string");
                return None;
            }
        };
        Some(format!("assert {condition} {message} {known}"))
    }

    /// Rust code that runs at specialization, on extents and meta parameters.
    fn comptime(&mut self, mac: &Macro) -> String {
        let Some(value) = self.errors.take(syn::parse2::<Expr>(mac.tokens.clone())) else { return String::new() };
        let mut variables = Variables::default();
        variables.visit_expr(&value);
        let mut args: Vec<Ident> = Vec::new();
        for name in variables.0 {
            let text = code::plain(&name);
            let known = self.compile_time.contains(&text) && !self.scope.is_shadowed(&text);
            if known && !args.contains(&name) {
                args.push(name);
            } else if !known && self.scope.contains(&text) {
                let message = format!(
                    "`comptime!` runs at specialization, on extents, meta parameters and constants: `{text}` is a variable"
                );
                self.errors.at(name.span(), message);
            }
        }
        let index = self.names.computed(value.to_token_stream(), &args);
        expr_text(format!("comptime {index} {}", code::list(args.iter().map(code::ident))), mac)
    }

    fn reject_macro(&mut self, mac: &Macro) {
        let name = name(mac);
        let help = match name.as_str() {
            "panic" | "unreachable" | "todo" | "unimplemented" => "state the condition with `assert!`",
            "vec" | "format" => "kernels have arrays `[a, b]` and tiles, but no heap",
            "println" | "print" | "eprintln" | "eprint" | "checkpoint" => "it is a statement, without a value",
            _ => {
                "supported are `assert!`, `assert_eq!`, `debug_assert!`, `device_assert!`, `static_assert!`, `static_print!`, `print!`, \
                  `println!`, `checkpoint!`, `comptime!`, and `eprintln!`, `dbg!` in eager runs"
            }
        };
        self.errors.over(&mac.path, format!("`{name}!` is not supported in a kernel body: {help}"));
    }
}

/// The names of one segment in an expression, each a variable or a constant.
#[derive(Default)]
struct Variables(Vec<Ident>);

impl Visit<'_> for Variables {
    fn visit_expr_path(&mut self, path: &syn::ExprPath) {
        self.0.extend(path.path.get_ident().cloned());
    }
}

fn name(mac: &Macro) -> String {
    mac.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default()
}
