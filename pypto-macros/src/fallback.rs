//! What is emitted where the input could not be read: the item as it was written, so that editors keep highlighting and
//! completing, but without the helper attributes, which rustc does not know.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::params::HELPERS;

/// The tokens without `#[shape(..)]`, `#[out]`, `#[spec]` and `#[task(..)]`.
pub fn strip(tokens: TokenStream) -> TokenStream {
    without(tokens, &|name| name == "task" || HELPERS.contains(&name))
}

/// The statements of a body without `#[task(..)]`. A body without any is left untouched.
pub fn strip_statements(tokens: TokenStream) -> TokenStream {
    let has_task = |tokens: &TokenStream| tokens.to_string().contains("task");
    if has_task(&tokens) { without(tokens, &|name| name == "task") } else { tokens }
}

fn without(tokens: TokenStream, helper: &dyn Fn(&str) -> bool) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let is_pound = matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == '#');
        if is_pound && trees.peek().is_some_and(|next| names_helper(next, helper)) {
            trees.next();
            continue;
        }
        kept.push(match tree {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), without(group.stream(), helper));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            tree => tree,
        });
    }
    kept.into_iter().collect()
}

fn names_helper(tree: &TokenTree, helper: &dyn Fn(&str) -> bool) -> bool {
    match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if helper(&name.to_string()))
        }
        _ => false,
    }
}
