//! Words of the encoded generic IR. `pypto::frontend::captured` reads them; the two files must agree.
//!
//! A captured function is one string literal of words in prefix order. Compared with a static of nested structures, which
//! rustc would have to parse, type-check and evaluate, this makes an expansion several times cheaper.

use std::fmt::Display;

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Ident;
use syn::ext::IdentExt;

/// A count, then the items.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    let mut text = items.len().to_string();
    for item in items {
        text.push(' ');
        text.push_str(&item);
    }
    text
}

/// `0`, or `1` and the item.
pub fn option(item: Option<impl Display>) -> String {
    item.map_or("0".to_owned(), |item| format!("1 {item}"))
}

/// A text as one word: what is not a letter, digit or `_` becomes `%` and its code point in six hexadecimal digits.
pub fn string(text: &str) -> String {
    let mut word = String::from("\"");
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => word.push(c),
            _ => word.push_str(&format!("%{:06x}", u32::from(c))),
        }
    }
    word
}

/// A name with its place.
pub fn ident(name: &Ident) -> String {
    format!("{} {}", plain(name), span(name.span()))
}

/// The name without `r#`.
pub fn plain(name: &Ident) -> String {
    name.unraw().to_string()
}

/// The place of one token.
pub fn span(span: Span) -> String {
    place(span.start(), span.end())
}

/// From the start of one token to the end of another.
pub fn between(first: Span, last: Span) -> String {
    place(first.start(), last.end())
}

/// The place of the tokens. `Span::join` gives the first span alone on stable compilers, so it is made of the first and
/// the last token.
pub fn range(tokens: &impl ToTokens) -> String {
    let stream: TokenStream = tokens.to_token_stream();
    let mut trees = stream.into_iter();
    let Some(first) = trees.next() else { return span(Span::call_site()) };
    let start = first.span().start();
    let end = match trees.last().unwrap_or(first) {
        TokenTree::Group(group) => group.span_close().end(),
        tree => tree.span().end(),
    };
    place(start, end)
}

/// Lines and columns from 1.
fn place(start: LineColumn, end: LineColumn) -> String {
    format!("{} {} {} {}", start.line, start.column + 1, end.line, end.column + 1)
}
