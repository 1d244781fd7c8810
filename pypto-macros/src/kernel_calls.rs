//! Statements that call a kernel. The function that launches a kernel returns a `Result`, which belongs to callers outside of kernels:
//! inside of one, the outer call reports what goes wrong, and there is nothing to be done with the value.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

/// Functions of the language, whose values are to be used.
const OF_THE_LANGUAGE: &[&str] = &["matmul", "matmul_bias", "select", "ceil_div", "max", "min"];

/// The statements with `#[allow(unused_must_use)]` before those that are a call of a path: `scale(x, y);`.
pub fn without_warnings(tokens: TokenStream) -> TokenStream {
    let mut kept = TokenStream::new();
    let mut statement: Vec<TokenTree> = Vec::new();
    for tree in tokens {
        let ends = ends_statement(&tree);
        statement.push(inside(tree));
        if ends {
            kept.extend(is_call(&statement).then(|| quote!(#[allow(unused_must_use)])));
            kept.extend(statement.drain(..));
        }
    }
    kept.extend(statement);
    kept
}

/// A statement ends with a semicolon, or with a block.
fn ends_statement(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

/// Blocks have statements of their own.
fn inside(tree: TokenTree) -> TokenTree {
    match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            let mut inner = Group::new(Delimiter::Brace, without_warnings(group.stream()));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        tree => tree,
    }
}

/// `a::b::<T>(..);` where `b` may be a kernel.
fn is_call(statement: &[TokenTree]) -> bool {
    let [path @ .., TokenTree::Group(arguments), TokenTree::Punct(_)] = statement else { return false };
    if arguments.delimiter() != Delimiter::Parenthesis {
        return false;
    }
    let path = syn::parse2::<syn::ExprPath>(path.iter().cloned().collect());
    path.ok()
        .and_then(|path| path.path.segments.last().map(|last| last.ident.to_string()))
        .is_some_and(|name| !OF_THE_LANGUAGE.contains(&name.as_str()))
}
