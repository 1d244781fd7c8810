//! `#[shape(M, 128, dyn B, _)]` on a parameter.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitInt, Token};

use crate::code;

/// One dimension of a `#[shape(..)]`.
pub enum Dim {
    Name { name: Ident, dynamic: bool },
    Literal { extent: i64, span: Span },
    Any { span: Span },
}

impl Parse for Dim {
    fn parse(input: ParseStream) -> syn::Result<Dim> {
        if input.peek(Token![dyn]) {
            input.parse::<Token![dyn]>()?;
            return Ok(Dim::Name { name: input.parse()?, dynamic: true });
        }
        if input.peek(Token![_]) {
            return Ok(Dim::Any { span: input.parse::<Token![_]>()?.span });
        }
        if input.peek(LitInt) {
            let literal: LitInt = input.parse()?;
            let extent = literal.base10_parse().map_err(|e| syn::Error::new(literal.span(), e))?;
            return Ok(Dim::Literal { extent, span: literal.span() });
        }
        if input.peek(Ident) {
            let name = input.parse()?;
            if !input.is_empty() && !input.peek(Token![,]) {
                return Err(input.error("a dimension is one name or literal; compute with extents in the body"));
            }
            return Ok(Dim::Name { name, dynamic: false });
        }
        Err(input.error("a dimension is a name, `dyn NAME`, an integer literal, or `_`"))
    }
}

impl Dim {
    /// The dimension in words.
    pub fn text(&self) -> String {
        match self {
            Dim::Name { name, dynamic } => format!("name {} {dynamic}", code::ident(name)),
            Dim::Literal { extent, span } => format!("literal {extent} {}", code::span(*span)),
            Dim::Any { span } => format!("any {}", code::span(*span)),
        }
    }
}

/// Reads the attribute; `#[shape]` without a list is an error.
pub fn parse(attribute: &syn::Attribute) -> syn::Result<Vec<Dim>> {
    let dims = attribute.parse_args_with(Punctuated::<Dim, Token![,]>::parse_terminated)?;
    Ok(dims.into_iter().collect())
}
