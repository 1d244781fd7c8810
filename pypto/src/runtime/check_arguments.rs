//! The checks of a dynamic call: every argument against the metadata of its parameter, by name, before anything runs.

use std::collections::HashMap;

use crate::artifact::{CompiledProgram, ParamExtent, ParamInfo, ParamKind};
use crate::diagnostics::{Code, Diagnostic, Diagnostics, codes};
use crate::ir::{DType, Direction, Loc, ParamRole};
use crate::language::argument::{Argument, TensorArgument, byte_size};

/// Which parameters a call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// All.
    InPlace,
    /// All but the results that the program declares.
    AsDeclared,
    /// All but the outputs.
    Returning,
}

impl Style {
    /// Whether the caller gives the parameter.
    pub fn gives(self, param: &ParamInfo) -> bool {
        match self {
            Style::InPlace => true,
            Style::AsDeclared => !param.returned,
            Style::Returning => param.direction != Direction::Out,
        }
    }
}

/// The style of a call with so many arguments.
///
/// # Errors
/// A number that fits no style.
pub fn style(program: &CompiledProgram, count: usize) -> Result<Style, Diagnostics> {
    let counts = |style: Style| program.params().iter().filter(|param| style.gives(param)).count();
    let fitting = [Style::InPlace, Style::AsDeclared, Style::Returning].into_iter().find(|s| counts(*s) == count);
    fitting.ok_or_else(|| {
        let name = program.name();
        let title = format!("`{name}` takes {}, and {count} {} given", takes(program), were(count));
        let names = |style: Style| {
            let given = program.params().iter().filter(|p| style.gives(p));
            given.map(|p| format!("`{}`", p.name)).collect::<Vec<_>>().join(", ")
        };
        let mut diagnostic = Diagnostic::error(codes::ARGUMENT_COUNT, entry_loc(program), title, "its parameters")
            .note(format!("in place: {}", names(Style::InPlace)));
        if counts(Style::Returning) != counts(Style::InPlace) {
            diagnostic = diagnostic.note(format!("with outputs allocated and returned: {}", names(Style::Returning)));
        }
        diagnostic.into()
    })
}

fn were(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

fn takes(program: &CompiledProgram) -> String {
    let counts = |style: Style| program.params().iter().filter(|param| style.gives(param)).count();
    let mut numbers: Vec<usize> = [Style::Returning, Style::AsDeclared, Style::InPlace].map(counts).to_vec();
    numbers.dedup();
    let list = numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
    format!("{list} {}", if list == "1" { "argument" } else { "arguments" })
}

/// Checks the arguments of a call of that style.
///
/// # Errors
/// Every argument that does not fit its parameter; else every run-time extent that is not the same everywhere; else the
/// first two that share memory.
pub fn check(program: &CompiledProgram, arguments: &[Argument<'_>], style: Style) -> Result<(), Diagnostics> {
    let given: Vec<(usize, &ParamInfo)> =
        program.params().iter().enumerate().filter(|(_, param)| style.gives(param)).collect();
    let pairs = given.iter().zip(arguments);
    let found: Vec<Diagnostic> = pairs
        .clone()
        .filter_map(|((index, param), argument)| check_one(program, *index, param, argument).err())
        .collect();
    if !found.is_empty() {
        return Err(Diagnostics(found));
    }
    equal_extents(program, &given, arguments)?;
    for ((at, (_, param)), argument) in given.iter().enumerate().zip(arguments) {
        let Argument::Tensor(tensor) = argument else { continue };
        if param.direction == Direction::In {
            continue;
        }
        let shared = |other: &usize| {
            *other != at && matches!(&arguments[*other], Argument::Tensor(other) if tensor.overlaps(other))
        };
        if let Some(other) = (0..arguments.len()).find(shared) {
            return Err(aliased(program, given[at], given[other]));
        }
    }
    Ok(())
}

fn check_one(
    program: &CompiledProgram,
    index: usize,
    param: &ParamInfo,
    argument: &Argument<'_>,
) -> Result<(), Diagnostic> {
    let kernel = program.name();
    let refuse = |code: Code, title: String, label: String| {
        Err(Diagnostic::error(code, param_loc(program, index), title, label))
    };
    let name = &param.name;
    match (&param.kind, argument) {
        (ParamKind::Scalar { dtype, fixed }, Argument::Scalar(scalar)) => {
            if scalar.dtype != *dtype {
                let title = format!("argument `{name}` of `{kernel}` is a scalar of type {}", scalar.dtype);
                return refuse(codes::ARGUMENT_TYPE, title, format!("expected {dtype}"));
            }
            match fixed {
                Some(bits) if *bits != scalar.bits => {
                    let title = format!("argument `{name}` of `{kernel}` is not the value that it was compiled for");
                    let label = format!("compiled for the bits {bits:#x}, given {:#x}", scalar.bits);
                    refuse(codes::ARGUMENT_EXTENT, title, label)
                }
                _ => Ok(()),
            }
        }
        (ParamKind::Tensor { dtype, extents }, Argument::Tensor(tensor)) => {
            check_tensor(program, index, param, (*dtype, extents), tensor)
        }
        (ParamKind::Scalar { dtype, .. }, Argument::Tensor(_)) => {
            let title = format!("argument `{name}` of `{kernel}` is a tensor");
            refuse(codes::ARGUMENT_TYPE, title, format!("expected a scalar of type {dtype}"))
        }
        (ParamKind::Tensor { dtype, extents }, Argument::Scalar(_)) => {
            let title = format!("argument `{name}` of `{kernel}` is a scalar");
            refuse(codes::ARGUMENT_TYPE, title, format!("expected a tensor of {dtype}{}", list(extents)))
        }
    }
}

fn check_tensor(
    program: &CompiledProgram,
    index: usize,
    param: &ParamInfo,
    (dtype, extents): (DType, &[ParamExtent]),
    tensor: &TensorArgument<'_>,
) -> Result<(), Diagnostic> {
    let (name, kernel) = (&param.name, program.name());
    let error =
        |code: Code, title: String, label: String| Diagnostic::error(code, param_loc(program, index), title, label);
    if tensor.dtype != dtype {
        let title = format!("argument `{name}` of `{kernel}` has elements of type {}", tensor.dtype);
        return Err(error(codes::ARGUMENT_TYPE, title, format!("expected {dtype}")));
    }
    if tensor.rank != extents.len() {
        let title = format!("argument `{name}` of `{kernel}` has {} dimensions", tensor.rank);
        return Err(error(codes::ARGUMENT_TYPE, title, format!("expected {}: {}", extents.len(), list(extents))));
    }
    if byte_size(tensor.dims(), dtype).is_none() {
        let title = format!("argument `{name}` of `{kernel}` has impossible extents {:?}", tensor.dims());
        return Err(error(codes::ARGUMENT_SIZE, title, "extents must be possible in memory".to_owned()));
    }
    let fits = |(extent, expected): (&i64, &ParamExtent)| match expected {
        ParamExtent::Fixed(n) => n == extent,
        ParamExtent::Dynamic(_) => true,
    };
    if !tensor.dims().iter().zip(extents).all(fits) {
        let title = format!("argument `{name}` of `{kernel}` has extents {:?}", tensor.dims());
        return Err(error(codes::ARGUMENT_EXTENT, title, format!("compiled for {}", list(extents))));
    }
    if tensor.data.is_null() {
        let title = format!("argument `{name}` of `{kernel}` is a meta tensor: it has a shape but no elements");
        return Err(error(codes::ARGUMENT_LAYOUT, title, "a call needs the elements".to_owned()));
    }
    if !tensor.is_contiguous() {
        let (dims, strides) = (tensor.dims(), tensor.strides());
        let title = format!("argument `{name}` of `{kernel}` is not contiguous: extents {dims:?}, strides {strides:?}");
        let label = "expected row-major elements without gaps".to_owned();
        return Err(error(codes::ARGUMENT_LAYOUT, title, label).help(format!("copy it: `{name}.contiguous()`")));
    }
    if param.direction != Direction::In && !tensor.mutable {
        let title = format!("argument `{name}` of `{kernel}` is a shared reference, but the program writes it");
        return Err(
            error(codes::ARGUMENT_TYPE, title, "expected `&mut`".to_owned()).help(format!("pass `&mut {name}`"))
        );
    }
    Ok(())
}

/// Values of run-time extents, by name, and where each was seen first.
type Bindings<'a> = HashMap<&'a str, (i64, usize)>;

/// Every extent of a name is the same.
fn equal_extents<'a>(
    program: &'a CompiledProgram,
    given: &[(usize, &'a ParamInfo)],
    arguments: &[Argument<'_>],
) -> Result<Bindings<'a>, Diagnostics> {
    let mut known = Bindings::new();
    let mut found = Vec::new();
    for ((index, param), argument) in given.iter().zip(arguments) {
        if let (ParamKind::Scalar { dtype: DType::I64, .. }, Argument::Scalar(scalar)) = (&param.kind, argument) {
            known.entry(&param.name).or_insert((scalar.bits as i64, *index));
        }
        let (Some(extents), Argument::Tensor(tensor)) = (param.extents(), argument) else { continue };
        for (expected, extent) in extents.iter().zip(tensor.dims()) {
            let ParamExtent::Dynamic(name) = expected else { continue };
            let (before, first) = *known.entry(name).or_insert((*extent, *index));
            if before != *extent {
                let (a, b) = (&program.params()[first].name, &param.name);
                let title = format!("`{name}` is {before} in `{a}` and {extent} in `{b}`");
                let place = param_loc(program, *index);
                let label = format!("`{b}` has extent {extent} here");
                let diagnostic = Diagnostic::error(codes::ARGUMENT_EXTENT, place, title, label);
                found.push(diagnostic.label(param_loc(program, first), format!("`{a}` has extent {before} here")));
            }
        }
    }
    if found.is_empty() { Ok(known) } else { Err(Diagnostics(found)) }
}

/// The extents of the outputs that a call does not give, in order.
///
/// # Errors
/// An extent that no argument tells.
pub fn output_extents(
    program: &CompiledProgram,
    arguments: &[Argument<'_>],
    style: Style,
) -> Result<Vec<Vec<i64>>, Diagnostics> {
    let given: Vec<(usize, &ParamInfo)> =
        program.params().iter().enumerate().filter(|(_, param)| style.gives(param)).collect();
    let known = equal_extents(program, &given, arguments)?;
    let missing = program.params().iter().enumerate().filter(|(_, param)| !style.gives(param));
    let mut all = Vec::new();
    for (index, param) in missing {
        let mut dims = Vec::new();
        for extent in param.extents().unwrap_or_default() {
            dims.push(match extent {
                ParamExtent::Fixed(n) => *n,
                ParamExtent::Dynamic(name) => match known.get(name.as_str()) {
                    Some((value, _)) => *value,
                    None => {
                        let title = format!("output `{}` cannot be allocated: no argument tells `{name}`", param.name);
                        let place = param_loc(program, index);
                        let diagnostic =
                            Diagnostic::error(codes::EXTENT_UNKNOWN, place, title, "its extents depend on it");
                        return Err(diagnostic.help(format!("pass `{}` in place", param.name)).into());
                    }
                },
            });
        }
        all.push(dims);
    }
    Ok(all)
}

fn aliased(program: &CompiledProgram, written: (usize, &ParamInfo), other: (usize, &ParamInfo)) -> Diagnostics {
    let (a, b) = (&written.1.name, &other.1.name);
    let title = format!("arguments `{a}` and `{b}` of `{}` share memory, and `{a}` is written", program.name());
    Diagnostic::error(codes::ARGUMENT_ALIAS, param_loc(program, written.0), title, "written here")
        .label(param_loc(program, other.0), format!("`{b}` covers some of the same elements"))
        .help("pass one of them as a copy")
        .into()
}

fn list(extents: &[ParamExtent]) -> String {
    format!("[{}]", extents.iter().map(ParamExtent::to_string).collect::<Vec<_>>().join(", "))
}

fn entry_loc(program: &CompiledProgram) -> Loc {
    program.entry().loc
}

/// Where a parameter is declared.
fn param_loc(program: &CompiledProgram, index: usize) -> Loc {
    let params = program.entry().params.iter().filter(|p| matches!(p.role, ParamRole::Tensor | ParamRole::Scalar));
    params.map(|p| p.loc).nth(index).unwrap_or(program.entry().loc)
}
