//! Parameters: their types, directions and helper attributes.

use syn::{Attribute, FnArg, Ident, Pat, PatType, Type};

use crate::code;
use crate::errors::Errors;
use crate::expand::Form;
use crate::shape::{self, Dim};
use crate::suggest::did_you_mean;
use crate::types::{self, ValueType};

/// The attributes that parameters may have; they are not Rust's, so the expansion leaves them out.
pub const HELPERS: [&str; 3] = ["shape", "out", "spec"];

/// A parameter.
pub struct Param {
    pub name: Ident,
    pub ty: ValueType,
    /// How the memory is used: `in`, `out` or `inout`; of a struct, `in` where it is a shared reference.
    pub direction: &'static str,
    pub spec: bool,
    pub shape: Vec<Dim>,
    /// As written, without the helper attributes.
    pub plain: PatType,
}

impl Param {
    /// Whether it is an `i64`.
    pub fn is_i64(&self) -> bool {
        matches!(self.ty, ValueType::Scalar(types::Element::Known("i64")))
    }

    /// The parameter in words; `structs` is the table of the types of struct parameters.
    pub fn text(&self, structs: &mut Vec<Type>) -> String {
        if let ValueType::Struct(ty) = &self.ty {
            let index = structs.iter().position(|known| known == &**ty).unwrap_or_else(|| {
                structs.push((**ty).clone());
                structs.len() - 1
            });
            let shared = self.direction == "in";
            return format!("struct {index} {shared} {} {}", code::ident(&self.name), code::range(&self.plain.ty));
        }
        format!(
            "value {} {} {} {} {} {}",
            code::ident(&self.name),
            self.ty.text(),
            code::range(&self.plain.ty),
            self.direction,
            self.spec,
            code::list(self.shape.iter().map(Dim::text)),
        )
    }
}

/// Reads one parameter; `None`, with an error, where it is none that the language has.
pub fn parse(form: Form, argument: &FnArg, type_params: &[Ident], errors: &mut Errors) -> Option<Param> {
    let typed = match argument {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            errors.over(receiver, "a kernel is a free function: move it out of the `impl` and pass what it needs");
            return None;
        }
    };
    let Some(name) = name(&typed.pat) else {
        errors.over(&typed.pat, "a parameter of a kernel is a plain name");
        return None;
    };
    let helpers = helpers(&typed.attrs, "parameter", errors);
    let (ty, direction) = errors.take(parameter_type(form, &typed.ty, helpers.out.is_some(), type_params))?;
    let is_tensor = matches!(ty, ValueType::Tensor { .. });
    if let Some(out) = helpers.out
        && direction != "out"
    {
        errors.over(out, "`#[out]` belongs on a `&mut Tensor`: an output is written through its borrow");
    }
    if let Some(spec) = helpers.spec
        && !matches!(ty, ValueType::Scalar(_))
    {
        errors.over(spec, "`#[spec]` belongs on a scalar: the extents of tensors are part of the key anyway");
    }
    let shape = helpers.shape.map(|attribute| shape_of(attribute, &ty, is_tensor, typed, errors)).unwrap_or_default();
    let plain = PatType { attrs: plain_attributes(&typed.attrs), ..typed.clone() };
    Some(Param { name, ty, direction, spec: helpers.spec.is_some(), shape, plain })
}

fn name(pattern: &Pat) -> Option<Ident> {
    match pattern {
        Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => Some(p.ident.clone()),
        _ => None,
    }
}

/// The attributes without the helpers.
pub fn plain_attributes(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|a| !HELPERS.iter().any(|h| a.path().is_ident(h))).cloned().collect()
}

/// The helper attributes of one parameter or field.
#[derive(Default)]
pub struct Helpers<'a> {
    pub shape: Option<&'a Attribute>,
    pub out: Option<&'a Attribute>,
    pub spec: Option<&'a Attribute>,
}

/// Reads the helper attributes; `what` is a parameter or a field.
pub fn helpers<'a>(attributes: &'a [Attribute], what: &str, errors: &mut Errors) -> Helpers<'a> {
    let mut helpers = Helpers::default();
    for attribute in attributes {
        let name = attribute.path().segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        let place = match name.as_str() {
            "shape" => &mut helpers.shape,
            "out" => &mut helpers.out,
            "spec" => &mut helpers.spec,
            "doc" | "allow" | "expect" | "warn" | "cfg" | "cfg_attr" => continue,
            // Those of a field may belong to another derive macro; rustc knows the unknown ones.
            _ if what == "field" => continue,
            _ => {
                let hint = did_you_mean(&name, &HELPERS);
                errors.over(attribute, format!("unknown attribute `{name}` of a {what}{hint} (shape, out, spec)"));
                continue;
            }
        };
        if place.replace(attribute).is_some() {
            errors.over(attribute, format!("`#[{name}]` is given twice"));
        }
    }
    for (name, attribute) in [("out", helpers.out), ("spec", helpers.spec)] {
        if let Some(attribute) = attribute
            && !matches!(attribute.meta, syn::Meta::Path(_))
        {
            errors.over(attribute, format!("`#[{name}]` takes no arguments"));
        }
    }
    helpers
}

fn shape_of(attribute: &Attribute, ty: &ValueType, is_tensor: bool, typed: &PatType, errors: &mut Errors) -> Vec<Dim> {
    let Some(dims) = errors.take(shape::parse(attribute)) else { return Vec::new() };
    match ty {
        ValueType::Tensor { rank, .. } | ValueType::Tile { rank, .. } if *rank == dims.len() => return dims,
        ValueType::Tensor { rank, .. } | ValueType::Tile { rank, .. } => {
            let (count, what) = (dims.len(), if is_tensor { "tensor" } else { "tile" });
            let dimensions = if count == 1 { "dimension" } else { "dimensions" };
            let name = quote::ToTokens::to_token_stream(&typed.pat);
            errors.over(
                attribute,
                format!("`#[shape]` names {count} {dimensions}, but the {what} `{name}` has rank {rank}"),
            );
        }
        ValueType::Struct(_) => errors.over(attribute, "`#[shape]` of a struct's tensors belongs on its fields"),
        _ => errors.over(attribute, "`#[shape]` belongs on a tensor: a scalar has no dimensions"),
    }
    Vec::new()
}

/// The type and direction of a parameter.
fn parameter_type(form: Form, ty: &Type, out: bool, params: &[Ident]) -> syn::Result<(ValueType, &'static str)> {
    if let Type::Reference(reference) = types::peel(ty) {
        // Other lifetimes are declared in `<..>`, and reported there.
        if let Some(lifetime) = reference.lifetime.as_ref().filter(|l| l.ident == "static") {
            let message = "a kernel borrows its tensors for the call only: leave the lifetime out";
            return Err(syn::Error::new_spanned(lifetime, message));
        }
        if types::is_struct(types::peel(&reference.elem), params) {
            let direction = if reference.mutability.is_some() { "inout" } else { "in" };
            return Ok((ValueType::Struct(Box::new(types::peel(&reference.elem).clone())), direction));
        }
        let value = types::value_type(&reference.elem, params)?;
        return match (&value, reference.mutability) {
            (ValueType::Tensor { .. }, None) => Ok((value, "in")),
            (ValueType::Tensor { .. }, Some(_)) if out => Ok((value, "out")),
            (ValueType::Tensor { .. }, Some(_)) => Ok((value, "inout")),
            _ => Err(syn::Error::new_spanned(
                ty,
                "only tensors and structs are passed by reference: pass tiles and scalars by value",
            )),
        };
    }
    let value = match types::peel(ty) {
        struct_type if types::is_struct(struct_type, params) => {
            return Ok((ValueType::Struct(Box::new(struct_type.clone())), "inout"));
        }
        Type::Path(_) => types::value_type(ty, params)?,
        _ => return Err(syn::Error::new_spanned(ty, expected(form))),
    };
    match (&value, form) {
        (ValueType::Scalar(_), _) | (ValueType::Tile { .. }, Form::Function) => Ok((value, "in")),
        (ValueType::Tensor { .. }, _) => Err(syn::Error::new_spanned(
            ty,
            "a tensor is passed by reference: `&Tensor` to read, `&mut Tensor` to write",
        )),
        (ValueType::Tile { .. }, Form::Jit) => Err(syn::Error::new_spanned(
            ty,
            "a kernel that is called from Rust takes tensors: a tile lives inside a kernel",
        )),
        (ValueType::Tuple(_) | ValueType::Struct(_), _) => Err(syn::Error::new_spanned(ty, expected(form))),
    }
}

fn expected(form: Form) -> &'static str {
    match form {
        Form::Jit => "a kernel takes `&Tensor<T, R>`, `&mut Tensor<T, R>`, scalars, and structs of these",
        Form::Function => {
            "a function takes `&Tensor<T, R>`, `&mut Tensor<T, R>`, `Tile<T, R>`, scalars, and structs of tensors"
        }
    }
}
