//! A function's signature as IR parameters, and the names that it brings into scope.
//!
//! Parameters come in the order of the signature; then the extents and strides that are known at run time only, each once;
//! then returned tensors. `#[spec]` scalars keep their parameter, so that positions agree with the signature, but the body
//! sees the constant.

use std::collections::HashMap;

use super::frame::Frame;
use super::output;
use super::rule_message::{Site, explain};
use super::scope::Scope;
use super::value::{Tensor, Value};
use super::{Flow, Reported, Unit, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{Dim, Function, Param, ValueType};
use crate::frontend::specialization::{ParamSpec, ScalarValue, Specialization, Strides, scalar_from_bits};
use crate::ir::builder::Builder;
use crate::ir::facts::Fact;
use crate::ir::types::contiguous_strides;
use crate::ir::{self, Extent, FileId, ParamRole, TensorType, Type, ValueId};
use crate::ops::fold::Literal;

/// Builds the IR function.
pub(super) fn walk(
    unit: &mut Unit,
    function: &'static Function,
    spec: &Specialization,
    name: String,
) -> Flow<ir::Function> {
    let frame = Frame::new(function, spec.type_args.clone());
    let loc = function.name.span.loc(frame.file);
    let problems = unit.problems.0.len();
    let mut walker = Walker {
        unit,
        builder: Builder::new(name, function.kind, loc),
        scope: Scope::default(),
        frames: vec![frame],
        guesses: HashMap::new(),
        shapes: HashMap::new(),
        transposed: HashMap::new(),
        dynamic: HashMap::new(),
        conditional: 0,
    };
    walker.parameters(function, spec);
    let result = walker.block(&function.body).unwrap_or(Value::Poison);
    let result = walker.frames[0].returned.take().unwrap_or(result);
    let returned = walker.returned_tensors(function, &result);
    if walker.unit.problems.0.len() > problems {
        return Err(Reported);
    }
    let returned = returned?;
    let Walker { unit, builder, .. } = walker;
    let facts: Vec<Fact> = (0..builder.function().values.len()).map(|v| builder.fact(ValueId(v as u32))).collect();
    let mut built = builder.finish(Vec::new()).map_err(|error| {
        unit.problems.push(explain(&error, &Site::new("function", loc)));
        Reported
    })?;
    unit.problems.0.extend(output::return_through_params(&mut built, &returned));
    let broken = output::check(unit, &built, &facts);
    unit.problems.0.extend(broken);
    if unit.problems.0.len() > problems { Err(Reported) } else { Ok(built) }
}

impl Walker<'_> {
    fn parameters(&mut self, function: &'static Function, spec: &Specialization) {
        let mut values = Vec::with_capacity(function.params.len());
        for (param, known) in function.params.iter().zip(&spec.params) {
            values.push(self.parameter(param, known));
        }
        let mut names: HashMap<&'static str, Extent> = HashMap::new();
        for (index, (param, known)) in function.params.iter().zip(&spec.params).enumerate() {
            if let (ParamSpec::Tensor { dims, strides }, Some(value)) = (known, values[index]) {
                self.layout(index, param, value, (dims, strides), &mut names);
            }
        }
        self.extent_names(function, &names);
        self.struct_names(function);
        let loc = self.loc(function.name.span);
        for (meta, value) in function.metas.iter().zip(&spec.metas) {
            let value = self.builder.index(*value, loc);
            let place = self.loc(meta.name.span);
            self.scope.define(meta.name.name, Some(Value::Scalar(value)), place);
        }
    }

    /// Adds the parameter and its name. Extents of tensors are filled in by [`Walker::layout`].
    fn parameter(&mut self, param: &'static Param, known: &ParamSpec) -> Option<ValueId> {
        let loc = self.loc(param.name.span);
        let name = param.name.name;
        match (param.ty, known) {
            (ValueType::Tensor { element, .. }, ParamSpec::Tensor { .. }) => {
                let dtype = self.frame().dtype(element);
                let ty = Type::Tensor(TensorType { dtype, dims: Vec::new(), strides: Vec::new() });
                let value = self.builder.param(name, ty, param.direction, ParamRole::Tensor, loc);
                self.scope.define(name, Some(Value::Tensor(Tensor { value, root: name })), loc);
                Some(value)
            }
            (ValueType::Scalar(element), ParamSpec::Scalar { value: bits }) => {
                let dtype = self.frame().dtype(element);
                let ty = Type::Scalar(dtype);
                let value = self.builder.param(name, ty, param.direction, ParamRole::Scalar, loc);
                let seen = match bits.map(|bits| scalar_from_bits(dtype, bits)) {
                    Some(ScalarValue::Int(n)) => self.literal(Literal::Int(n), dtype, loc),
                    Some(ScalarValue::Float(x)) => self.literal(Literal::Float(x), dtype, loc),
                    Some(ScalarValue::Bool(b)) => self.literal(Literal::Bool(b), dtype, loc),
                    None => Ok(value),
                };
                self.scope.define(name, Some(seen.map_or(Value::Poison, Value::Scalar)), loc);
                Some(value)
            }
            _ => {
                let title = format!("`{name}` is neither a tensor nor a scalar");
                let place = self.loc(param.ty_span);
                self.error(codes::ARGUMENT_TYPE, place, title, "only inline functions take such values");
                self.scope.define(name, Some(Value::Poison), loc);
                None
            }
        }
    }

    /// Gives a tensor parameter its extents and strides, adding hidden parameters for those not known.
    fn layout(
        &mut self,
        index: usize,
        param: &'static Param,
        value: ValueId,
        (known, strides): (&[Option<i64>], &Strides),
        names: &mut HashMap<&'static str, Extent>,
    ) {
        let mut dims = Vec::with_capacity(known.len());
        for (axis, extent) in known.iter().enumerate() {
            let named = match param.shape.get(axis) {
                Some(Dim::Name { name, .. }) => Some(*name),
                _ => None,
            };
            let dim = match (extent, named.and_then(|n| names.get(n.name).copied())) {
                (Some(n), _) => Extent::Const(*n),
                (None, Some(extent)) => extent,
                (None, None) => self.hidden(index, axis, param, named.map(|n| n.name)),
            };
            if let Some(name) = named {
                names.entry(name.name).or_insert(dim);
            }
            dims.push(dim);
        }
        let strides = match strides {
            Strides::Contiguous => {
                contiguous_strides(&dims).unwrap_or_else(|| self.hidden_strides(index, &dims, param))
            }
            Strides::Given(given) => given
                .iter()
                .enumerate()
                .map(|(axis, stride)| stride.map_or_else(|| self.hidden_stride(index, axis, param), Extent::Const))
                .collect(),
        };
        let dtype = self.tensor_type(value).dtype;
        self.builder.set_type(value, Type::Tensor(TensorType { dtype, dims, strides }));
        let shape_place = match (param.shape.first(), param.shape.last()) {
            (Some(first), Some(last)) => self.loc(first.span()).to(self.loc(last.span())),
            _ => self.loc(param.ty_span),
        };
        self.shapes.insert(value, shape_place);
    }

    /// A parameter for an extent that is known at run time only.
    fn hidden(&mut self, param: usize, axis: usize, declared: &Param, name: Option<&'static str>) -> Extent {
        let (name, loc) = match (name, declared.shape.get(axis)) {
            (Some(name), Some(dim)) => (name, self.loc(dim.span())),
            _ => (declared.name.name, self.loc(declared.name.span)),
        };
        let full = match declared.shape.get(axis) {
            Some(Dim::Name { .. }) => name.to_owned(),
            _ => format!("{name}_{axis}"),
        };
        let role = ParamRole::Extent { param, axis };
        let value = self.builder.param(&full, Type::INDEX, ir::Direction::In, role, loc);
        self.dynamic.insert(value, (name, loc));
        Extent::Value(value)
    }

    fn hidden_stride(&mut self, param: usize, axis: usize, declared: &Param) -> Extent {
        let name = format!("{}_stride_{axis}", declared.name.name);
        let loc = self.loc(declared.name.span);
        let role = ParamRole::Stride { param, axis };
        Extent::Value(self.builder.param(&name, Type::INDEX, ir::Direction::In, role, loc))
    }

    /// Row-major strides of which some are products of run-time extents.
    fn hidden_strides(&mut self, param: usize, dims: &[Extent], declared: &Param) -> Vec<Extent> {
        (0..dims.len())
            .map(|axis| match contiguous_strides(&dims[axis..]) {
                Some(strides) => strides[0],
                None => self.hidden_stride(param, axis, declared),
            })
            .collect()
    }

    /// The extents of `#[shape(..)]` as variables.
    pub fn extent_names(&mut self, function: &'static Function, names: &HashMap<&'static str, Extent>) {
        for dim in function.params.iter().filter(|p| !p.field).flat_map(|p| p.shape) {
            if let Dim::Name { name, .. } = dim
                && let Some(extent) = names.get(name.name)
            {
                let loc = self.loc(name.span);
                let value = self.extent_scalar(*extent, loc);
                self.scope.define(name.name, Some(value), loc);
            }
        }
    }

    /// The tensors that the function returns: allocated in it, to be allocated by the caller instead.
    fn returned_tensors(&mut self, function: &'static Function, result: &Value) -> Flow<Vec<(ValueId, String)>> {
        if function.output.is_none() {
            return Ok(Vec::new());
        }
        let loc = function.body.result.map_or(self.loc(function.body.span), |r| self.loc(r.span));
        let parts = match result {
            Value::Tuple(parts) => parts.to_vec(),
            Value::Poison => return Err(Reported),
            other => vec![other.clone()],
        };
        let mut tensors = Vec::new();
        for part in parts {
            match part {
                Value::Tensor(tensor) if self.builder.function().params.iter().all(|p| p.value != tensor.value) => {
                    tensors.push((tensor.value, tensor.root.to_owned()));
                }
                Value::Tensor(_) => {
                    let title = "a kernel cannot return one of its parameters";
                    return Err(self.error(codes::OPERAND, loc, title, "the caller has it already"));
                }
                other => {
                    let title = format!("a kernel returns tensors, found {}", other.kind());
                    let diagnostic = Diagnostic::error(codes::OPERAND, loc, title, "")
                        .help("allocate the result with `Tensor::temp(shape)` and `set` it");
                    return Err(self.report(diagnostic));
                }
            }
        }
        Ok(tensors)
    }
}

/// The context of an error: "while specializing `softmax` for x = f32[64, 1024], y = f32[64, 1024]".
pub fn describe(function: &'static Function, spec: &Specialization) -> String {
    let mut parts = Vec::new();
    for (param, known) in function.params.iter().zip(&spec.params) {
        match (param.ty, known) {
            (ValueType::Tensor { element, .. }, ParamSpec::Tensor { dims, .. }) => {
                let dims: Vec<String> = (dims.iter().enumerate())
                    .map(|(axis, extent)| match (extent, param.shape.get(axis)) {
                        (Some(n), _) => n.to_string(),
                        (None, Some(Dim::Name { name, .. })) => name.name.to_owned(),
                        _ => "?".to_owned(),
                    })
                    .collect();
                parts.push(format!("{} = {}[{}]", param.name.name, element.resolve(&spec.type_args), dims.join(", ")));
            }
            (ValueType::Scalar(element), ParamSpec::Scalar { value: Some(bits) }) => {
                let value = match scalar_from_bits(element.resolve(&spec.type_args), *bits) {
                    ScalarValue::Int(n) => n.to_string(),
                    ScalarValue::Float(x) => x.to_string(),
                    ScalarValue::Bool(b) => b.to_string(),
                };
                parts.push(format!("{} = {value}", param.name.name));
            }
            _ => {}
        }
    }
    for (meta, value) in function.metas.iter().zip(&spec.metas) {
        if *value != meta.default {
            parts.push(format!("{} = {value}", meta.name.name));
        }
    }
    let subject = format!("while specializing `{}`", function.name.name);
    if parts.is_empty() { subject } else { format!("{subject} for {}", parts.join(", ")) }
}

/// The place of a function's name.
pub(super) fn name_loc(function: &'static Function) -> ir::Loc {
    function.name.span.loc(FileId::intern(function.file))
}
