//! Names in a body that only rustc can resolve: callees and constants.
//!
//! A callee `f` is looked up twice: as the companion type of that name, and, where there is none, as
//! `generic::PlainFunction`, which is not `Callable`, so that a call of a plain Rust function gets a message of ours.
//! It works because `use f as __c0` imports whatever `f` names, and a type that it does not import is searched further
//! out, where `__c0` is `PlainFunction`.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::Path;

/// The callees and constants of one body, each once.
#[derive(Default)]
pub struct Names {
    callees: Vec<Callee>,
    constants: Vec<Constant>,
    computed: Vec<Computed>,
    /// Items of the body, which constants and callees may mean.
    items: Vec<TokenStream>,
}

struct Callee {
    key: String,
    path: Path,
    /// Where errors about it are shown: the parenthesis after its name. With the place of the name itself,
    /// rust-analyzer's go-to-definition on the name would have a second target.
    place: Span,
}

/// An expression of `comptime!`, and the variables in it.
struct Computed {
    value: TokenStream,
    args: Vec<Ident>,
}

struct Constant {
    key: String,
    path: TokenStream,
}

impl Names {
    /// The index of the callee with this path.
    pub fn callee(&mut self, path: &Path, place: Span) -> usize {
        let path = without_arguments(path);
        let key = path.to_token_stream().to_string();
        self.callees.iter().position(|c| c.key == key).unwrap_or_else(|| {
            self.callees.push(Callee { key, path, place });
            self.callees.len() - 1
        })
    }

    /// The index of the constant with this path.
    pub fn constant(&mut self, path: TokenStream) -> usize {
        let key = path.to_string();
        self.constants.iter().position(|c| c.key == key).unwrap_or_else(|| {
            self.constants.push(Constant { key, path });
            self.constants.len() - 1
        })
    }

    /// The index of an expression of `comptime!`.
    pub fn computed(&mut self, value: TokenStream, args: &[Ident]) -> usize {
        self.computed.push(Computed { value, args: args.to_vec() });
        self.computed.len() - 1
    }

    /// A `const` or `use` of the body.
    pub fn item(&mut self, item: TokenStream) {
        self.items.push(item);
    }

    /// The callees and constants as tables, and the imports that these need around them.
    pub fn tables(&self) -> Tables {
        let mut tables = Tables { items: self.items.iter().cloned().collect(), ..Tables::default() };
        for (index, Callee { path, place, .. }) in self.callees.iter().enumerate() {
            let (path, name) = (relocated(path.to_token_stream(), *place), Ident::new(&format!("__c{index}"), *place));
            tables.fallbacks.extend(quote_spanned!(*place=> use ::pypto::frontend::generic::PlainFunction as #name;));
            tables.imports.extend(quote_spanned!(*place=> use #path as #name;));
            tables.callees.extend(quote!(<#name as ::pypto::frontend::generic::Callable>::callee,));
        }
        for Constant { path, .. } in &self.constants {
            tables.constants.extend(quote!(|| ::pypto::frontend::generic::IntoConstant::into_constant(#path),));
        }
        for Computed { value, args } in &self.computed {
            let indices = 0..args.len();
            tables.computed.extend(quote!(|__args: &[i64]| {
                #(#[allow(non_snake_case)] let #args: i64 = __args[#indices];)*
                ::pypto::frontend::generic::IntoConstant::into_constant(#value)
            },));
        }
        tables
    }
}

/// What [`Names`] becomes in an expansion.
#[derive(Default)]
pub struct Tables {
    /// Items of the body, around everything else.
    pub items: TokenStream,
    /// Imports of the outer scope.
    pub fallbacks: TokenStream,
    /// Imports of the inner scope, in which the tables stand.
    pub imports: TokenStream,
    /// Entries of the table of callees.
    pub callees: TokenStream,
    /// Entries of the table of constants.
    pub constants: TokenStream,
    /// Entries of the table of `comptime!` expressions.
    pub computed: TokenStream,
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
