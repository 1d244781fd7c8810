//! An annotated function: what the macro reads of it, with every deviation reported.

use std::collections::HashMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Ident, ReturnType, Signature, Visibility};

use crate::attributes::Options;
use crate::errors::Errors;
use crate::expand::Form;
use crate::generics;
use crate::params::{self, Param};
use crate::shape::Dim;
use crate::types::{self, ValueType};

/// A function item whose body is left as tokens: it is emitted as it was written, and parsed apart, so that half-typed
/// bodies still have a signature.
pub struct Item {
    pub attributes: Vec<Attribute>,
    pub visibility: Visibility,
    pub signature: Signature,
    pub body: Group,
}

impl Parse for Item {
    fn parse(input: ParseStream) -> syn::Result<Item> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        if !input.peek(syn::Token![fn]) && input.fork().parse::<Signature>().is_err() {
            return Err(input.error("this attribute belongs on a function"));
        }
        Ok(Item { attributes, visibility, signature: input.parse()?, body: body(input)? })
    }
}

/// The braces of a function; where a macro makes the function of a `$body:block`, they come in a group without delimiters.
fn body(input: ParseStream) -> syn::Result<Group> {
    let error = input.error("a kernel has a body: `{ .. }`");
    match input.parse::<TokenTree>() {
        Ok(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => Ok(group),
        Ok(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => body.parse2(group.stream()),
        _ => Err(error),
    }
}

/// The checked signature.
pub struct Checked {
    pub type_params: Vec<Ident>,
    pub params: Vec<Param>,
    pub output: Option<ValueType>,
}

/// Checks a signature against what the language has.
pub fn check(form: Form, signature: &Signature, options: &Options, errors: &mut Errors) -> Checked {
    qualifiers(signature, errors);
    let type_params = generics::type_params(&signature.generics, errors);
    let mut params: Vec<Param> =
        signature.inputs.iter().filter_map(|input| params::parse(form, input, &type_params, errors)).collect();
    let output = match &signature.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => match types::peel(ty) {
            syn::Type::Tuple(tuple) if tuple.elems.is_empty() => None,
            _ => errors.take(types::value_type(ty, &type_params)),
        },
    };
    if form == Form::Jit {
        returned_tensors(signature, output.as_ref(), errors);
    }
    names(&params, options, errors);
    unify_dynamic(&mut params);
    if form == Form::Jit {
        count(signature, errors);
    }
    if form == Form::Jit && params.len() == signature.inputs.len() {
        inferable(&type_params, &params, errors);
    }
    Checked { type_params, params, output }
}

/// The most parameters that a kernel has handles for, as `pypto::jit::arity`.
const MAX_PARAMETERS: usize = 24;

/// Handles exist for functions of a limited number of parameters.
fn count(signature: &Signature, errors: &mut Errors) {
    if let Some(extra) = signature.inputs.iter().nth(MAX_PARAMETERS) {
        let count = signature.inputs.len();
        let message = format!(
            "a kernel takes up to {MAX_PARAMETERS} parameters, and this one has {count}: group them in structs with \
             `#[derive(pypto::Args)]`"
        );
        errors.over(extra, message);
    }
}

fn qualifiers(signature: &Signature, errors: &mut Errors) {
    if let Some(token) = &signature.asyncness {
        errors.over(token, "a kernel cannot be `async`: it is launched, not polled");
    }
    if let Some(token) = &signature.unsafety {
        errors.over(token, "a kernel cannot be `unsafe`: it has no raw memory");
    }
    if let Some(token) = &signature.constness {
        errors.over(token, "a kernel cannot be `const`: it runs on data");
    }
    if let Some(abi) = &signature.abi {
        errors.over(abi, "a kernel has Rust's calling convention: remove the ABI");
    }
    if let Some(variadic) = &signature.variadic {
        errors.over(variadic, "a kernel has a fixed number of parameters");
    }
}

/// A launch allocates what a kernel returns, so these are tensors.
fn returned_tensors(signature: &Signature, output: Option<&ValueType>, errors: &mut Errors) {
    let is_tensor = |ty: &ValueType| matches!(ty, ValueType::Tensor { .. });
    let fits = match output {
        None => true,
        Some(ValueType::Tuple(items)) => items.iter().all(is_tensor),
        Some(ty) => is_tensor(ty),
    };
    if !fits && let ReturnType::Type(_, ty) = &signature.output {
        errors.over(ty, "a kernel that is called from Rust returns tensors: store the value into an `#[out]` tensor");
    }
}

/// Extents, meta parameters and parameters share one scope in the body.
fn names(params: &[Param], options: &Options, errors: &mut Errors) {
    let mut taken: HashMap<String, &str> = params.iter().map(|p| (p.name.to_string(), "a parameter")).collect();
    for meta in &options.metas {
        if let Some(what) = taken.insert(meta.name.to_string(), "a meta parameter") {
            errors.at(meta.name.span(), format!("`{}` is {what} already", meta.name));
        }
    }
    for dim in params.iter().flat_map(|p| &p.shape) {
        if let Dim::Name { name, .. } = dim
            && let Some(what) = taken.get(&name.to_string())
        {
            errors.at(name.span(), format!("`{name}` is {what} already: name the extent differently"));
        }
    }
}

/// An extent that is `dyn` somewhere is `dyn` everywhere.
fn unify_dynamic(params: &mut [Param]) {
    let dynamic: Vec<String> =
        dims(params).filter(|(_, dynamic)| **dynamic).map(|(name, _)| name.to_string()).collect();
    for param in params {
        for dim in &mut param.shape {
            if let Dim::Name { name, dynamic: flag } = dim {
                *flag |= dynamic.iter().any(|d| name == d);
            }
        }
    }
}

fn dims(params: &[Param]) -> impl Iterator<Item = (&Ident, &bool)> {
    params.iter().flat_map(|p| &p.shape).filter_map(|dim| match dim {
        Dim::Name { name, dynamic } => Some((name, dynamic)),
        _ => None,
    })
}

/// A launch knows its type arguments from the arguments alone.
fn inferable(type_params: &[Ident], params: &[Param], errors: &mut Errors) {
    for (index, name) in type_params.iter().enumerate() {
        let used = params.iter().any(|p| match p.ty {
            ValueType::Tensor { element, .. } | ValueType::Tile { element, .. } | ValueType::Scalar(element) => {
                element == types::Element::Param(index)
            }
            ValueType::Tuple(_) | ValueType::Struct(_) => false,
        });
        if !used {
            errors.at(name.span(), format!("type parameter `{name}` occurs in no parameter, so a call cannot tell it"));
        }
    }
}

/// The extents in scope in the body, each once, in order.
pub fn extents(params: &[Param]) -> Vec<&Ident> {
    let mut names: Vec<&Ident> = Vec::new();
    for (name, _) in dims(params) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The statements of a body.
pub fn statements(body: &Group) -> syn::Result<Vec<syn::Stmt>> {
    syn::parse::Parser::parse2(syn::Block::parse_within, body.stream() as TokenStream)
}
