//! Calls. Functions of the language are intrinsics. Annotated functions are expanded in place, except in-core functions
//! called from outside of one, which become tasks: calls of an instance for the extents and strides of the arguments.

use std::collections::HashMap;

use super::coerce::Operand;
use super::frame::Frame;
use super::signature::name_loc;
use super::value::{Tensor, Value};
use super::{Flow, Reported, Site, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{Callee, Dim, ElementType, Expr, ExprKind, Function, Ident, Param, ValueType};
use crate::frontend::specialization::{ParamSpec, Specialization, Strides};
use crate::ir::types::contiguous_strides;
use crate::ir::{self, DType, Extent, FunctionKind, Loc, ParamRole, Type, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// `#[task(name, after = [..])]` on a call.
#[derive(Clone, Default)]
struct Task {
    after: Vec<ValueId>,
    named: bool,
}

impl Walker<'_> {
    /// A call of a free function.
    pub fn call_expression(
        &mut self,
        name: Ident,
        callee: fn() -> Callee,
        type_args: &'static [ElementType],
        args: &'static [Expr],
        loc: Loc,
    ) -> Flow<Value> {
        match callee() {
            Callee::Intrinsic(intrinsic) => self.intrinsic(intrinsic, args, loc),
            Callee::Function(function) => {
                let (value, _) = self.call_function(function, type_args, args, None, self.loc(name.span).to(loc))?;
                Ok(value)
            }
        }
    }

    /// `#[task(name, after = [..])] call(..);`
    pub fn task(&mut self, name: Option<Ident>, after: &'static [Ident], call: &'static Expr, _loc: Loc) -> Flow<()> {
        let place = self.loc(call.span);
        let outcome = self.task_call(after, name.is_some(), call, place);
        if let Some(name) = name {
            let value = match &outcome {
                Ok(Some(event)) => Value::Event(*event),
                _ => Value::Poison,
            };
            let loc = self.loc(name.span);
            self.scope.define(name.name, Some(value), loc);
        }
        outcome.map(|_| ())
    }

    fn task_call(
        &mut self,
        after: &'static [Ident],
        named: bool,
        call: &'static Expr,
        loc: Loc,
    ) -> Flow<Option<ValueId>> {
        let mut events = Vec::new();
        for event in after {
            let place = self.loc(event.span);
            match self.scope.find(event.name).map(|slot| self.scope.get(slot).value.clone()) {
                Some(Some(Value::Event(value))) => events.push(value),
                Some(Some(Value::Poison)) => {}
                _ => {
                    let title = format!("`{}` is not a task that comes before", event.name);
                    let help = format!("name a call further up: `#[task({})] kernel(..);`", event.name);
                    self.report(Diagnostic::error(codes::UNKNOWN_NAME, place, title, "").help(help));
                }
            }
        }
        let ExprKind::Call { callee, type_args, args, .. } = &call.kind else {
            return Err(self.error(codes::OPERAND, loc, "`#[task]` stands on a call of an in-core function", ""));
        };
        match callee() {
            Callee::Function(function) => {
                let task = Task { after: events, named };
                self.call_function(function, type_args, args, Some(task), loc).map(|(_, event)| event)
            }
            Callee::Intrinsic(_) => {
                Err(self.error(codes::OPERAND, loc, "`#[task]` stands on a call of an in-core function", ""))
            }
        }
    }

    fn call_function(
        &mut self,
        function: &'static Function,
        type_args: &'static [ElementType],
        args: &'static [Expr],
        task: Option<Task>,
        loc: Loc,
    ) -> Flow<(Value, Option<ValueId>)> {
        let args = self.operands(args)?;
        if args.len() != function.arity() {
            let title = format!("`{}` takes {} arguments, got {}", function.name.name, function.arity(), args.len());
            return Err(self.error(codes::OPERAND, loc, title, ""));
        }
        let args = self.flattened(function, args)?;
        self.check_recursion(function, loc)?;
        let type_args = self.resolve_type_args(function, type_args, &args);
        let inside = self.builder.function().kind == FunctionKind::InCore;
        match (inside, function.kind) {
            (_, FunctionKind::Host) | (true, FunctionKind::Orchestration) => {
                let title =
                    format!("an {} function cannot call `{}`", self.builder.function().kind.name(), function.name.name);
                let label = format!("it is {}", function.kind.name());
                let diagnostic = Diagnostic::error(codes::FUNCTION_KIND, loc, title, label)
                    .label(name_loc(function), "declared here");
                Err(self.report(diagnostic))
            }
            (false, FunctionKind::InCore) => self.call_task(function, type_args, &args, task.unwrap_or_default(), loc),
            _ if task.is_some() => {
                let title = "`#[task]` stands on a call of an in-core function";
                let label = format!("`{}` is {}", function.name.name, function.kind.name());
                Err(self.error(codes::FUNCTION_KIND, loc, title, label))
            }
            _ => self.expand(function, type_args, args, loc).map(|value| (value, None)),
        }
    }

    fn check_recursion(&mut self, function: &'static Function, loc: Loc) -> Flow<()> {
        let expanding = self.frames.iter().any(|f| std::ptr::eq(f.function, function));
        if !expanding && !self.unit.active.contains(&std::ptr::from_ref(function)) {
            return Ok(());
        }
        let title = format!("`{}` calls itself", function.name.name);
        let diagnostic = Diagnostic::error(codes::RECURSION, loc, title, "this call would never end")
            .label(name_loc(function), "declared here")
            .help("write a loop");
        Err(self.report(diagnostic))
    }

    /// Type arguments as written, else those that the arguments imply.
    fn resolve_type_args(&self, function: &Function, written: &[ElementType], args: &[Operand]) -> Vec<DType> {
        if written.len() == function.type_params.len() {
            return written.iter().map(|e| self.frame().dtype(*e)).collect();
        }
        let implied = |index: usize| {
            function.params.iter().zip(args).find_map(|(param, arg)| match param.ty {
                ValueType::Tensor { element, .. } | ValueType::Tile { element, .. } | ValueType::Scalar(element)
                    if element == ElementType::Param(index) =>
                {
                    self.dtype_of(&arg.value)
                }
                _ => None,
            })
        };
        (0..function.type_params.len()).map(|i| implied(i).unwrap_or(DType::F32)).collect()
    }

    /// Walks the callee's body in place of the call, with variables of its own.
    fn expand(
        &mut self,
        function: &'static Function,
        type_args: Vec<DType>,
        args: Vec<Operand>,
        loc: Loc,
    ) -> Flow<Value> {
        let frame = Frame::new(function, type_args);
        let mut values = Vec::with_capacity(args.len());
        for (param, arg) in function.params.iter().zip(&args) {
            values.push(self.argument(param, arg, &frame));
        }
        let names = self.named_extents(function, &values, &args, loc);
        let caller = std::mem::take(&mut self.scope);
        self.frames.push(frame);
        for (param, value) in function.params.iter().zip(values) {
            let place = self.loc(param.name.span);
            self.scope.define(param.name.name, Some(value.unwrap_or(Value::Poison)), place);
        }
        if let Ok(names) = &names {
            self.extent_names(function, names);
        }
        self.struct_names(function);
        for meta in function.metas {
            let place = self.loc(meta.name.span);
            let value = self.builder.index(meta.default, place);
            self.scope.define(meta.name.name, Some(Value::Scalar(value)), place);
        }
        let result = if names.is_ok() { self.block(&function.body) } else { Err(Reported) };
        let returned = self.frames.pop().and_then(|frame| frame.returned);
        self.scope = caller;
        match returned {
            Some(Value::Poison) => Err(Reported),
            Some(value) => result.map(|_| value),
            None => result,
        }
    }

    /// An argument of an expanded call as the parameter's type wants it.
    fn argument(&mut self, param: &'static Param, arg: &Operand, frame: &Frame) -> Flow<Value> {
        match param.ty {
            ValueType::Scalar(element) => self.scalar_of(arg, Some(frame.dtype(element))).map(Value::Scalar),
            ValueType::Tile { element, .. } => self.tile_typed(arg, frame.dtype(element)).map(Value::Tile),
            ValueType::Tensor { element, .. } => match arg.value {
                Value::Tensor(tensor) => {
                    self.infer(tensor.value, frame.dtype(element));
                    Ok(arg.value.clone())
                }
                _ => Err(self.unexpected("a tensor", arg)),
            },
            ValueType::Tuple(_) => self.annotated(arg.clone(), Some(param.ty)),
        }
    }

    /// The extents that the callee's `#[shape(..)]` names, each the same wherever it is named.
    fn named_extents(
        &mut self,
        function: &'static Function,
        values: &[Flow<Value>],
        args: &[Operand],
        loc: Loc,
    ) -> Flow<HashMap<&'static str, Extent>> {
        let mut names: HashMap<&'static str, (Extent, usize)> = HashMap::new();
        let mut outcome = Ok(());
        for (index, (param, value)) in function.params.iter().zip(values).enumerate() {
            let Ok(Value::Tensor(tensor)) = value else { continue };
            let dims = self.tensor_type(tensor.value).dims;
            for (dim, extent) in param.shape.iter().zip(dims) {
                let (name, expected, other) = match dim {
                    Dim::Any { .. } => continue,
                    Dim::Literal { extent: literal, .. } => ("the extent", Extent::Const(*literal), None),
                    Dim::Name { name, .. } => match names.get(name.name) {
                        Some((first, other)) => (name.name, *first, Some(*other)),
                        None => {
                            names.insert(name.name, (extent, index));
                            continue;
                        }
                    },
                };
                let place = other.map(|i| args[i].loc);
                outcome =
                    outcome.and(self.equal_extents(function, name, (expected, place), (extent, args[index].loc), loc));
            }
        }
        outcome?;
        Ok(names.into_iter().map(|(name, (extent, _))| (name, extent)).collect())
    }

    fn equal_extents(
        &mut self,
        function: &'static Function,
        name: &str,
        (expected, place): (Extent, Option<Loc>),
        (found, arg): (Extent, Loc),
        loc: Loc,
    ) -> Flow<()> {
        if expected == found {
            return Ok(());
        }
        if let (Extent::Const(a), Extent::Const(b)) = (expected, found) {
            let title = format!("`{}` needs equal extents: `{name}` is {a} and {b}", function.name.name);
            let mut diagnostic = Diagnostic::error(codes::ARGUMENT_EXTENT, arg, title, format!("{b} here"))
                .label(name_loc(function), "declared here");
            if let Some(place) = place.filter(|p| *p != arg) {
                diagnostic = diagnostic.label(place, format!("{a} here"));
            }
            return Err(self.report(diagnostic));
        }
        let (a, b) = (self.builder.extent_value(expected, loc), self.builder.extent_value(found, loc));
        let equal = self.builder.binary(OpKind::CmpEq, a, b, loc);
        let equal = self.check(equal, &Site::new("call", loc))?;
        let message = format!("the arguments of `{}` disagree on `{name}`", function.name.name);
        if self.require_showing(equal, &format!("{message}: {{}} and {{}}"), &[a, b], loc)? {
            return Ok(());
        }
        Err(self.error(codes::ARGUMENT_EXTENT, arg, message, ""))
    }

    /// Calls an instance of an in-core function.
    fn call_task(
        &mut self,
        function: &'static Function,
        type_args: Vec<DType>,
        args: &[Operand],
        task: Task,
        loc: Loc,
    ) -> Flow<(Value, Option<ValueId>)> {
        let frame = Frame::new(function, type_args.clone());
        let values: Vec<Flow<Value>> =
            function.params.iter().zip(args).map(|(param, arg)| self.argument(param, arg, &frame)).collect();
        self.named_extents(function, &values, args, loc)?;
        let values: Vec<Value> = values.into_iter().collect::<Flow<_>>()?;
        let mut params = Vec::with_capacity(values.len());
        for ((param, value), arg) in function.params.iter().zip(&values).zip(args) {
            params.push(self.task_param(function, param, value, arg)?);
        }
        let metas = function.metas.iter().map(|m| m.default).collect();
        let instance = self.unit.function(function, &Specialization { type_args, params, metas })?;
        let callee = self.unit.slots[instance].as_ref().ok_or(Reported)?;
        let (name, params) = (callee.name.clone(), callee.params.clone());
        let types: Vec<Type> = params.iter().map(|p| callee.ty(p.value).clone()).collect();
        let (operands, returned) = self.task_operands(&values, &params, &types, loc)?;
        let event = task.named;
        let results = self.builder.call(&name, &operands, &task.after, Vec::new(), event, loc);
        let value = match returned.len() {
            0 => Value::Unit,
            1 => returned[0].clone(),
            _ => Value::Tuple(returned.into()),
        };
        Ok((value, results.first().copied().filter(|_| event)))
    }

    /// What the instance of a callee may rely on for one argument.
    fn task_param(
        &mut self,
        function: &'static Function,
        param: &'static Param,
        value: &Value,
        arg: &Operand,
    ) -> Flow<ParamSpec> {
        match value {
            Value::Tensor(tensor) => {
                let ty = self.tensor_type(tensor.value);
                let dynamic = |axis: usize| match param.shape.get(axis) {
                    Some(Dim::Name { name, .. }) => function.is_dynamic(name.name),
                    _ => false,
                };
                let dims: Vec<Option<i64>> =
                    (ty.dims.iter().enumerate()).map(|(axis, d)| d.constant().filter(|_| !dynamic(axis))).collect();
                let contiguous = contiguous_strides(&ty.dims).is_some_and(|s| s == ty.strides);
                let strides = match contiguous {
                    true => Strides::Contiguous,
                    false => Strides::Given(ty.strides.iter().map(|s| s.constant()).collect()),
                };
                Ok(ParamSpec::Tensor { dims, strides })
            }
            Value::Scalar(scalar) if param.spec => match self.builder.literal(*scalar) {
                Some(literal) => Ok(ParamSpec::Scalar { value: Some(bits(literal, self.builder.ty(*scalar).dtype())) }),
                None => Err(self.not_constant(*scalar, "a `#[spec]` argument", arg.loc)),
            },
            Value::Scalar(_) => Ok(ParamSpec::Scalar { value: None }),
            _ => Err(self.unexpected("a tensor or scalar: only inline functions take tiles", arg)),
        }
    }

    /// The operands in the order of the instance's parameters; returned tensors are allocated here.
    fn task_operands(
        &mut self,
        values: &[Value],
        params: &[ir::Param],
        types: &[Type],
        loc: Loc,
    ) -> Flow<(Vec<ValueId>, Vec<Value>)> {
        let tensor_at = |index: usize| match values.get(index) {
            Some(Value::Tensor(tensor)) => Some(tensor.value),
            _ => None,
        };
        let mut bound: HashMap<ValueId, ValueId> = HashMap::new();
        let (mut operands, mut returned) = (Vec::new(), Vec::new());
        let mut given = values.iter();
        for (param, ty) in params.iter().zip(types) {
            let operand = match param.role {
                ParamRole::Extent { param: index, axis } | ParamRole::Stride { param: index, axis } => {
                    let tensor = tensor_at(index).ok_or(Reported)?;
                    let of = self.tensor_type(tensor);
                    let extents = if matches!(param.role, ParamRole::Extent { .. }) { of.dims } else { of.strides };
                    self.builder.extent_value(extents[axis], loc)
                }
                ParamRole::Tensor if param.returned => {
                    let value = self.returned_tensor(ty, &bound, loc)?;
                    returned.push(Value::Tensor(Tensor { value, root: "" }));
                    value
                }
                ParamRole::Tensor | ParamRole::Scalar => match given.next() {
                    Some(Value::Tensor(Tensor { value, .. }) | Value::Scalar(value)) => *value,
                    _ => return Err(Reported),
                },
            };
            bound.insert(param.value, operand);
            operands.push(operand);
        }
        Ok((operands, returned))
    }

    fn returned_tensor(&mut self, ty: &Type, bound: &HashMap<ValueId, ValueId>, loc: Loc) -> Flow<ValueId> {
        let Some(tensor) = ty.as_tensor() else { return Err(Reported) };
        let here = |extent: &Extent| match extent {
            Extent::Const(n) => Extent::Const(*n),
            Extent::Value(v) => bound.get(v).map_or(*extent, |v| self.builder.extent(*v)),
        };
        let dims: Vec<Extent> = tensor.dims.iter().map(here).collect();
        let allocated = self.builder.alloc(tensor.dtype, &dims, loc);
        self.check(allocated, &Site::new("call", loc))
    }
}

/// A constant's bits, as [`ParamSpec::Scalar`] holds them.
fn bits(literal: Literal, dtype: Option<DType>) -> u64 {
    match (literal, dtype) {
        (Literal::Int(n), Some(dtype)) => {
            let mask = if dtype.bits() == 64 { u64::MAX } else { (1 << dtype.bits()) - 1 };
            n as u64 & mask
        }
        (Literal::Float(x), Some(DType::F16)) => u64::from(half::f16::from_f64(x).to_bits()),
        (Literal::Float(x), Some(DType::BF16)) => u64::from(half::bf16::from_f64(x).to_bits()),
        (Literal::Float(x), _) => u64::from((x as f32).to_bits()),
        (Literal::Bool(b), _) => u64::from(b),
        (Literal::Int(n), None) => n as u64,
    }
}
