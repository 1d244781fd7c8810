//! `#[derive(pypto::Args)]`: a struct of tensors and scalars as one parameter of kernels.
//!
//! It implements `Args`, which describes the fields; `KernelArguments` of the struct and of references to it, for calls;
//! and `Sample`, for `.compile(..)` and its siblings.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, GenericParam, Type};

use crate::errors::Errors;
use crate::params::{self, Helpers};
use crate::shape::{self, Dim};
use crate::types::{self, Element, ValueType};

/// A field of the struct.
struct Field {
    name: Ident,
    text: String,
    kind: Kind,
    shape: Vec<Dim>,
    spec: bool,
}

/// What a field is.
enum Kind {
    Tensor { element: TokenStream, rank: usize, access: &'static str, borrowed: bool },
    Scalar { element: TokenStream },
    Struct { ty: Box<Type> },
}

/// Expands the derive macro.
pub fn expand(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(input) = errors.take(syn::parse2::<DeriveInput>(item)) else { return errors.into_tokens() };
    let fields = fields(&input, &mut errors);
    if !errors.is_empty() {
        return errors.into_tokens();
    }
    let (arguments, samples, args) = (arguments(&input, &fields), sample(&input, &fields), args(&input, &fields));
    quote!(#args #arguments #samples)
}

fn fields(input: &DeriveInput, errors: &mut Errors) -> Vec<Field> {
    let Data::Struct(data) = &input.data else {
        errors.at(input.ident.span(), "a kernel takes structs: an enum or union has no fixed fields");
        return Vec::new();
    };
    let Fields::Named(named) = &data.fields else {
        errors.at(input.ident.span(), "the fields need names: kernels and their errors call them `w.name`");
        return Vec::new();
    };
    let type_params: Vec<Ident> = input.generics.type_params().map(|p| p.ident.clone()).collect();
    for param in &input.generics.params {
        if let GenericParam::Const(param) = param {
            errors.over(param, "const parameters are not supported: extents are no part of types");
        }
    }
    named.named.iter().filter_map(|f| field(f, &type_params, errors)).collect()
}

fn field(field: &syn::Field, type_params: &[Ident], errors: &mut Errors) -> Option<Field> {
    let name = field.ident.clone()?;
    let helpers = params::helpers(&field.attrs, "field", errors);
    let kind = errors.take(kind(&field.ty, helpers.out.is_some(), type_params))?;
    misplaced(&kind, &helpers, errors);
    let shape = match (helpers.shape, &kind) {
        (Some(attribute), Kind::Tensor { rank, .. }) => {
            let dims = errors.take(shape::parse(attribute))?;
            if dims.len() != *rank {
                let message = format!("`#[shape]` names {} dimensions, but `{name}` has rank {rank}", dims.len());
                errors.over(attribute, message);
            }
            dims
        }
        _ => Vec::new(),
    };
    Some(Field { text: crate::code::plain(&name), name, kind, shape, spec: helpers.spec.is_some() })
}

fn misplaced(kind: &Kind, helpers: &Helpers, errors: &mut Errors) {
    if let (Some(out), false) = (helpers.out, matches!(kind, Kind::Tensor { access: "Out", .. })) {
        errors.over(out, "`#[out]` belongs on a `&mut Tensor`: an output is written through its borrow");
    }
    if let (Some(spec), false) = (helpers.spec, matches!(kind, Kind::Scalar { .. })) {
        errors.over(spec, "`#[spec]` belongs on a scalar: the extents of tensors are part of the key anyway");
    }
    if let (Some(shape), false) = (helpers.shape, matches!(kind, Kind::Tensor { .. })) {
        errors.over(shape, "`#[shape]` belongs on a tensor: state the extents where the tensors are");
    }
}

fn kind(ty: &Type, out: bool, type_params: &[Ident]) -> syn::Result<Kind> {
    let (inner, mutable) = match types::peel(ty) {
        Type::Reference(reference) => (types::peel(&reference.elem), Some(reference.mutability.is_some())),
        ty => (ty, None),
    };
    if types::is_struct(inner, type_params) {
        return match mutable {
            None => Ok(Kind::Struct { ty: Box::new(inner.clone()) }),
            Some(_) => Err(syn::Error::new_spanned(ty, "a struct within a struct is held by value")),
        };
    }
    match types::value_type(inner, type_params)? {
        ValueType::Tensor { element, rank } => {
            let access = match mutable {
                Some(true) if out => "Out",
                Some(false) => "Read",
                _ => "Write",
            };
            Ok(Kind::Tensor { element: dtype(element, type_params), rank, access, borrowed: mutable.is_some() })
        }
        ValueType::Scalar(element) if mutable.is_none() => Ok(Kind::Scalar { element: dtype(element, type_params) }),
        ValueType::Scalar(_) => Err(syn::Error::new_spanned(ty, "a scalar is held by value")),
        _ => Err(syn::Error::new_spanned(ty, "fields are tensors, scalars, and structs of them")),
    }
}

/// The element type as an expression of type `DType`.
fn dtype(element: Element, type_params: &[Ident]) -> TokenStream {
    let ty = match element {
        Element::Param(index) => {
            let name = &type_params[index];
            quote!(#name)
        }
        Element::Known(name) => {
            let name = Ident::new(name, proc_macro2::Span::call_site());
            if name == "f16" || name == "bf16" { quote!(::pypto::language::#name) } else { quote!(#name) }
        }
    };
    quote!(<#ty as ::pypto::language::Element>::DTYPE)
}

fn args(input: &DeriveInput, fields: &[Field]) -> TokenStream {
    let name = &input.ident;
    let (generics, arguments, clause) = input.generics.split_for_impl();
    let text = crate::code::plain(name);
    let types = fields.iter().map(field_type);
    let checks = fields.iter().map(field_check);
    quote! {
        impl #generics ::pypto::frontend::structs::Args for #name #arguments #clause {
            fn struct_type() -> &'static ::pypto::frontend::structs::StructType {
                const {
                    &::pypto::frontend::structs::StructType { name: #text, fields: &[#(#types),*] }
                }
            }

            #[allow(unused_variables, unused_mut)]
            fn check_extents(&self, parameter: &str) {
                let mut names = ::pypto::language::extent::Names::default();
                #(#checks)*
            }
        }
    }
}

fn field_type(field: &Field) -> TokenStream {
    let (name, spec) = (&field.text, field.spec);
    let ty = match &field.kind {
        Kind::Struct { ty } => {
            let inner = quote_spanned!(ty.span()=> <#ty as ::pypto::frontend::structs::Args>::struct_type);
            quote!(::pypto::frontend::structs::FieldType::Struct(#inner))
        }
        Kind::Tensor { element, rank, access, .. } => {
            let access = Ident::new(access, proc_macro2::Span::call_site());
            let dims = field.shape.iter().map(field_dim);
            let element = quote!(::pypto::frontend::generic::ElementType::Known(#element));
            quote!(::pypto::frontend::structs::FieldType::Value {
                ty: ::pypto::frontend::generic::ValueType::Tensor { element: #element, rank: #rank },
                access: ::pypto::frontend::structs::Access::#access,
                spec: #spec,
                shape: &[#(#dims),*],
            })
        }
        Kind::Scalar { element } => {
            let element = quote!(::pypto::frontend::generic::ElementType::Known(#element));
            quote!(::pypto::frontend::structs::FieldType::Value {
                ty: ::pypto::frontend::generic::ValueType::Scalar(#element),
                access: ::pypto::frontend::structs::Access::Read,
                spec: #spec,
                shape: &[],
            })
        }
    };
    quote!(::pypto::frontend::structs::Field { name: #name, ty: #ty })
}

fn field_dim(dim: &Dim) -> TokenStream {
    match dim {
        Dim::Name { name, dynamic } => {
            let name = crate::code::plain(name);
            quote!(::pypto::frontend::structs::FieldDim::Name { name: #name, dynamic: #dynamic })
        }
        Dim::Literal { extent, .. } => quote!(::pypto::frontend::structs::FieldDim::Literal(#extent)),
        Dim::Any { .. } => quote!(::pypto::frontend::structs::FieldDim::Any),
    }
}

/// The eager check of a field's extents.
fn field_check(field: &Field) -> TokenStream {
    let (name, text) = (&field.name, &field.text);
    let path = quote!(&::std::format!("{parameter}.{}", #text));
    if let Kind::Struct { .. } = field.kind {
        return quote!(::pypto::frontend::structs::Args::check_extents(&self.#name, #path););
    }
    let checks = field.shape.iter().enumerate().map(|(axis, dim)| match dim {
        Dim::Name { name: extent, .. } => {
            let extent = crate::code::plain(extent);
            quote!(names.check(#path, #axis, self.#name.dim(#axis), #extent);)
        }
        Dim::Literal { extent, .. } => {
            quote!(::pypto::language::extent::check(#path, #axis, self.#name.dim(#axis), "", #extent);)
        }
        Dim::Any { .. } => TokenStream::new(),
    });
    quote!(#(#checks)*)
}

/// How the struct is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    Value,
    Shared,
    Mutable,
}

fn arguments(input: &DeriveInput, fields: &[Field]) -> TokenStream {
    let owns = fields.iter().any(|f| match &f.kind {
        Kind::Tensor { borrowed, .. } => !borrowed,
        // A struct without a lifetime can only own its tensors.
        Kind::Struct { ty } => !has_lifetime(ty),
        Kind::Scalar { .. } => false,
    });
    let by_value = (!owns).then(|| arguments_of(input, fields, Passed::Value));
    let (shared, mutable) = (arguments_of(input, fields, Passed::Shared), arguments_of(input, fields, Passed::Mutable));
    quote!(#by_value #shared #mutable)
}

fn has_lifetime(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let is_lifetime = |argument: &syn::GenericArgument| matches!(argument, syn::GenericArgument::Lifetime(_));
    path.path.segments.iter().any(|segment| match &segment.arguments {
        syn::PathArguments::AngleBracketed(list) => list.args.iter().any(is_lifetime),
        _ => false,
    })
}

fn arguments_of(input: &DeriveInput, fields: &[Field], passed: Passed) -> TokenStream {
    let name = &input.ident;
    let (_, type_arguments, clause) = input.generics.split_for_impl();
    let params = &input.generics.params;
    let outlive: Vec<TokenStream> = params
        .iter()
        .map(|param| match param {
            GenericParam::Lifetime(param) => {
                let lifetime = &param.lifetime;
                quote!(#lifetime: 'arguments)
            }
            GenericParam::Type(param) => {
                let name = &param.ident;
                quote!(#name: 'arguments)
            }
            GenericParam::Const(_) => TokenStream::new(),
        })
        .collect();
    let predicates = clause.map(|clause| &clause.predicates);
    let ty = match passed {
        Passed::Value => quote!(#name #type_arguments),
        Passed::Shared => quote!(&'arguments #name #type_arguments),
        Passed::Mutable => quote!(&'arguments mut #name #type_arguments),
    };
    let appended = fields.iter().map(|field| {
        let (name, is_borrowed) = (&field.name, matches!(field.kind, Kind::Tensor { borrowed: true, .. }));
        let writes = matches!(field.kind, Kind::Tensor { access: "Write" | "Out", .. });
        let is_scalar = matches!(field.kind, Kind::Scalar { .. });
        let value = match passed {
            _ if is_scalar => quote!(self.#name),
            Passed::Value => quote!(self.#name),
            Passed::Shared if is_borrowed => quote!(&*self.#name),
            Passed::Shared => quote!(&self.#name),
            Passed::Mutable if is_borrowed && writes => quote!(&mut *self.#name),
            Passed::Mutable if is_borrowed => quote!(&*self.#name),
            Passed::Mutable => quote!(&mut self.#name),
        };
        quote!(::pypto::jit::KernelArguments::append(#value, list);)
    });
    // A trailing comma in the user's generics must not be doubled.
    let params: Vec<&GenericParam> = params.iter().collect();
    quote! {
        impl<'arguments, #(#params),*> ::pypto::jit::KernelArguments<'arguments> for #ty
        where #(#outlive,)* #predicates
        {
            #[allow(unused_variables)]
            fn append(self, list: &mut ::pypto::jit::ArgumentList<'arguments>) {
                #(#appended)*
            }
        }
    }
}

fn sample(input: &DeriveInput, fields: &[Field]) -> TokenStream {
    let name = &input.ident;
    let (generics, arguments, clause) = input.generics.split_for_impl();
    let names: Vec<&Ident> = fields.iter().map(|f| &f.name).collect();
    quote! {
        impl #generics ::pypto::jit::Sample for #name #arguments #clause {
            #[allow(unused_variables)]
            fn append(&self, samples: &mut ::std::vec::Vec<::pypto::jit::ArgumentSpec>) {
                #(::pypto::jit::Sample::append(&self.#names, samples);)*
            }

            #[allow(unused_variables)]
            fn append_contents<'sample>(
                &'sample self,
                contents: &mut ::std::vec::Vec<::std::option::Option<&'sample dyn ::pypto::jit::Content>>,
            ) {
                #(::pypto::jit::Sample::append_contents(&self.#names, contents);)*
            }
        }
    }
}
