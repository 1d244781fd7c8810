//! The launch check: a call's arguments against the signature. All contradictions are reported, each with the parameter,
//! what is expected, and what was found.

use super::generic::{Dim, ElementType, Function, Param, Span, ValueType};
use super::specialization::{ArgumentSpec, ParamSpec, Specialization, Strides};
use super::suggest;
use crate::diagnostics::{Diagnostic, Diagnostics, codes};
use crate::ir::{DType, FileId, Loc};

/// A named extent with the place that fixed it.
struct Binding {
    name: &'static str,
    extent: i64,
    param: &'static str,
    span: Span,
}

struct Check<'a> {
    function: &'a Function,
    type_args: &'a [DType],
    bindings: Vec<Binding>,
    problems: Diagnostics,
}

/// See [`Specialization::for_call`].
pub(super) fn specialize(
    function: &Function,
    type_args: &[DType],
    arguments: &[ArgumentSpec],
    metas: &[(&str, i64)],
) -> Result<Specialization, Diagnostics> {
    let mut check = Check { function, type_args, bindings: Vec::new(), problems: Diagnostics::default() };
    if !arguments.is_empty() && arguments.len() != function.params.len() {
        let title =
            format!("`{}` takes {} arguments, got {}", function.name.name, function.params.len(), arguments.len());
        let label = if function.structs.is_empty() { "declared here" } else { "declared here; each field counts" };
        check.error(codes::ARGUMENT_COUNT, function.name.span, title, label);
        return Err(check.problems);
    }
    let params = (function.params.iter().enumerate())
        .map(|(i, param)| check.param(param, arguments.get(i).unwrap_or(&ArgumentSpec::Unknown)))
        .collect();
    let metas = check.metas(metas);
    if check.problems.is_empty() {
        Ok(Specialization { type_args: type_args.to_vec(), params, metas })
    } else {
        Err(check.problems.finish())
    }
}

impl Check<'_> {
    fn loc(&self, span: Span) -> Loc {
        span.loc(FileId::intern(self.function.file))
    }

    fn error(&mut self, code: crate::diagnostics::Code, span: Span, title: String, label: impl Into<String>) {
        let diagnostic = Diagnostic::error(code, self.loc(span), title, label);
        self.problems.push(diagnostic);
    }

    fn dtype(&self, element: ElementType) -> DType {
        element.resolve(self.type_args)
    }

    fn metas(&mut self, given: &[(&str, i64)]) -> Vec<i64> {
        for (name, _) in given {
            if self.function.metas.iter().any(|m| m.name.name == *name) {
                continue;
            }
            let known: Vec<&str> = self.function.metas.iter().map(|m| m.name.name).collect();
            let title = format!("`{}` has no meta parameter `{name}`", self.function.name.name);
            let mut diagnostic =
                Diagnostic::error(codes::META_VALUE, self.loc(self.function.name.span), title, "declared here");
            diagnostic = match suggest::closest(name, known.iter().copied()) {
                Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
                None if known.is_empty() => {
                    diagnostic.help(format!("declare it: `meta({name} = ..)` in the attribute"))
                }
                None => diagnostic.help(format!("it has {}", suggest::list(&known))),
            };
            self.problems.push(diagnostic);
        }
        let value = |name: &str, default| given.iter().rev().find(|(n, _)| *n == name).map_or(default, |(_, v)| *v);
        self.function.metas.iter().map(|m| value(m.name.name, m.default)).collect()
    }

    fn param(&mut self, param: &'static Param, argument: &ArgumentSpec) -> ParamSpec {
        match param.ty {
            ValueType::Tensor { element, rank } => self.tensor(param, element, rank, argument),
            ValueType::Scalar(element) => self.scalar(param, element, argument),
            ValueType::Tile { .. } | ValueType::Tuple(_) => {
                let title =
                    format!("`{}` is neither a tensor nor a scalar, so it cannot be an argument", param.name.name);
                self.error(codes::ARGUMENT_TYPE, param.ty_span, title, "only inline functions take such values");
                ParamSpec::Scalar { value: None }
            }
        }
    }

    fn scalar(&mut self, param: &Param, element: ElementType, argument: &ArgumentSpec) -> ParamSpec {
        let expected = self.dtype(element);
        match argument {
            ArgumentSpec::Scalar { dtype, bits } if *dtype == expected => {
                return ParamSpec::Scalar { value: param.spec.then_some(*bits) };
            }
            ArgumentSpec::Unknown if !param.spec => {}
            ArgumentSpec::Unknown => {
                let title = format!("`{}` is `#[spec]`, but its value is not given", param.name.name);
                self.error(codes::EXTENT_UNKNOWN, param.name.span, title, "part of the specialization");
            }
            ArgumentSpec::Scalar { dtype, bits } => {
                let title = format!("`{}` must be {expected}, got {dtype}", param.name.name);
                let label = match dtype {
                    DType::I32 if expected.is_integer() => {
                        let n = *bits as i32;
                        format!("expected {expected}: an integer without a suffix is an i32, so write `{n}{expected}`")
                    }
                    _ => format!("expected {expected}"),
                };
                self.error(codes::ARGUMENT_TYPE, param.ty_span, title, label);
            }
            ArgumentSpec::Tensor { .. } => {
                let title = format!("`{}` must be a scalar of type {expected}, got a tensor", param.name.name);
                self.error(codes::ARGUMENT_TYPE, param.ty_span, title, format!("expected {expected}"));
            }
        }
        ParamSpec::Scalar { value: None }
    }

    fn tensor(
        &mut self,
        param: &'static Param,
        element: ElementType,
        rank: usize,
        argument: &ArgumentSpec,
    ) -> ParamSpec {
        let expected = self.dtype(element);
        let name = param.name.name;
        let given = match argument {
            ArgumentSpec::Tensor { dtype, dims, .. } if *dtype == expected && dims.len() == rank => Some(dims),
            ArgumentSpec::Unknown => None,
            ArgumentSpec::Tensor { dtype, dims, .. } => {
                let title =
                    format!("`{name}` must be a {expected} tensor of rank {rank}, got {dtype} of rank {}", dims.len());
                self.error(codes::ARGUMENT_TYPE, param.ty_span, title, format!("expected {expected}, rank {rank}"));
                None
            }
            ArgumentSpec::Scalar { dtype, .. } => {
                let title = format!("`{name}` must be a {expected} tensor, got a scalar of type {dtype}");
                self.error(codes::ARGUMENT_TYPE, param.ty_span, title, format!("expected {expected}, rank {rank}"));
                None
            }
        };
        if let ArgumentSpec::Tensor { contiguous: false, .. } = argument {
            self.error(
                codes::ARGUMENT_LAYOUT,
                param.name.span,
                format!("`{name}` must be row-major and contiguous, got a strided view"),
                "specialized for contiguous memory",
            );
            if let Some(last) = self.problems.0.last_mut() {
                last.helps.push("call `.contiguous()` on the argument".to_owned());
            }
        }
        self.check_size(param, expected, given);
        let unknown = matches!(argument, ArgumentSpec::Unknown);
        let dims = (0..rank).map(|axis| self.extent(param, axis, given.map(|d| d[axis]), unknown)).collect();
        ParamSpec::Tensor { dims, strides: Strides::Contiguous }
    }

    fn check_size(&mut self, param: &Param, dtype: DType, dims: Option<&Vec<i64>>) {
        let Some(dims) = dims else { return };
        let bytes = dims.iter().try_fold(dtype.size() as i64, |n, d| n.checked_mul(*d));
        if bytes.is_none() || dims.iter().any(|d| *d < 0) {
            let title = format!("`{}` cannot have the extents {dims:?}", param.name.name);
            self.error(codes::ARGUMENT_SIZE, param.name.span, title, "more elements than memory can hold");
        }
    }

    /// One dimension of a tensor argument: `None` where it stays dynamic.
    fn extent(&mut self, param: &'static Param, axis: usize, given: Option<i64>, unknown: bool) -> Option<i64> {
        match param.shape.get(axis) {
            Some(Dim::Literal { extent, span }) => {
                if let Some(found) = given.filter(|found| found != extent) {
                    let title = format!("dimension {axis} of `{}` must be {extent}, got {found}", param.name.name);
                    self.error(codes::ARGUMENT_EXTENT, *span, title, format!("the signature states {extent}"));
                }
                Some(*extent)
            }
            Some(Dim::Name { name, .. }) => {
                if let Some(found) = given {
                    self.bind(name.name, found, param.name.name, name.span);
                }
                if self.function.is_dynamic(name.name) {
                    return None;
                }
                if given.is_none() && unknown {
                    self.missing(param, axis, name.span);
                }
                given
            }
            Some(Dim::Any { span }) => {
                if given.is_none() && unknown {
                    self.missing(param, axis, *span);
                }
                given
            }
            None => {
                if given.is_none() && unknown {
                    self.missing(param, axis, param.name.span);
                }
                given
            }
        }
    }

    fn missing(&mut self, param: &Param, axis: usize, span: Span) {
        let title = format!("the extent of dimension {axis} of `{}` is not known", param.name.name);
        let diagnostic = Diagnostic::error(codes::EXTENT_UNKNOWN, self.loc(span), title, "not given by the signature")
            .help("pass sample arguments, state the extent as a literal, or mark it `dyn`");
        self.problems.push(diagnostic);
    }

    fn bind(&mut self, name: &'static str, extent: i64, param: &'static str, span: Span) {
        let Some(first) = self.bindings.iter().find(|b| b.name == name) else {
            self.bindings.push(Binding { name, extent, param, span });
            return;
        };
        if first.extent == extent {
            return;
        }
        let title = format!("`{name}` is {} in `{}` and {extent} in `{param}`", first.extent, first.param);
        let diagnostic = Diagnostic::error(
            codes::ARGUMENT_EXTENT,
            self.loc(span),
            title,
            format!("`{param}` has {name} = {extent}"),
        )
        .label(self.loc(first.span), format!("`{}` has {name} = {}", first.param, first.extent))
        .help("pass tensors whose extents agree, or give the dimensions different names if they may differ");
        self.problems.push(diagnostic);
    }
}
