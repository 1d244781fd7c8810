//! Macros that a body may use: assertions, which become part of the kernel, and printing, which only eager runs do.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, Macro, Token};

use super::Capture;
use super::blocks::expr_text;
use crate::code;

impl Capture<'_> {
    /// A macro as a statement; `None` where only eager runs execute it.
    pub(super) fn macro_statement(&mut self, mac: &Macro) -> Option<String> {
        match name(mac).as_str() {
            "assert" | "debug_assert" => self.assertion(mac, 1),
            "assert_eq" | "debug_assert_eq" => self.assertion(mac, 2),
            "println" | "print" | "eprintln" | "eprint" | "dbg" => None,
            _ => {
                self.reject_macro(mac);
                None
            }
        }
    }

    /// A macro as a value: `dbg!(value)`.
    pub(super) fn macro_value(&mut self, mac: &Macro) -> String {
        if name(mac) == "dbg"
            && let Ok(value) = syn::parse2::<Expr>(mac.tokens.clone())
        {
            return self.expr(&value);
        }
        self.reject_macro(mac);
        String::new()
    }

    fn assertion(&mut self, mac: &Macro, operands: usize) -> Option<String> {
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
            [] => None,
            [Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. })] => Some(code::string(&text.value())),
            [first, ..] => {
                self.errors.over(first, "the message of an assertion in a kernel is one plain string");
                None
            }
        };
        Some(format!("assert {condition} {}", code::option(message)))
    }

    fn reject_macro(&mut self, mac: &Macro) {
        let name = name(mac);
        let help = match name.as_str() {
            "panic" | "unreachable" | "todo" | "unimplemented" => "state the condition with `assert!`",
            "vec" | "format" => "kernels have arrays `[a, b]` and tiles, but no heap",
            "println" | "print" | "eprintln" | "eprint" => "it is a statement, without a value",
            _ => "supported are `assert!`, `assert_eq!`, `debug_assert!`, and `println!`, `dbg!` in eager runs",
        };
        self.errors.over(&mac.path, format!("`{name}!` is not supported in a kernel body: {help}"));
    }
}

fn name(mac: &Macro) -> String {
    mac.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default()
}
