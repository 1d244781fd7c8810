//! The text of an item, for rendering where its file is gone.
//!
//! Stable compilers have no span of a whole item. The text is put together from the verbatim text of the item's
//! bracketed groups and the single tokens around them, each at its line and column.

use proc_macro2::{TokenStream, TokenTree};

/// The text, and the line at which it starts.
pub fn of(item: &TokenStream) -> (String, usize) {
    let mut text = String::new();
    let mut at: Option<(usize, usize)> = None;
    let mut first_line = 1;
    for tree in item.clone() {
        let start = tree.span().start();
        let piece = tree.span().source_text().unwrap_or_else(|| tree.to_string());
        match at {
            None => {
                first_line = start.line;
                text.push_str(&" ".repeat(start.column));
            }
            Some((line, column)) if start.line == line && start.column >= column => {
                text.push_str(&" ".repeat(start.column - column));
            }
            // Far apart lines are tokens of different macros, not a long comment.
            Some((line, _)) if start.line > line && start.line - line < 1000 => {
                text.push_str(&"\n".repeat(start.line - line));
                text.push_str(&" ".repeat(start.column));
            }
            Some(_) => text.push(' '),
        }
        text.push_str(&piece);
        let end = match &tree {
            TokenTree::Group(group) => group.span_close().end(),
            tree => tree.span().end(),
        };
        at = Some((end.line, end.column));
    }
    (text, first_line)
}

/// FNV-1a over the tokens: it changes with every change of the item, and costs one pass.
pub fn hash(item: &TokenStream) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in item.to_string().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}
