//! Source ranges of syntax nodes, as text of `generic::Span`.
//!
//! `Span::join` gives the first span alone on stable compilers, so the range is made of the first and the last token.

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use quote::ToTokens;

/// The range of the tokens, as a `Span` literal in the notation of expansions. Columns count from 1.
pub fn of(tokens: &impl ToTokens) -> String {
    let stream: TokenStream = tokens.to_token_stream();
    let mut trees = stream.into_iter();
    let Some(first) = trees.next() else { return of_span(Span::call_site()) };
    let start = first.span().start();
    let end = match trees.last().unwrap_or(first) {
        TokenTree::Group(group) => group.span_close().end(),
        tree => tree.span().end(),
    };
    literal(start, end)
}

/// The range of one token.
pub fn of_span(span: Span) -> String {
    literal(span.start(), span.end())
}

/// From the start of one token to the end of another.
pub fn between(first: Span, last: Span) -> String {
    literal(first.start(), last.end())
}

fn literal(start: LineColumn, end: LineColumn) -> String {
    format!("S{{line:{},column:{},end_line:{},end_column:{}}}", start.line, start.column + 1, end.line, end.column + 1)
}
