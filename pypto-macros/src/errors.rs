//! Errors are collected, so that one compile shows all of them.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The errors found so far.
#[derive(Default)]
pub struct Errors(Vec<syn::Error>);

impl Errors {
    /// An error at one token.
    pub fn at(&mut self, span: Span, message: impl Display) {
        self.0.push(syn::Error::new(span, message));
    }

    /// An error from the first to the last of `tokens`.
    pub fn over(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.0.push(syn::Error::new_spanned(tokens, message));
    }

    /// An error that a parser returned.
    pub fn push(&mut self, error: syn::Error) {
        self.0.push(error);
    }

    /// Takes over the value, or the error.
    pub fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One `compile_error!` each, in the order of the source.
    pub fn into_tokens(self) -> TokenStream {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }
}
