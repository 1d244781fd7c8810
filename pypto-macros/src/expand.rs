//! From attribute and item to the expansion, on `proc_macro2` types.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

use crate::attributes::{self, Options};
use crate::capture;
use crate::emit::{self, Parts};
use crate::errors::Errors;
use crate::fallback;
use crate::function::{self, Checked, Item};
use crate::lowering_test;
use crate::types::ValueType;
use crate::{code, source};

/// Which attribute is expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Jit,
    Function,
}

/// Expands `#[pypto::jit(..)]` or `#[pypto::function(..)]`.
pub fn function(form: Form, attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = attributes::parse(attribute.clone(), &mut errors);
    let parsed = match syn::parse2::<Item>(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            errors.push(error);
            let (errors, item) = (errors.into_tokens(), fallback::strip(item));
            return quote!(#errors #item);
        }
    };
    let checked = function::check(form, &parsed.signature, &options, &mut errors);
    if parsed.signature.receiver().is_some() {
        // Beside a method there is no room for a companion type.
        let (errors, item) = (errors.into_tokens(), fallback::strip(item));
        return quote!(#errors #item);
    }
    let callee = callee(&parsed, &options, &checked, &attribute, &item, &mut errors);
    let parts = Parts { item: &parsed, options: &options, checked: &checked, callee };
    let expansion = match form {
        Form::Jit if checked.params.len() == parsed.signature.inputs.len() => emit::jit(&parts),
        Form::Jit => emit::function(&parts),
        Form::Function => emit::function(&parts),
    };
    let tests = match (form, options.checks.is_empty()) {
        (_, true) => TokenStream::new(),
        (Form::Jit, _) => lowering_test::tests(&parsed.signature.ident, &options.checks, &checked, &mut errors),
        (Form::Function, _) => {
            errors.at(
                parsed.signature.ident.span(),
                "`check(..)` belongs on `#[pypto::jit]`: it calls the kernel from Rust",
            );
            TokenStream::new()
        }
    };
    let errors = errors.into_tokens();
    quote!(#errors #expansion #tests)
}

/// The block that gives the generic IR; a placeholder where there are errors.
fn callee(
    item: &Item,
    options: &Options,
    checked: &Checked,
    attribute: &TokenStream,
    tokens: &TokenStream,
    errors: &mut Errors,
) -> TokenStream {
    let Some(statements) = errors.take(function::statements(&item.body)) else { return emit::no_callee() };
    let compile_time: Vec<String> = (function::extents(&checked.params).into_iter())
        .chain(options.metas.iter().map(|meta| &meta.name))
        .chain(checked.params.iter().filter(|p| p.spec && p.is_i64()).map(|p| &p.name))
        .map(ToString::to_string)
        .collect();
    let locals = (item.signature.inputs.iter().filter_map(parameter_name))
        .chain(function::extents(&checked.params).into_iter().map(ToString::to_string))
        .chain(options.metas.iter().map(|meta| meta.name.to_string()));
    let tensors = checked.params.iter().filter(|p| matches!(p.ty, ValueType::Tensor { .. }));
    let tensors = tensors.map(|p| p.name.to_string()).collect();
    let returns = checked.output.is_some();
    let type_params = &checked.type_params;
    let body = capture::body(&item.body, &statements, returns, locals, compile_time, type_params, tensors, errors);
    if !errors.is_empty() {
        return emit::no_callee();
    }
    let tokens = without_attributes(tokens);
    let mut structs = Vec::new();
    let words = words(item, options, checked, &body.text, &mut structs);
    let (source, source_line) = source::of(&tokens);
    emit::callee(&emit::Captured {
        file: item.signature.ident.span().file(),
        source,
        source_line,
        hash: source::hash(&tokens) ^ source::hash(attribute).rotate_left(1),
        words,
        names: &body.names,
        structs,
    })
}

fn parameter_name(input: &syn::FnArg) -> Option<String> {
    match input {
        syn::FnArg::Typed(typed) => match &*typed.pat {
            syn::Pat::Ident(pattern) => Some(pattern.ident.to_string()),
            _ => None,
        },
        syn::FnArg::Receiver(_) => None,
    }
}

/// A function in words.
fn words(item: &Item, options: &Options, checked: &Checked, body: &str, structs: &mut Vec<syn::Type>) -> String {
    let signature = &item.signature;
    [
        code::ident(&signature.ident),
        options.kind.to_owned(),
        code::list(checked.type_params.iter().map(code::ident)),
        code::list(checked.params.iter().map(|param| param.text(structs))),
        code::list(options.metas.iter().map(|meta| format!("{} {}", code::ident(&meta.name), meta.default))),
        code::option(checked.output.as_ref().map(ValueType::text)),
        body.to_owned(),
        code::between(signature.fn_token.span, item.body.span_close()),
    ]
    .join(" ")
}

/// The item from its visibility on.
fn without_attributes(tokens: &TokenStream) -> TokenStream {
    let mut trees = tokens.clone().into_iter().peekable();
    while matches!(trees.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#') {
        trees.next();
        trees.next();
    }
    trees.collect()
}
