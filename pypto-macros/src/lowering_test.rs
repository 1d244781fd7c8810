//! `check(x = [512, 256], n = 4)`: a test that lowers the kernel at those extents, so that its errors show in `cargo test`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Token};

use crate::errors::Errors;
use crate::function::Checked;
use crate::params::Param;
use crate::suggest::did_you_mean;
use crate::types::{Element, ValueType};

/// One `check(..)`.
pub struct Check {
    name: Ident,
    entries: Vec<Entry>,
}

/// `x = [512, 256]`, `n = 4`, or for a type parameter `T = f32`.
struct Entry {
    name: Ident,
    value: Expr,
}

impl Parse for Entry {
    fn parse(input: ParseStream) -> syn::Result<Entry> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Entry { name, value: input.parse()? })
    }
}

/// What follows `check`, whose name is given.
pub fn parse(name: Ident, content: ParseStream) -> syn::Result<Check> {
    let entries = Punctuated::<Entry, Token![,]>::parse_terminated(content)?.into_iter().collect();
    Ok(Check { name, entries })
}

/// The tests of a kernel.
pub fn tests(kernel: &Ident, checks: &[Check], checked: &Checked, errors: &mut Errors) -> TokenStream {
    let tests = checks.iter().enumerate().map(|(number, check)| test(kernel, number, check, checked, errors));
    tests.collect()
}

fn test(kernel: &Ident, number: usize, check: &Check, checked: &Checked, errors: &mut Errors) -> TokenStream {
    let known: Vec<&Ident> = checked.params.iter().map(|p| &p.name).chain(&checked.type_params).collect();
    for Entry { name, .. } in check.entries.iter().filter(|entry| !known.contains(&&entry.name)) {
        let names: Vec<String> = known.iter().map(ToString::to_string).collect();
        let hint = did_you_mean(&name.to_string(), &names.iter().map(String::as_str).collect::<Vec<_>>());
        errors.at(name.span(), format!("`{kernel}` has no parameter `{name}`{hint}"));
    }
    for param in checked.params.iter().filter(|p| !matches!(p.ty, ValueType::Tensor { .. } | ValueType::Scalar(_))) {
        errors.at(check.name.span(), format!("`check` describes tensors and scalars, and `{}` is neither", param.name));
    }
    let mut value = |name: &Ident, form: &str| {
        let found = check.entries.iter().find(|entry| entry.name == *name).map(|entry| &entry.value);
        if found.is_none() {
            errors.at(check.name.span(), format!("`check` describes every parameter: write `{name} = {form}`"));
        }
        found
    };
    let types: Vec<&Expr> = checked.type_params.iter().filter_map(|name| value(name, "f32")).collect();
    let samples: Vec<TokenStream> =
        checked.params.iter().filter_map(|param| sample(param, &types, &mut value)).collect();
    if !errors.is_empty() {
        return TokenStream::new();
    }
    let suffix = if number == 0 { String::new() } else { format!("_{}", number + 1) };
    let test = format_ident!("{kernel}_lowers{suffix}", span = check.name.span());
    let arguments = (!types.is_empty()).then(|| quote!(::<#(#types),*>));
    quote! {
        #[cfg(test)]
        #[test]
        #[allow(non_snake_case)]
        fn #test() {
            let samples = (#(#samples,)*);
            if let Err(failure) = ::pypto::jit::lowering_test::run(&#kernel #arguments, &samples) {
                panic!("{failure}");
            }
        }
    }
}

/// The sample of a parameter.
fn sample<'a>(
    param: &Param,
    types: &[&Expr],
    value: &mut impl FnMut(&Ident, &str) -> Option<&'a Expr>,
) -> Option<TokenStream> {
    let dtype = |element: &Element| match element {
        Element::Known(name) => {
            let name = Ident::new(name, param.name.span());
            match name.to_string().as_str() {
                "f16" | "bf16" => quote!(::pypto::prelude::#name),
                _ => quote!(#name),
            }
        }
        Element::Param(index) => types.get(*index).map_or(quote!(f32), |ty| quote!(#ty)),
    };
    match &param.ty {
        ValueType::Tensor { element, rank } => {
            let extents = value(&param.name, &format!("[{}]", vec!["8"; *rank].join(", ")))?;
            let ty = dtype(element);
            Some(quote! {
                ::pypto::jit::TensorSpec::new(<#ty as ::pypto::language::Element>::DTYPE, #extents as [i64; #rank])
            })
        }
        ValueType::Scalar(element) => {
            let (number, ty) = (value(&param.name, "1")?, dtype(element));
            Some(quote!({ let sample: #ty = #number; sample }))
        }
        // Reported already.
        _ => None,
    }
}
