//! Names in a body that only rustc can resolve: callees and constants.
//!
//! A callee `f` is looked up twice: as the companion type of that name, and, where there is none, as
//! `generic::PlainFunction`, which is not `Callable`, so that a call of a plain Rust function gets a message of ours.
//! It works because `use f as __c0` imports whatever `f` names, and a type that it does not import is searched further
//! out, where `__c0` is `PlainFunction`.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::Path;

/// The callees and constants of one body, each once.
#[derive(Default)]
pub struct Names {
    callees: Vec<Callee>,
    constants: Vec<Constant>,
}

struct Callee {
    key: String,
    path: Path,
    /// Where errors about it are shown: the parenthesis after its name. With the place of the name itself,
    /// rust-analyzer's go-to-definition on the name would have a second target.
    place: Span,
}

struct Constant {
    key: String,
    path: TokenStream,
}

impl Names {
    /// The name in the text of the callee with this path.
    pub fn callee(&mut self, path: &Path, place: Span) -> String {
        let path = without_arguments(path);
        let key = path.to_token_stream().to_string();
        let index = self.callees.iter().position(|c| c.key == key).unwrap_or_else(|| {
            self.callees.push(Callee { key, path, place });
            self.callees.len() - 1
        });
        format!("__f{index}")
    }

    /// The name in the text of the constant with this path.
    pub fn constant(&mut self, path: TokenStream) -> String {
        let key = path.to_string();
        let index = self.constants.iter().position(|c| c.key == key).unwrap_or_else(|| {
            self.constants.push(Constant { key, path });
            self.constants.len() - 1
        });
        format!("__k{index}")
    }

    /// Puts `inner`, which uses the names, where they are resolved. The result is a block.
    pub fn around(&self, inner: TokenStream) -> TokenStream {
        let companions: Vec<Ident> = (0..self.callees.len()).map(|i| format_ident!("__c{i}")).collect();
        let imports = self.callees.iter().zip(&companions).map(|(callee, companion)| {
            let path = relocated(callee.path.to_token_stream(), callee.place);
            quote!(use #path as #companion;)
        });
        let callees = self.callees.iter().zip(&companions).enumerate().map(|(i, (callee, companion))| {
            let name = format_ident!("__f{i}");
            let companion = Ident::new(&companion.to_string(), Span::call_site().located_at(callee.place));
            quote! {
                const #name: fn() -> ::pypto::frontend::generic::Callee =
                    <#companion as ::pypto::frontend::generic::Callable>::callee;
            }
        });
        let constants = self.constants.iter().enumerate().map(|(i, constant)| {
            let name = format_ident!("__k{i}");
            let path = &constant.path;
            quote! {
                fn #name() -> ::pypto::frontend::generic::ConstantValue {
                    ::pypto::frontend::generic::IntoConstant::into_constant(#path)
                }
            }
        });
        quote! {{
            #(use ::pypto::frontend::generic::PlainFunction as #companions;)*
            {
                #(#imports)*
                #(#callees)*
                #(#constants)*
                #inner
            }
        }}
    }
}

/// The path without turbofish.
fn without_arguments(path: &Path) -> Path {
    let mut path = path.clone();
    for segment in &mut path.segments {
        segment.arguments = syn::PathArguments::None;
    }
    path
}

/// The same tokens, resolved as before, but placed elsewhere.
fn relocated(tokens: TokenStream, place: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut tree| {
            if let TokenTree::Group(group) = &tree
                && group.delimiter() == Delimiter::None
            {
                return TokenTree::Group(Group::new(Delimiter::None, relocated(group.stream(), place)));
            }
            tree.set_span(tree.span().located_at(place));
            tree
        })
        .collect()
}
