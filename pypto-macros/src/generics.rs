//! Type parameters of an annotated function: element types, bounded by `Element`.

use syn::{GenericParam, Generics, Ident, TypeParamBound, WherePredicate};

use crate::errors::Errors;

/// The type parameters in order. Lifetimes and const parameters are reported.
pub fn type_params(generics: &Generics, errors: &mut Errors) -> Vec<Ident> {
    let mut names = Vec::new();
    for param in &generics.params {
        match param {
            GenericParam::Type(param) => {
                if !(has_element(&param.bounds) || bounded_in_where(generics, &param.ident)) {
                    let message =
                        format!("a type parameter stands for an element type: write `{}: Element`", param.ident);
                    errors.at(param.ident.span(), message);
                }
                if let Some(default) = &param.default {
                    errors.over(default, "type parameters of functions have no defaults");
                }
                names.push(param.ident.clone());
            }
            GenericParam::Lifetime(param) => {
                errors.over(param, "lifetimes of kernel parameters are inferred: leave them out");
            }
            GenericParam::Const(param) => {
                let message = "const parameters are not supported: use `#[shape(..)]` for extents, or `meta(..)` and \
                               `#[spec]` for other compile-time integers";
                errors.at(param.ident.span(), message);
            }
        }
    }
    names
}

fn bounded_in_where(generics: &Generics, name: &Ident) -> bool {
    let Some(clause) = &generics.where_clause else { return false };
    clause.predicates.iter().any(|predicate| match predicate {
        WherePredicate::Type(bound) => {
            matches!(&bound.bounded_ty, syn::Type::Path(path) if path.path.is_ident(name)) && has_element(&bound.bounds)
        }
        _ => false,
    })
}

fn has_element<'a>(bounds: impl IntoIterator<Item = &'a TypeParamBound>) -> bool {
    bounds.into_iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().is_some_and(|s| s.ident == "Element"),
        _ => false,
    })
}
