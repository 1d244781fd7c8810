//! The checks of a dynamic call: every argument against the metadata of its parameter, by name, before anything runs.

use std::collections::HashMap;

use super::signature::{Mismatch, Signature};
use crate::artifact::{CompiledProgram, ParamExtent, ParamInfo, ParamKind};
use crate::diagnostics::{Code, Diagnostic, Diagnostics, codes};
use crate::ir::{DType, Direction, Loc, ParamRole};
use crate::language::argument::{Argument, ScalarArgument, TensorArgument};

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

/// Checks the arguments of a call of that style; `signature` is the program's.
///
/// # Errors
/// Every argument that does not fit its parameter; else every run-time extent that is not the same everywhere; else the
/// first two that share memory.
pub fn check(
    program: &CompiledProgram,
    signature: &Signature,
    arguments: &[Argument<'_>],
    style: Style,
) -> Result<(), Diagnostics> {
    let given: Vec<(usize, &ParamInfo)> =
        program.params().iter().enumerate().filter(|(_, param)| style.gives(param)).collect();
    let pairs = given.iter().zip(arguments);
    let found: Vec<Diagnostic> = pairs
        .filter_map(|((index, param), argument)| {
            let mismatch = signature.mismatch(*index, argument)?;
            Some(refusal(program, *index, param, argument, mismatch))
        })
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

/// What a refused argument is, what it should be, and what to do.
struct Refusal {
    code: Code,
    is: String,
    expected: String,
    help: Option<String>,
}

/// Tells why an argument does not fit.
#[cold]
fn refusal(
    program: &CompiledProgram,
    index: usize,
    param: &ParamInfo,
    argument: &Argument<'_>,
    mismatch: Mismatch,
) -> Diagnostic {
    let Refusal { code, is, expected, help } = match argument {
        Argument::Scalar(scalar) => refused_scalar(param, scalar, mismatch),
        Argument::Tensor(tensor) => refused_tensor(param, tensor, mismatch),
    };
    let title = format!("argument `{}` of `{}` {is}", param.name, program.name());
    let diagnostic = Diagnostic::error(code, param_loc(program, index), title, expected);
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

fn refused_scalar(param: &ParamInfo, scalar: &ScalarArgument, mismatch: Mismatch) -> Refusal {
    let refuse = |code: Code, is: String, expected: String| Refusal { code, is, expected, help: None };
    match (mismatch, &param.kind) {
        (Mismatch::Value, ParamKind::Scalar { fixed: Some(fixed), .. }) => {
            let expected = format!("compiled for the bits {fixed:#x}, given {:#x}", scalar.bits);
            refuse(codes::ARGUMENT_EXTENT, "is not the value that it was compiled for".to_owned(), expected)
        }
        (_, ParamKind::Tensor { dtype, extents }) => {
            let expected = format!("expected a tensor of {dtype}{}", list(extents));
            refuse(codes::ARGUMENT_TYPE, "is a scalar".to_owned(), expected)
        }
        (_, ParamKind::Scalar { dtype, .. }) => {
            let is = format!("is a scalar of type {}", scalar.dtype);
            refuse(codes::ARGUMENT_TYPE, is, format!("expected {dtype}"))
        }
    }
}

fn refused_tensor(param: &ParamInfo, tensor: &TensorArgument<'_>, mismatch: Mismatch) -> Refusal {
    let refuse = |code: Code, is: String, expected: String| Refusal { code, is, expected, help: None };
    let (name, dims) = (&param.name, tensor.dims());
    let extents = param.extents().unwrap_or_default();
    match mismatch {
        Mismatch::Kind => {
            let expected = format!("expected a scalar of type {}", param.dtype());
            refuse(codes::ARGUMENT_TYPE, "is a tensor".to_owned(), expected)
        }
        Mismatch::ElementType | Mismatch::Value => {
            let is = format!("has elements of type {}", tensor.dtype);
            refuse(codes::ARGUMENT_TYPE, is, format!("expected {}", param.dtype()))
        }
        Mismatch::Rank => {
            let expected = format!("expected {}: {}", extents.len(), list(extents));
            refuse(codes::ARGUMENT_TYPE, format!("has {} dimensions", tensor.rank), expected)
        }
        Mismatch::Size => {
            let expected = "extents must be possible in memory".to_owned();
            refuse(codes::ARGUMENT_SIZE, format!("has impossible extents {dims:?}"), expected)
        }
        Mismatch::Extents => {
            let expected = format!("compiled for {}", list(extents));
            refuse(codes::ARGUMENT_EXTENT, format!("has extents {dims:?}"), expected)
        }
        Mismatch::Meta => {
            let is = "is a meta tensor: it has a shape but no elements".to_owned();
            refuse(codes::ARGUMENT_LAYOUT, is, "a call needs the elements".to_owned())
        }
        Mismatch::Gaps => {
            let is = format!("is not contiguous: extents {dims:?}, strides {:?}", tensor.strides());
            let help = Some(format!("copy it: `{name}.contiguous()`"));
            Refusal {
                help,
                ..refuse(codes::ARGUMENT_LAYOUT, is, "expected row-major elements without gaps".to_owned())
            }
        }
        Mismatch::Shared => {
            let is = "is a shared reference, but the program writes it".to_owned();
            let help = Some(format!("pass `&mut {name}`"));
            Refusal { help, ..refuse(codes::ARGUMENT_TYPE, is, "expected `&mut`".to_owned()) }
        }
    }
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
