//! The expansion of an annotated function.
//!
//! For `#[pypto::jit] pub fn softmax<T: Element>(x: &Tensor<T, 2>, y: &mut Tensor<T, 2>)` it is:
//! - `pub fn softmax<T: Element>(..) -> Result<Launched<softmax, (T,)>>`, which launches the kernel;
//! - `pub enum softmax {}`, the companion type, through which rustc resolves calls in other kernels;
//! - `impl Callable for softmax`, which holds the generic IR;
//! - `softmax::eager`, the verbatim body, and `impl Eager<(..)> for softmax`.
//!
//! For `#[pypto::function]` the item itself is the verbatim one, and only the companion and `Callable` are added.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::VisitMut;
use syn::{Attribute, FnArg, Pat, PatType, ReturnType, Signature};

use crate::attributes::Options;
use crate::capture::names::{Names, Tables};
use crate::function::{Checked, Item};
use crate::params::{self, Param};
use crate::shape::Dim;
use crate::types::ValueType;

/// Everything that an expansion is made of.
pub struct Parts<'a> {
    pub item: &'a Item,
    pub options: &'a Options,
    pub checked: &'a Checked,
    /// A block whose value is the `Callee`.
    pub callee: TokenStream,
}

/// Puts an argument into the list of a call. Names its type, so that it is the place where rustc says that kernels take no such type.
fn appended(param: &Param) -> TokenStream {
    let (name, ty) = (generated(&param.name), &param.plain.ty);
    quote!(<#ty as ::pypto::jit::KernelArguments<'_>>::append(#name, &mut __arguments);)
}

/// The expansion of `#[pypto::jit]`.
pub fn jit(parts: &Parts) -> TokenStream {
    let Item { attributes, visibility, signature, body } = parts.item;
    let name = &signature.ident;
    let (cfg, rest) = split(attributes, is_cfg);
    let (lints, outer) = split(&rest, is_lint);
    let (generics, clause) = (&signature.generics, &signature.generics.where_clause);
    let output = output_type(signature);
    let type_arguments = type_arguments(&parts.checked.type_params);
    let inputs = plain_inputs(signature, false);
    let names: Vec<Ident> = parts.checked.params.iter().map(|p| generated(&p.name)).collect();
    let eager_signature = Signature {
        ident: Ident::new("eager", Span::call_site()),
        inputs: plain_inputs(signature, true),
        ..signature.clone()
    };
    let eager_body = with_bindings(parts, body, Some(&generated(name)));
    let doc = format!("The body of [`{name}`](fn@{name}) as plain Rust.");
    let companion = companion(parts, &cfg);
    let eager_impl = eager_impl(parts, &cfg, &output);
    let launch = if parts.checked.params.iter().any(|p| matches!(p.ty, ValueType::Struct(_))) {
        let appended = parts.checked.params.iter().map(appended);
        quote! {
            let mut __arguments = ::pypto::jit::ArgumentList::new();
            #(#appended)*
            ::pypto::jit::launch::<#name, #type_arguments, #output>(::pypto::jit::call_site!(), &mut __arguments)
        }
    } else {
        quote! {
            ::pypto::jit::launch::<#name, #type_arguments, #output>(
                ::pypto::jit::call_site!(),
                &mut [#(::pypto::jit::KernelArgument::argument(&mut { #names })),*],
            )
        }
    };
    quote! {
        #(#cfg)* #(#outer)* #(#lints)*
        #visibility fn #name #generics (#inputs)
            -> ::pypto::jit::Result<::pypto::jit::Launched<#name, #type_arguments, #output>>
        #clause
        {
            #launch
        }
        #companion
        #(#cfg)*
        impl #name {
            #[doc = #doc]
            #(#lints)*
            #visibility #eager_signature #eager_body
        }
        #eager_impl
    }
}

/// The expansion of `#[pypto::function]`.
pub fn function(parts: &Parts) -> TokenStream {
    let Item { attributes, visibility, signature, body } = parts.item;
    let (cfg, _) = split(attributes, is_cfg);
    let signature = Signature { inputs: plain_inputs(signature, true), ..signature.clone() };
    let body = with_bindings(parts, body, None);
    let companion = companion(parts, &cfg);
    quote! {
        #(#attributes)* #visibility #signature #body
        #companion
    }
}

/// The companion type, and the generic IR behind it.
fn companion(parts: &Parts, cfg: &[Attribute]) -> TokenStream {
    let (name, visibility, callee) = (generated(&parts.item.signature.ident), &parts.item.visibility, &parts.callee);
    quote! {
        #(#cfg)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        #visibility enum #name {}
        #(#cfg)*
        #[allow(unused, clippy::all)]
        impl ::pypto::frontend::generic::Callable for #name {
            fn callee() -> ::pypto::frontend::generic::Callee #callee
        }
    }
}

fn eager_impl(parts: &Parts, cfg: &[Attribute], output: &TokenStream) -> TokenStream {
    let name = generated(&parts.item.signature.ident);
    let generics = &parts.item.signature.generics;
    let (clause, params) = (&generics.where_clause, &generics.params);
    let separator = (!params.is_empty() && !params.trailing_punct()).then(|| quote!(,));
    let mut lifetimes = Vec::new();
    let mut types = Vec::new();
    let mut names = Vec::new();
    for (index, param) in parts.checked.params.iter().enumerate() {
        types.push(with_lifetime(&param.plain.ty, index, &mut lifetimes));
        names.push(format_ident!("a{index}"));
    }
    quote! {
        #(#cfg)*
        impl<#(#lifetimes,)* #params #separator> ::pypto::jit::Eager<(#(#types,)*)> for #name #clause {
            type Output = #output;
            fn eager((#(#names,)*): (#(#types,)*)) -> #output {
                ::pypto::jit::eager_scope(|| #name::eager(#(#names),*))
            }
        }
    }
}

/// The type with lifetimes in the place of the inferred ones.
fn with_lifetime(ty: &syn::Type, index: usize, lifetimes: &mut Vec<syn::Lifetime>) -> syn::Type {
    let mut ty = crate::types::peel(ty).clone();
    if let syn::Type::Reference(reference) = &mut ty {
        reference.lifetime = Some(syn::Lifetime::new("'_", Span::call_site()));
    }
    Named { index, lifetimes }.visit_type_mut(&mut ty);
    ty
}

/// Gives every `'_` a name: an impl would take each of its places for a lifetime of its own.
struct Named<'a> {
    index: usize,
    lifetimes: &'a mut Vec<syn::Lifetime>,
}

impl VisitMut for Named<'_> {
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        if lifetime.ident == "_" {
            let name = format!("'p{}_{}", self.index, self.lifetimes.len());
            *lifetime = syn::Lifetime::new(&name, lifetime.span());
            self.lifetimes.push(lifetime.clone());
        }
    }
}

/// The body with its extents and meta parameters bound in front, and calls of kernels without a warning; everything else is
/// as it was written.
///
/// `kernel` is the companion type of a kernel, whose meta parameters may be set by `.with(..)`.
fn with_bindings(parts: &Parts, body: &Group, kernel: Option<&Ident>) -> Group {
    let mut stream = bindings(parts, kernel);
    let statements = crate::fallback::strip_statements(body.stream());
    stream.extend(crate::kernel_calls::without_warnings(statements));
    let mut group = Group::new(Delimiter::Brace, stream);
    group.set_span(body.span());
    group
}

fn bindings(parts: &Parts, kernel: Option<&Ident>) -> TokenStream {
    let mut tokens = TokenStream::new();
    let mut bound: Vec<&Ident> = Vec::new();
    for param in &parts.checked.params {
        if let ValueType::Struct(_) = param.ty {
            tokens.extend(struct_extents(param));
        }
        for (axis, dim) in param.shape.iter().enumerate() {
            tokens.extend(extent(param, axis, dim, &mut bound));
        }
    }
    for meta in &parts.options.metas {
        let (name, default) = (&meta.name, meta.default);
        let value = match kernel {
            Some(kernel) => {
                let text = name.to_string();
                quote!(::pypto::jit::eager_meta::<#kernel>(#text, #default))
            }
            None => quote!(#default),
        };
        tokens.extend(quote!(#[allow(non_snake_case, unused_variables)] let #name: i64 = #value;));
    }
    tokens
}

/// The check of the extents of a struct parameter's fields.
fn struct_extents(param: &Param) -> TokenStream {
    let (name, text) = (generated(&param.name), param.name.to_string());
    let borrowed = match crate::types::peel(&param.plain.ty) {
        syn::Type::Reference(_) => quote!(&*#name),
        _ => quote!(&#name),
    };
    quote!(::pypto::frontend::structs::Args::check_extents(#borrowed, #text);)
}

/// The first occurrence of a name binds the extent, every other one is compared with it.
fn extent<'a>(param: &'a Param, axis: usize, dim: &'a Dim, bound: &mut Vec<&'a Ident>) -> TokenStream {
    let tensor = generated(&param.name);
    let axis = proc_macro2::Literal::usize_unsuffixed(axis);
    let text = param.name.to_string();
    match dim {
        Dim::Name { name, .. } if !bound.contains(&name) => {
            bound.push(name);
            quote!(#[allow(non_snake_case, unused_variables)] let #name: i64 = #tensor.dim(#axis);)
        }
        Dim::Name { name, .. } => {
            let what = name.to_string();
            quote!(::pypto::language::extent::check(#text, #axis, #tensor.dim(#axis), #what, #name);)
        }
        Dim::Literal { extent, .. } => {
            quote!(::pypto::language::extent::check(#text, #axis, #tensor.dim(#axis), "", #extent);)
        }
        Dim::Any { .. } => TokenStream::new(),
    }
}

/// The parameters without helper attributes; the launcher does not need their `mut`.
fn plain_inputs(signature: &Signature, keep_mut: bool) -> syn::punctuated::Punctuated<FnArg, syn::Token![,]> {
    let mut inputs = signature.inputs.clone();
    for input in &mut inputs {
        if let FnArg::Typed(PatType { attrs, pat, .. }) = input {
            *attrs = params::plain_attributes(attrs);
            if let Pat::Ident(pattern) = &mut **pat
                && !keep_mut
            {
                pattern.mutability = None;
            }
        }
    }
    inputs
}

fn output_type(signature: &Signature) -> TokenStream {
    match &signature.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    }
}

fn type_arguments(params: &[Ident]) -> TokenStream {
    quote!((#(#params,)*))
}

/// The same name, but placed at the attribute: rust-analyzer then has one place for it in the source.
fn generated(name: &Ident) -> Ident {
    Ident::new(&name.to_string(), Span::call_site().resolved_at(name.span()))
}

fn split(attributes: &[Attribute], belongs: fn(&Attribute) -> bool) -> (Vec<Attribute>, Vec<Attribute>) {
    attributes.iter().cloned().partition(belongs)
}

/// Attributes that decide whether the function exists: they go on every item.
fn is_cfg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
}

/// Attributes that also concern the body.
fn is_lint(attribute: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid", "inline", "cold"].iter().any(|name| attribute.path().is_ident(name))
}

/// What `Callable::callee` consists of.
pub struct Captured<'a> {
    pub file: String,
    pub source: String,
    pub source_line: usize,
    pub hash: u64,
    /// The function in words.
    pub words: String,
    pub names: &'a Names,
    /// The types of struct parameters.
    pub structs: Vec<syn::Type>,
}

/// The block that gives the generic IR.
pub fn callee(captured: &Captured) -> TokenStream {
    let Captured { file, source, source_line, hash, words, names, structs } = captured;
    let Tables { items, fallbacks, imports, callees, constants, computed } = names.tables();
    quote! {{
        #items
        #fallbacks
        {
            #imports
            static __CAPTURED: ::pypto::frontend::captured::Captured = ::pypto::frontend::captured::Captured::new(
                ::core::module_path!(), #file, #source, #source_line, #hash, #words, &[#callees], &[#constants],
                &[#computed],
                &[#(<#structs as ::pypto::frontend::structs::Args>::struct_type),*],
            );
            ::pypto::frontend::generic::Callee::Function(__CAPTURED.function())
        }
    }}
}

/// In the place of a generic IR that could not be captured: the compile fails anyway, and callers get no errors of their
/// own.
pub fn no_callee() -> TokenStream {
    quote!({ ::pypto::frontend::generic::Callee::Intrinsic("") })
}
