//! The checks of a call's arguments against the signature, before anything runs or is written.
//!
//! Element types, ranks and static extents are part of the specialization and checked when it is made. [`check_memory`]
//! looks at what may differ from call to call - `dyn` extents, addresses, strides - so it allocates nothing unless it
//! fails. [`check_sizes`] keeps the arithmetic on sizes and offsets from overflowing anywhere.

use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::frontend::generic::{Dim, Function, Span};
use crate::frontend::specialization::ArgumentSpec;
use crate::ir::{Direction, FileId, Loc};
use crate::language::argument::{Argument, TensorArgument, byte_size};

/// The place of a span of a captured function.
pub fn loc(function: &Function, span: Span) -> Loc {
    Loc::new(FileId::intern(function.file), span.line, span.column, span.end_line, span.end_column)
}

/// Checks that every tensor's size in bytes can exist.
///
/// # Errors
/// Each tensor whose extents are negative, or whose size overflows.
pub fn check_sizes(function: &'static Function, arguments: &[ArgumentSpec]) -> Result<(), Diagnostics> {
    let mut found = Vec::new();
    for (param, argument) in function.params.iter().zip(arguments) {
        let ArgumentSpec::Tensor { dtype, dims, .. } = argument else { continue };
        if byte_size(dims, *dtype).is_none() {
            let title = format!("`{}` of `{}` has impossible extents {dims:?}", param.name.name, function.name.name);
            let label = "extents must not be negative, and the size in bytes must fit in an `isize`";
            found.push(Diagnostic::error(codes::ARGUMENT_SIZE, loc(function, param.ty_span), title, label));
        }
    }
    if found.is_empty() { Ok(()) } else { Err(Diagnostics(found)) }
}

/// Dimensions that a call must find equal although the key does not hold them: a `dyn` extent's places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EqualExtents {
    pub first: (usize, usize),
    pub second: (usize, usize),
}

/// The pairs to compare at every call.
pub fn equal_extents(function: &'static Function) -> Vec<EqualExtents> {
    let mut first: Vec<(&str, (usize, usize))> = Vec::new();
    let mut pairs = Vec::new();
    let dynamic = |name: &str| {
        let dims = function.params.iter().flat_map(|p| p.shape);
        dims.into_iter().any(|d| matches!(d, Dim::Name { name: n, dynamic: true } if n.name == name))
    };
    for (index, param) in function.params.iter().enumerate() {
        for (axis, dim) in param.shape.iter().enumerate() {
            let Dim::Name { name, .. } = dim else { continue };
            match first.iter().find(|(n, _)| *n == name.name) {
                Some((_, place)) if dynamic(name.name) => {
                    pairs.push(EqualExtents { first: *place, second: (index, axis) });
                }
                Some(_) => {}
                None => first.push((name.name, (index, axis))),
            }
        }
    }
    pairs
}

/// Checks `dyn` extents against one another, strides, and that written memory is shared with no other argument.
///
/// # Errors
/// The first violated rule.
pub fn check_memory(
    function: &'static Function,
    arguments: &[Argument<'_>],
    equal: &[EqualExtents],
) -> Result<(), Diagnostics> {
    for pair in equal {
        let extent = |(param, axis): (usize, usize)| match &arguments[param] {
            Argument::Tensor(t) => t.dims[axis],
            Argument::Scalar(_) => 0,
        };
        if extent(pair.first) != extent(pair.second) {
            return Err(unequal_extents(function, arguments, *pair));
        }
    }
    for (index, argument) in arguments.iter().enumerate() {
        let Argument::Tensor(tensor) = argument else { continue };
        if tensor.data.is_null() || !tensor.is_contiguous() || !is_accessible(function, index, tensor) {
            return Err(unusable(function, index, tensor));
        }
        if tensor.mutable
            && let Some(other) = (0..arguments.len())
                .find(|o| *o != index && matches!(&arguments[*o], Argument::Tensor(other) if tensor.overlaps(other)))
        {
            return Err(aliased(function, index, other));
        }
    }
    Ok(())
}

fn is_accessible(function: &'static Function, index: usize, tensor: &TensorArgument<'_>) -> bool {
    tensor.mutable || function.params.get(index).is_none_or(|p| p.direction == Direction::In)
}

#[cold]
fn unequal_extents(function: &'static Function, arguments: &[Argument<'_>], pair: EqualExtents) -> Diagnostics {
    let place = |(param, axis): (usize, usize)| {
        let extent = match &arguments[param] {
            Argument::Tensor(t) => t.dims[axis],
            Argument::Scalar(_) => 0,
        };
        let (name, span) = match function.params[param].shape.get(axis) {
            Some(Dim::Name { name, .. }) => (name.name, name.span),
            _ => ("an extent", function.params[param].ty_span),
        };
        (name, span, extent, function.params[param].name.name)
    };
    let ((name, first_span, before, a), (_, span, extent, b)) = (place(pair.first), place(pair.second));
    let title = format!("`{name}` is {before} in `{a}` and {extent} in `{b}`");
    Diagnostic::error(codes::ARGUMENT_EXTENT, loc(function, span), title, format!("`{b}` has extent {extent} here"))
        .label(loc(function, first_span), format!("`{a}` has extent {before} here"))
        .into()
}

#[cold]
fn unusable(function: &'static Function, index: usize, tensor: &TensorArgument<'_>) -> Diagnostics {
    let param = &function.params[index];
    let (name, kernel, place) = (param.name.name, function.name.name, loc(function, param.ty_span));
    let diagnostic = if tensor.data.is_null() {
        let title = format!("argument `{name}` of `{kernel}` is a meta tensor: it has a shape but no elements");
        Diagnostic::error(codes::ARGUMENT_LAYOUT, place, title, "a call needs the elements")
            .help("use meta tensors for `.compile(..)` and `.lower(..)`, and real ones to call")
    } else if !tensor.is_contiguous() {
        let title = format!(
            "argument `{name}` of `{kernel}` is not contiguous: extents {:?}, strides {:?}",
            tensor.dims(),
            tensor.strides()
        );
        Diagnostic::error(codes::ARGUMENT_LAYOUT, place, title, "expected row-major elements without gaps")
            .help(format!("copy it: `{name}.contiguous()`"))
    } else {
        let title = format!("argument `{name}` of `{kernel}` is a shared reference, but the kernel writes it");
        Diagnostic::error(codes::ARGUMENT_TYPE, place, title, "expected `&mut`").help(format!("pass `&mut {name}`"))
    };
    diagnostic.into()
}

#[cold]
fn aliased(function: &'static Function, index: usize, other: usize) -> Diagnostics {
    let name = |i: usize| function.params.get(i).map_or("a returned tensor", |p| p.name.name);
    let span = |i: usize| function.params.get(i).map_or(function.name.span, |p| p.ty_span);
    let (a, b) = (name(index), name(other));
    let title = format!("arguments `{a}` and `{b}` of `{}` share memory, and `{a}` is written", function.name.name);
    Diagnostic::error(codes::ARGUMENT_ALIAS, loc(function, span(index)), title, "written here")
        .label(loc(function, span(other)), format!("`{b}` covers some of the same elements"))
        .help("pass one of them as a copy, or declare a single `&mut` parameter for both uses")
        .into()
}
