//! The checks of a call's arguments against the signature, before anything runs or is written.
//!
//! [`check_signature`] looks at layouts only and is done once for each specialization (and for `.compile`);
//! [`check_memory`] looks at addresses and strides and is done at every call, so it allocates nothing unless it fails.

use super::key::dim_name;
use super::meta::MetaValues;
use super::sample::SampleValue;
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::frontend::generic::{Dim, ElementType, Function, Param, Span, ValueType};
use crate::ir::{DType, Direction, FileId, Loc};
use crate::language::argument::{Argument, TensorArgument};

/// The place of a span of a captured function.
pub fn loc(function: &Function, span: Span) -> Loc {
    Loc::new(FileId::intern(function.file), span.line, span.column, span.end_line, span.end_column)
}

/// Checks number, element types, ranks, extents and sizes of the arguments, and the meta values.
///
/// # Errors
/// Every violated rule, in order of the parameters.
pub fn check_signature(
    function: &'static Function,
    types: &[DType],
    samples: &[SampleValue],
    meta: &MetaValues,
) -> Result<(), Diagnostics> {
    let mut found = Vec::new();
    meta_values(function, meta, &mut found);
    if samples.len() != function.params.len() {
        let title =
            format!("`{}` takes {} arguments, {} given", function.name.name, function.params.len(), samples.len());
        found.push(Diagnostic::error(codes::ARGUMENT_COUNT, loc(function, function.name.span), title, "declared here"));
        return Err(Diagnostics(found));
    }
    for (param, sample) in function.params.iter().zip(samples) {
        argument_type(function, types, param, sample, &mut found);
    }
    if found.is_empty() {
        extents(function, samples, &mut found);
    }
    if found.is_empty() { Ok(()) } else { Err(Diagnostics(found)) }
}

fn meta_values(function: &'static Function, meta: &MetaValues, found: &mut Vec<Diagnostic>) {
    for (name, _) in meta.iter() {
        if function.metas.iter().any(|m| m.name.name == name) {
            continue;
        }
        let title = format!("`{}` has no meta parameter `{name}`", function.name.name);
        let known: Vec<&str> = function.metas.iter().map(|m| m.name.name).collect();
        let help = if known.is_empty() {
            format!("declare it: `#[pypto::jit(meta({name} = 64))]`")
        } else {
            format!("its meta parameters are {}", known.join(", "))
        };
        let place = loc(function, function.name.span);
        found.push(Diagnostic::error(codes::META_VALUE, place, title, "declared here").help(help));
    }
}

/// The element type that a parameter has with these type arguments.
pub fn resolve(element: ElementType, types: &[DType]) -> Option<DType> {
    match element {
        ElementType::Known(dtype) => Some(dtype),
        ElementType::Param(index) => types.get(index).copied(),
    }
}

fn argument_type(
    function: &'static Function,
    types: &[DType],
    param: &Param,
    sample: &SampleValue,
    found: &mut Vec<Diagnostic>,
) {
    let expected = match param.ty {
        ValueType::Tensor { element, rank } => resolve(element, types).map(|d| (d, Some(rank))),
        ValueType::Scalar(element) => resolve(element, types).map(|d| (d, None)),
        ValueType::Tile { .. } | ValueType::Tuple(_) => None,
    };
    let given = match sample {
        SampleValue::Tensor { dtype, dims } => (*dtype, Some(dims.len())),
        SampleValue::Scalar { dtype, .. } => (*dtype, None),
    };
    let name = param.name.name;
    let place = loc(function, param.ty_span);
    if expected != Some(given) {
        let expected = expected.map_or("a value that only kernels can pass".to_owned(), describe);
        let title = format!("argument `{name}` of `{}` is {}", function.name.name, describe(given));
        found.push(Diagnostic::error(codes::ARGUMENT_TYPE, place, title, format!("expected {expected}")));
        return;
    }
    if let SampleValue::Tensor { dtype, dims } = sample
        && byte_size(dims, *dtype).is_none()
    {
        let title = format!("argument `{name}` of `{}` has impossible extents {dims:?}", function.name.name);
        let label = "extents must not be negative, and the size in bytes must fit in an `isize`";
        found.push(Diagnostic::error(codes::ARGUMENT_SIZE, place, title, label));
    }
}

fn describe((dtype, rank): (DType, Option<usize>)) -> String {
    match rank {
        Some(rank) => format!("a {dtype} tensor of rank {rank}"),
        None => format!("a scalar of type {dtype}"),
    }
}

/// Size in bytes, if the extents are not negative and the size fits into an `isize`.
pub fn byte_size(dims: &[i64], dtype: DType) -> Option<usize> {
    if dims.iter().any(|d| *d < 0) {
        return None;
    }
    // Zero extents do not excuse the others: offsets are computed from them.
    let product = dims.iter().filter(|d| **d != 0).try_fold(dtype.size() as i64, |size, d| size.checked_mul(*d))?;
    let size = isize::try_from(product).ok()? as usize;
    Some(if dims.contains(&0) { 0 } else { size })
}

/// Where a named extent was seen first.
struct Binding<'a> {
    name: &'a str,
    extent: i64,
    param: &'a Param,
    span: Span,
}

fn extents(function: &'static Function, samples: &[SampleValue], found: &mut Vec<Diagnostic>) {
    let mut bindings: Vec<Binding<'_>> = Vec::new();
    for (param, sample) in function.params.iter().zip(samples) {
        let SampleValue::Tensor { dims, .. } = sample else { continue };
        for (dim, extent) in param.shape.iter().zip(dims) {
            match dim {
                Dim::Any { .. } => {}
                Dim::Literal { extent: expected, span } if expected != extent => {
                    let title = format!("`{}` must have extent {expected} here, but it is {extent}", param.name.name);
                    let label = format!("`#[shape]` of `{}` says {expected}", function.name.name);
                    found.push(Diagnostic::error(codes::ARGUMENT_EXTENT, loc(function, *span), title, label));
                }
                Dim::Literal { .. } => {}
                Dim::Name { name, .. } => match bindings.iter().find(|b| b.name == name.name) {
                    Some(first) if first.extent != *extent => {
                        found.push(extent_conflict(function, first, param, *extent, name.span));
                    }
                    Some(_) => {}
                    None => bindings.push(Binding { name: name.name, extent: *extent, param, span: name.span }),
                },
            }
        }
    }
}

fn extent_conflict(
    function: &'static Function,
    first: &Binding<'_>,
    param: &Param,
    extent: i64,
    span: Span,
) -> Diagnostic {
    let Binding { name, extent: before, param: first_param, span: first_span } = first;
    let (a, b) = (first_param.name.name, param.name.name);
    let title = format!("`{name}` is {before} in `{a}` and {extent} in `{b}`");
    let label = format!("`{b}` has extent {extent} here");
    Diagnostic::error(codes::ARGUMENT_EXTENT, loc(function, span), title, label)
        .label(loc(function, *first_span), format!("`{a}` has extent {before} here"))
        .note(format!("in a call of `{}`", function.name.name))
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
        if tensor.data.is_null() || !is_contiguous(tensor) || !is_accessible(function, index, tensor) {
            return Err(unusable(function, index, tensor));
        }
        if tensor.mutable
            && let Some(other) = (0..arguments.len()).find(|o| *o != index && overlaps(tensor, &arguments[*o]))
        {
            return Err(aliased(function, index, other));
        }
    }
    Ok(())
}

fn is_accessible(function: &'static Function, index: usize, tensor: &TensorArgument<'_>) -> bool {
    tensor.mutable || function.params.get(index).is_none_or(|p| p.direction == Direction::In)
}

/// Row-major without gaps; strides of extents below 2 do not count.
pub fn is_contiguous(tensor: &TensorArgument<'_>) -> bool {
    let mut expected = 1i64;
    for (extent, stride) in tensor.dims().iter().zip(tensor.strides()).rev() {
        if *extent > 1 && *stride != expected {
            return tensor.dims().contains(&0);
        }
        expected = expected.wrapping_mul((*extent).max(1));
    }
    true
}

/// Whether two contiguous tensors share bytes.
fn overlaps(a: &TensorArgument<'_>, b: &Argument<'_>) -> bool {
    let Argument::Tensor(b) = b else { return false };
    let range = |t: &TensorArgument<'_>| {
        let elements: i64 = t.dims().iter().product();
        let start = t.data as usize;
        (start, start + elements as usize * t.dtype.size())
    };
    let ((a0, a1), (b0, b1)) = (range(a), range(b));
    a0 < b1 && b0 < a1 && a0 != a1 && b0 != b1
}

#[cold]
fn unequal_extents(function: &'static Function, arguments: &[Argument<'_>], pair: EqualExtents) -> Diagnostics {
    let samples: Vec<SampleValue> = arguments.iter().map(SampleValue::of).collect();
    let mut found = Vec::new();
    extents(function, &samples, &mut found);
    if found.is_empty() {
        let (name, other) = (dim_name(function, pair.first.0, pair.first.1), pair.second.0);
        let title = format!("`{name}` differs in `{}`", function.params[other].name.name);
        let place = loc(function, function.params[other].ty_span);
        found.push(Diagnostic::error(codes::ARGUMENT_EXTENT, place, title, "this tensor"));
    }
    Diagnostics(found)
}

#[cold]
fn unusable(function: &'static Function, index: usize, tensor: &TensorArgument<'_>) -> Diagnostics {
    let param = &function.params[index];
    let (name, kernel, place) = (param.name.name, function.name.name, loc(function, param.ty_span));
    let diagnostic = if tensor.data.is_null() {
        let title = format!("argument `{name}` of `{kernel}` is a meta tensor: it has a shape but no elements");
        Diagnostic::error(codes::ARGUMENT_LAYOUT, place, title, "a call needs the elements")
            .help("use meta tensors for `.compile(..)` and `.lower(..)`, and real ones to call")
    } else if !is_contiguous(tensor) {
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
        .help(format!("pass one of them as a copy, or declare a single `&mut` parameter for both uses"))
        .into()
}
