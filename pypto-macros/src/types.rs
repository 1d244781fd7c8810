//! The types that the language has values of, read from their spelling.
//!
//! The macro sees names, not types, so element types are known by the last segment of their path.

use crate::code;
use proc_macro2::Span;
use syn::{GenericArgument, Ident, PathArguments, PathSegment, Type};

/// Element types as users write them.
const ELEMENTS: [&str; 11] = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "f16", "bf16", "f32"];

const ELEMENT_LIST: &str = "bool, i8, i16, i32, i64, u8, u16, u32, f16, bf16, f32";

/// The element type of that name. `usize` and `isize` count as `i64`: index arithmetic is done in 64 bits.
pub fn dtype(name: &str) -> Option<&'static str> {
    match name {
        "usize" | "isize" => Some("i64"),
        _ => ELEMENTS.into_iter().find(|spelling| *spelling == name),
    }
}

/// Whether the name is one of Rust's primitive number types or an element type.
pub fn is_scalar_name(name: &str) -> bool {
    dtype(name).is_some() || matches!(name, "u64" | "f64" | "i128" | "u128" | "char")
}

/// An element type: known, or a type parameter by index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Spelling of a `DType`.
    Known(&'static str),
    Param(usize),
}

impl Element {
    /// The element type in words.
    pub fn text(self) -> String {
        match self {
            Element::Known(dtype) => dtype.to_owned(),
            Element::Param(index) => format!("#{index}"),
        }
    }
}

/// A type that the language has values of.
pub enum ValueType {
    Tensor {
        element: Element,
        rank: usize,
    },
    Tile {
        element: Element,
        rank: usize,
    },
    Scalar(Element),
    Tuple(Vec<ValueType>),
    /// A struct that derives `Args`, of parameters only.
    Struct(Box<Type>),
}

impl ValueType {
    /// The type in words.
    pub fn text(&self) -> String {
        match self {
            ValueType::Tensor { element, rank } => format!("tensor {} {rank}", element.text()),
            ValueType::Tile { element, rank } => format!("tile {} {rank}", element.text()),
            ValueType::Scalar(element) => format!("scalar {}", element.text()),
            ValueType::Tuple(items) => format!("tuple {}", code::list(items.iter().map(ValueType::text))),
            // Parameters write it themselves: it is an entry of a table.
            ValueType::Struct(_) => String::new(),
        }
    }
}

/// The value type that `ty` spells.
pub fn value_type(ty: &Type, params: &[Ident]) -> syn::Result<ValueType> {
    match ty {
        Type::Paren(inner) => value_type(&inner.elem, params),
        Type::Group(inner) => value_type(&inner.elem, params),
        Type::Tuple(tuple) => {
            tuple.elems.iter().map(|t| value_type(t, params)).collect::<syn::Result<Vec<_>>>().map(ValueType::Tuple)
        }
        Type::Path(path) if path.qself.is_none() => match path.path.segments.last() {
            Some(last) if last.ident == "Tensor" => {
                shaped(last, None, params).map(|(element, rank)| ValueType::Tensor { element, rank })
            }
            Some(last) if last.ident == "Tile" => {
                shaped(last, Some(2), params).map(|(element, rank)| ValueType::Tile { element, rank })
            }
            _ => element(ty, params).map(ValueType::Scalar),
        },
        _ => Err(syn::Error::new_spanned(ty, "the language has tensors, tiles, scalars and tuples of them")),
    }
}

/// Types of the standard library that users try as parameters, and that never derive `Args`.
const FOREIGN: [&str; 11] =
    ["Vec", "String", "Option", "Box", "Rc", "Arc", "HashMap", "BTreeMap", "HashSet", "Result", "Cow"];

/// Whether `ty` can only be a struct of the user's: rustc then finds out whether it derives `Args`.
pub fn is_struct(ty: &Type, params: &[Ident]) -> bool {
    let Type::Path(path) = ty else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    let name = last.ident.to_string();
    let known = matches!(name.as_str(), "Tensor" | "Tile") || FOREIGN.contains(&name.as_str());
    let is_param = path.path.get_ident().is_some_and(|ident| params.contains(ident));
    path.qself.is_none() && name.starts_with(|c: char| c.is_uppercase()) && !known && !is_param
}

/// The element type that `ty` spells.
pub fn element(ty: &Type, params: &[Ident]) -> syn::Result<Element> {
    let ty = peel(ty);
    let Type::Path(path) = ty else {
        return Err(syn::Error::new_spanned(ty, format!("expected an element type ({ELEMENT_LIST})")));
    };
    if let Some(index) = path.path.get_ident().and_then(|name| params.iter().position(|p| p == name)) {
        return Ok(Element::Param(index));
    }
    let name = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
    match name.as_str() {
        "f64" => Err(syn::Error::new_spanned(ty, "`f64` is not an element type of PyPTO: use `f32`")),
        "u64" | "i128" | "u128" => {
            Err(syn::Error::new_spanned(ty, format!("`{name}` is not an element type of PyPTO: use `i64` or `u32`")))
        }
        _ => dtype(&name).map(Element::Known).ok_or_else(|| {
            let message = format!(
                "`{name}` is not an element type of PyPTO; element types are {ELEMENT_LIST}, \
                                   and type parameters bounded by `Element`"
            );
            syn::Error::new_spanned(ty, message)
        }),
    }
}

/// Element type and rank of `Tensor<T, R>` or `Tile<T, R>`.
fn shaped(segment: &PathSegment, default_rank: Option<usize>, params: &[Ident]) -> syn::Result<(Element, usize)> {
    let name = &segment.ident;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        let message = format!("write the element type and rank: `{name}<f32, 2>`");
        return Err(syn::Error::new(name.span(), message));
    };
    let mut arguments = arguments.args.iter();
    let element = match arguments.next() {
        Some(GenericArgument::Type(ty)) => element(ty, params)?,
        other => return Err(missing(name.span(), other, "expected an element type first")),
    };
    let rank = match arguments.next() {
        Some(argument) => rank(argument)?,
        None => {
            default_rank.ok_or_else(|| syn::Error::new(name.span(), format!("write the rank too: `{name}<.., 2>`")))?
        }
    };
    if let Some(extra) = arguments.next() {
        return Err(syn::Error::new_spanned(extra, format!("`{name}` has an element type and a rank")));
    }
    Ok((element, rank))
}

fn missing(at: Span, found: Option<&GenericArgument>, message: &str) -> syn::Error {
    match found {
        Some(found) => syn::Error::new_spanned(found, message),
        None => syn::Error::new(at, message),
    }
}

/// The largest rank, as `pypto::language::argument::MAX_RANK`.
const MAX_RANK: usize = 6;

fn rank(argument: &GenericArgument) -> syn::Result<usize> {
    let GenericArgument::Const(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. })) = argument else {
        return Err(syn::Error::new_spanned(argument, "the rank in a kernel's signature is an integer literal"));
    };
    match literal.base10_parse::<usize>() {
        Ok(rank) if (1..=MAX_RANK).contains(&rank) => Ok(rank),
        _ => Err(syn::Error::new(literal.span(), format!("the rank is between 1 and {MAX_RANK}"))),
    }
}

/// The type without parentheses and invisible groups.
pub fn peel(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Paren(inner) => &inner.elem,
            Type::Group(inner) => &inner.elem,
            _ => return ty,
        }
    }
}
