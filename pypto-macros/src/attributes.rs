//! The options of `#[pypto::jit(..)]` and `#[pypto::function(..)]`: a kind, `meta(..)` and `check(..)`.

use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, LitInt, Token};

use crate::errors::Errors;
use crate::lowering_test::{self, Check};
use crate::suggest::did_you_mean;

/// The kinds of functions.
const KINDS: [&str; 5] = ["incore", "orchestration", "inline", "opaque", "host"];

/// The options of an attribute.
pub struct Options {
    /// One of [`KINDS`].
    pub kind: &'static str,
    pub metas: Vec<Meta>,
    pub checks: Vec<Check>,
}

/// `NAME = value` within `meta(..)`.
pub struct Meta {
    pub name: Ident,
    pub default: i64,
}

/// Reads the options. What is wrong is reported and left out.
pub fn parse(attribute: TokenStream, errors: &mut Errors) -> Options {
    let mut options = Options { kind: "opaque", metas: Vec::new(), checks: Vec::new() };
    let mut kind: Option<Ident> = None;
    let parser = |input: ParseStream| {
        while !input.is_empty() {
            let name = input.call(Ident::parse_any)?;
            option(&name, input, &mut options, &mut kind, errors)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    };
    if let Err(error) = parser.parse2(attribute) {
        errors.push(error);
    }
    options
}

fn option(
    name: &Ident,
    input: ParseStream,
    options: &mut Options,
    kind: &mut Option<Ident>,
    errors: &mut Errors,
) -> syn::Result<()> {
    let text = name.to_string();
    if text == "meta" {
        let content;
        syn::parenthesized!(content in input);
        for meta in content.parse_terminated(parse_meta, Token![,])? {
            if options.metas.iter().any(|m| m.name == meta.name) {
                errors.at(meta.name.span(), format!("`{}` is defined twice in `meta`", meta.name));
            } else {
                options.metas.push(meta);
            }
        }
        return Ok(());
    }
    if text == "check" {
        let content;
        syn::parenthesized!(content in input);
        options.checks.push(lowering_test::parse(name.clone(), &content)?);
        return Ok(());
    }
    if let Some(known) = KINDS.into_iter().find(|spelling| *spelling == text) {
        if let Some(first) = kind.replace(name.clone()) {
            errors.at(name.span(), format!("a function has one kind, and it is `{first}` already"));
        }
        options.kind = known;
        return Ok(());
    }
    errors.at(name.span(), unknown(&text));
    skip_value(input)
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = KINDS.into_iter().chain(["meta", "check"]).collect();
    let hint = did_you_mean(name, &known);
    format!("unknown option `{name}`{hint} (options: {}, meta(..), check(..))", known[..KINDS.len()].join(", "))
}

/// Skips what follows an unknown option, so that the other options are still read.
fn skip_value(input: ParseStream) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
}

fn parse_meta(input: ParseStream) -> syn::Result<Meta> {
    let name: Ident = input.parse()?;
    if !input.peek(Token![=]) {
        return Err(input.error(format!("write `{name} = value`: a meta parameter needs a default")));
    }
    input.parse::<Token![=]>()?;
    let negative = input.parse::<Option<Token![-]>>()?.is_some();
    let message = "the default of a meta parameter is an integer literal";
    let literal: LitInt = input.parse().map_err(|e| syn::Error::new(e.span(), message))?;
    let value: i64 = literal.base10_parse().map_err(|e| syn::Error::new(literal.span(), e))?;
    Ok(Meta { name, default: if negative { -value } else { value } })
}

/// The names of `#[task(name, after = [a, b])]`.
pub struct Task {
    pub name: Option<Ident>,
    pub after: Vec<Ident>,
}

/// Reads the arguments of `#[task(..)]`.
pub fn parse_task(attribute: &syn::Attribute) -> syn::Result<Task> {
    let mut task = Task { name: None, after: Vec::new() };
    attribute.parse_args_with(|input: ParseStream| {
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if input.peek(Token![=]) {
                if name != "after" {
                    let hint = did_you_mean(&name.to_string(), &["after"]);
                    return Err(syn::Error::new(name.span(), format!("unknown option `{name}` of `task`{hint}")));
                }
                input.parse::<Token![=]>()?;
                let content;
                syn::bracketed!(content in input);
                task.after.extend(Punctuated::<Ident, Token![,]>::parse_terminated(&content)?);
            } else if task.name.replace(name.clone()).is_some() {
                return Err(syn::Error::new(name.span(), "a task has one name"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    })?;
    Ok(task)
}
