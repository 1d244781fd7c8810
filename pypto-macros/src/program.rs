//! `#[pypto::program] mod m { .. }`: the annotated functions of a module as one program.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser};
use syn::{Ident, Item, ItemMod, Token};

use crate::errors::Errors;
use crate::suggest::did_you_mean;

/// Expands `#[pypto::program]`: the module as written, and `program()` in it.
pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let entry = errors.take(parse_entry.parse2(attribute)).flatten();
    let Some(mut module) = errors.take(syn::parse2::<ItemMod>(item.clone())) else {
        let errors = errors.into_tokens();
        return quote!(#errors #item);
    };
    let Some((_, items)) = &mut module.content else {
        errors.over(&module, "`#[pypto::program]` needs the module's body: write `mod name { .. }`");
        let errors = errors.into_tokens();
        return quote!(#errors #module);
    };
    let functions: Vec<Ident> = items.iter().filter_map(annotated).collect();
    if let Some(entry) = choose(entry, &functions, &module.ident, &mut errors) {
        items.push(Item::Verbatim(quote! {
            /// The program of this module, where `#[shape(..)]` states every extent of its entry.
            pub fn program() -> ::pypto::jit::Result<::pypto::ir::Program> {
                program_for(&())
            }

            /// The program of this module for such arguments of its entry.
            pub fn program_for<S: ::pypto::jit::Samples + ?Sized>(
                samples: &S,
            ) -> ::pypto::jit::Result<::pypto::ir::Program> {
                ::pypto::jit::program::<#entry, S>(samples)
            }
        }));
    }
    let errors = errors.into_tokens();
    quote!(#errors #module)
}

fn parse_entry(input: ParseStream) -> syn::Result<Option<Ident>> {
    if input.is_empty() {
        return Ok(None);
    }
    let option: Ident = input.parse()?;
    if option != "entry" {
        let hint = did_you_mean(&option.to_string(), &["entry"]);
        return Err(syn::Error::new(option.span(), format!("unknown option `{option}`{hint} (options: entry = NAME)")));
    }
    input.parse::<Token![=]>()?;
    input.parse().map(Some)
}

/// The function's name, where it has one of the attributes.
fn annotated(item: &Item) -> Option<Ident> {
    let Item::Fn(function) = item else { return None };
    let is_ours = |attribute: &syn::Attribute| {
        attribute.path().segments.last().is_some_and(|last| last.ident == "jit" || last.ident == "function")
    };
    function.attrs.iter().any(is_ours).then(|| function.sig.ident.clone())
}

fn choose(entry: Option<Ident>, functions: &[Ident], module: &Ident, errors: &mut Errors) -> Option<Ident> {
    match entry {
        Some(entry) if functions.contains(&entry) => Some(entry),
        Some(entry) => {
            errors.at(entry.span(), format!("`{entry}` is not an annotated function of `{module}`"));
            None
        }
        None => {
            if functions.is_empty() {
                let message = format!(
                    "`{module}` has no annotated functions: a program needs a `#[pypto::jit]` or `#[pypto::function]`"
                );
                errors.at(module.span(), message);
            }
            functions.last().cloned()
        }
    }
}
