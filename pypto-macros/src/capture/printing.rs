//! Texts with placeholders: `static_print!`, whose values are those that specialization knows, and `print!`, `println!`
//! and `checkpoint!`, whose values are those of the running kernel.

use quote::ToTokens;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, LitStr, Macro, Token};

use super::Capture;
use crate::code;

/// A text and the values of its placeholders, as encoded expressions.
struct Line {
    /// The text around the placeholders, one more than there are.
    pieces: Vec<String>,
    /// What stands behind the colon of each placeholder.
    formats: Vec<String>,
    values: Vec<String>,
}

impl Capture<'_> {
    /// `static_print!("text {} {name}", value)`.
    pub(super) fn static_print(&mut self, mac: &Macro) -> Option<String> {
        let line = self.line(mac, "static_print")?;
        self.known_line(line, &mac.tokens, "static_print").map(|line| format!("staticprint {line}"))
    }

    /// The message of an assertion: its text, and the values of its placeholders.
    pub(super) fn assertion_message(&mut self, text: &LitStr, values: &[Expr]) -> Option<String> {
        let line = self.line_of(text, values.iter().cloned())?;
        self.run_time_line(line, text, "")
    }

    /// A text whose values are written as specialization knows them, encoded.
    fn known_line(&mut self, line: Line, place: impl ToTokens, name: &str) -> Option<String> {
        if let Some(format) = line.formats.iter().find(|format| !matches!(format.as_str(), "" | "?")) {
            let message = format!(
                "`{{:{format}}}`: `{name}!` has the placeholders `{{}}`, `{{:?}}`, `{{name}}` and `{{name:?}}`"
            );
            self.errors.over(place, message);
            return None;
        }
        let pieces = code::list(line.pieces.iter().map(|piece| code::string(piece)));
        Some(format!("{pieces} {}", code::list(line.values)))
    }

    /// `print!("text {} {name:.3}", value)` and `println!`.
    pub(super) fn print(&mut self, mac: &Macro, name: &str) -> Option<String> {
        let end = if name == "println" { "\n" } else { "" };
        if mac.tokens.is_empty() && name == "println" {
            return Some(format!("print {} 0", code::string(end)));
        }
        let line = self.line(mac, name)?;
        self.run_time_line(line, &mac.tokens, end).map(|line| format!("print {line}"))
    }

    /// A text with placeholders that have no names, and the values that the running kernel puts there.
    fn run_time_line(&mut self, line: Line, place: impl ToTokens, end: &str) -> Option<String> {
        if let Some(format) = line.formats.iter().find(|format| !is_run_time_format(format)) {
            let message = format!(
                "`{{:{format}}}` is not printed by kernels: they have `{{}}` and `{{:?}}`, with a sign, a width, an \
                 alignment and a precision, as `{{:>+8.3}}`"
            );
            self.errors.over(place, message);
            return None;
        }
        let mut text = String::new();
        for (index, piece) in line.pieces.iter().enumerate() {
            text.push_str(&piece.replace('{', "{{").replace('}', "}}"));
            if let Some(format) = line.formats.get(index) {
                text.push_str(&if format.is_empty() { "{}".to_owned() } else { format!("{{:{format}}}") });
            }
        }
        text.push_str(end);
        Some(format!("{} {}", code::string(&text), code::list(line.values)))
    }

    /// `checkpoint!(value, "name")`.
    pub(super) fn checkpoint(&mut self, mac: &Macro) -> Option<String> {
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let arguments = self.errors.take(parser.parse2(mac.tokens.clone()))?;
        let mut arguments = arguments.iter();
        match (arguments.next(), arguments.next(), arguments.next()) {
            (Some(value), Some(Expr::Lit(syn::ExprLit { lit: Lit::Str(name), .. })), None) => {
                Some(format!("checkpoint {} {}", self.expr(value), code::string(&name.value())))
            }
            _ => {
                let message = "`checkpoint!` takes a value and a name: `checkpoint!(t, \"scores\")`";
                self.errors.over(&mac.path, message);
                None
            }
        }
    }

    fn line(&mut self, mac: &Macro, name: &str) -> Option<Line> {
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let arguments = self.errors.take(parser.parse2(mac.tokens.clone()))?;
        let mut arguments = arguments.into_iter();
        let text = match arguments.next() {
            Some(Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. })) => text,
            _ => {
                self.errors.over(&mac.path, format!("`{name}!` starts with a text: `{name}!(\"rows {{}}\", n)`"));
                return None;
            }
        };
        self.line_of(&text, arguments)
    }

    fn line_of(&mut self, text: &LitStr, mut arguments: impl Iterator<Item = Expr>) -> Option<Line> {
        let Some(Text { pieces, names, formats }) = Text::of(&text.value()) else {
            self.errors.over(text, "a brace has no partner: `{{` and `}}` print braces");
            return None;
        };
        let mut values = Vec::new();
        for name in names {
            values.push(match name {
                Some(name) => self.named(text, &name)?,
                None => {
                    let Some(value) = arguments.next() else {
                        self.errors.over(text, "there are more placeholders than values");
                        return None;
                    };
                    self.expr(&value)
                }
            });
        }
        if let Some(extra) = arguments.next() {
            self.errors.over(extra.to_token_stream(), "there is no placeholder for this value");
        }
        Some(Line { pieces, formats, values })
    }

    /// The value of `{name}`.
    fn named(&mut self, text: &LitStr, name: &str) -> Option<String> {
        match syn::parse_str::<syn::ExprPath>(name) {
            Ok(path) => Some(format!("{} {}", code::span(text.span()), self.path(&path))),
            Err(_) => {
                self.errors.over(text, format!("`{name}` is not a name"));
                None
            }
        }
    }
}

/// A text, taken apart.
struct Text {
    pieces: Vec<String>,
    names: Vec<Option<String>>,
    formats: Vec<String>,
}

impl Text {
    /// `None` where a brace has no partner.
    fn of(text: &str) -> Option<Text> {
        let mut found = Text { pieces: vec![String::new()], names: Vec::new(), formats: Vec::new() };
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let doubled = matches!(c, '{' | '}') && rest.peek() == Some(&c);
            match c {
                _ if doubled => {
                    rest.next();
                    found.pieces.last_mut()?.push(c);
                }
                '{' => {
                    let inside: String = rest.by_ref().take_while(|c| *c != '}').collect();
                    let (name, format) = inside.split_once(':').unwrap_or((&inside, ""));
                    found.names.push(Some(name.trim().to_owned()).filter(|name| !name.is_empty()));
                    found.formats.push(format.trim_end().to_owned());
                    found.pieces.push(String::new());
                }
                '}' => return None,
                c => found.pieces.last_mut()?.push(c),
            }
        }
        Some(found)
    }
}

/// `[[fill]align][+][0][width][.precision][?]`: what `ir::report::template` of `pypto` writes.
fn is_run_time_format(format: &str) -> bool {
    let chars: Vec<char> = format.chars().collect();
    let is_align = |c: Option<&char>| matches!(c, Some('<' | '^' | '>'));
    let start = if is_align(chars.get(1)) { 2 } else { usize::from(is_align(chars.first())) };
    let rest: String = chars[start.min(chars.len())..].iter().collect();
    let rest = rest.strip_suffix('?').unwrap_or(&rest);
    let rest = rest.strip_prefix('+').unwrap_or(rest);
    let (width, precision) = rest.split_once('.').unwrap_or((rest, "0"));
    let is_number = |text: &str| text.len() <= 3 && text.bytes().all(|b| b.is_ascii_digit());
    is_number(width) && is_number(precision) && !precision.is_empty()
}
