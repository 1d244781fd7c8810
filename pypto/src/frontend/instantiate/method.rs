//! Methods. Those that are one operation on their receiver are found in the op table by name; the others have a function
//! each, by kind of receiver.

use super::coerce::Operand;
use super::value::{At, Value};
use super::{Flow, Site, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{ElementType, Expr, Ident};
use crate::frontend::suggest;
use crate::ir::{Attr, AttrKey, Attrs, DType, Loc, Round, ValueId};
use crate::ops::{Class, OpKind};

/// Methods of tiles and tensors besides those of the op table, for suggestions.
const TILE_METHODS: &[&str] = &[
    "max",
    "min",
    "clamp",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "select",
    "cast",
    "cast_with",
    "bitcast",
    "gather",
    "scatter",
    "row_argsort",
    "t",
    "reshape",
    "slice",
    "assemble",
    "concat",
    "broadcast",
    "fillpad",
    "set_valid",
    "valid",
    "dim",
    "dims",
    "get",
    "matmul",
    "mma",
];

/// Methods of tensors alone.
const TENSOR_METHODS: &[&str] = &[
    "load",
    "tile",
    "load_all",
    "store",
    "set",
    "rows",
    "rows_mut",
    "at",
    "at_mut",
    "view",
    "view_mut",
    "get",
    "put",
    "gather_rows",
    "scatter_rows",
    "dim",
    "dims",
];

/// What rustc resolves by the receiver's type; here, evaluated once for all kinds.
pub(super) struct MethodCall {
    pub receiver: Operand,
    pub name: &'static str,
    pub args: Vec<Operand>,
    /// The first type argument.
    pub dtype: Option<DType>,
    pub loc: Loc,
}

impl Walker<'_> {
    /// `receiver.name::<type_args>(args)`.
    pub fn method(
        &mut self,
        receiver: &'static Expr,
        name: Ident,
        type_args: &'static [ElementType],
        args: &'static [Expr],
        loc: Loc,
    ) -> Flow<Value> {
        let (receiver, args) = (self.operand(receiver), self.operands(args));
        let dtype = type_args.first().map(|element| self.frame().dtype(*element));
        let call = MethodCall { receiver: receiver?, name: name.name, args: args?, dtype, loc };
        let known = match &call.receiver.value {
            Value::Tensor(tensor) => {
                let tensor = *tensor;
                match self.tensor_method(tensor, &call)? {
                    Some(value) => Some(value),
                    None => self.tile_method(&call)?,
                }
            }
            Value::Tile(_) => self.tile_method(&call)?,
            Value::Int(_) | Value::Float(_) | Value::Scalar(_) => self.scalar_method(&call)?,
            Value::At(at) => {
                let at = at.clone();
                self.place_method(&at, &call)?
            }
            Value::Iterator(iteration) if call.name == "step_by" => {
                let iteration = iteration.clone();
                let [step] = self.exactly("step_by", call.args.clone(), loc)?;
                Some(self.step_by(&iteration, &step, loc)?)
            }
            Value::Iterator(iteration) if call.name == "rev" => {
                let iteration = iteration.clone();
                let [] = self.exactly("rev", call.args.clone(), loc)?;
                Some(self.reversed(&iteration, loc)?)
            }
            Value::Array(parts) => {
                let parts = parts.clone();
                self.array_method(&parts, &call)?
            }
            _ => None,
        };
        known.ok_or_else(|| self.unknown_method(&call, name))
    }

    pub(super) fn unknown_method(&mut self, call: &MethodCall, name: Ident) -> super::Reported {
        let kind = call.receiver.value.kind();
        let place = self.loc(name.span);
        let title = format!("{kind} has no method `{}` in kernels", name.name);
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, place, title, "");
        let table = OpKind::ALL.iter().filter(|k| is_method(**k)).map(|k| k.name());
        let methods = [TILE_METHODS, TENSOR_METHODS, super::scalar::METHODS];
        let known = table.chain(methods.into_iter().flatten().copied());
        if name.name == "mul_add" {
            // A fused operation rounds once, and not every target has it.
            diagnostic = diagnostic.help("write `a * b + c`: kernels round the product and the sum");
        } else if let Some(similar) = suggest::closest(name.name, known) {
            diagnostic = diagnostic.help(format!("did you mean `{similar}`?"));
        }
        self.report(diagnostic)
    }

    /// Methods that exist on tiles, and on tensors as `load_all().method()`.
    fn tile_method(&mut self, call: &MethodCall) -> Flow<Option<Value>> {
        if let Some(value) = self.elementwise_method(call)? {
            return Ok(Some(value));
        }
        match OpKind::from_name(call.name) {
            Some(kind)
                if matches!(kind.class(), Class::RowReduce | Class::ColReduce | Class::RowArg | Class::ColArg) =>
            {
                let [] = self.exactly(call.name, call.args.clone(), call.loc)?;
                let x = self.tile_of(&call.receiver)?;
                let site = self.site(call.name, call.loc, &[(&call.receiver, x)]);
                self.emit(kind, &[x], Attrs::new(), &site).map(|v| Some(Value::Tile(v)))
            }
            _ => self.layout_method(call),
        }
    }

    /// Methods that scalars and tiles share: unary operations, `max`, comparisons, `select`, casts.
    pub(super) fn elementwise_method(&mut self, call: &MethodCall) -> Flow<Option<Value>> {
        let MethodCall { receiver, name, args, dtype, loc } = call;
        let comparison = OpKind::from_name(&format!("cmp_{name}"));
        let kind = comparison.or_else(|| OpKind::from_name(name).filter(|k| is_method(*k)));
        let value = match (*name, kind) {
            ("select", _) => {
                let [a, b] = self.exactly(name, args.clone(), *loc)?;
                self.select(receiver, &a, &b, *loc)?
            }
            ("clamp", _) => {
                let [least, most] = self.exactly(name, args.clone(), *loc)?;
                let raised = self.binary(OpKind::Max, name, receiver, &least, *loc)?;
                self.binary(OpKind::Min, name, &Operand { value: raised, ..receiver.clone() }, &most, *loc)?
            }
            ("cast", _) => {
                let [] = self.exactly(name, args.clone(), *loc)?;
                self.cast_method(receiver, *dtype, Round::None, *loc)?
            }
            ("cast_with", _) => {
                let [round] = self.exactly(name, args.clone(), *loc)?;
                let Value::Round(mode) = round.value else {
                    return Err(self.unexpected("a rounding mode", &round));
                };
                self.cast_method(receiver, *dtype, mode, *loc)?
            }
            ("bitcast", _) => {
                let [] = self.exactly(name, args.clone(), *loc)?;
                self.bitcast(receiver, *dtype, *loc)?
            }
            (_, Some(kind)) if kind.class() == Class::Unary => {
                let [] = self.exactly(name, args.clone(), *loc)?;
                self.unary(kind, name, receiver, *loc)?
            }
            (_, Some(kind)) if matches!(kind.class(), Class::Binary | Class::Compare) => {
                let [other] = self.exactly(name, args.clone(), *loc)?;
                self.binary(kind, name, receiver, &other, *loc)?
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn cast_method(&mut self, x: &Operand, dtype: Option<DType>, round: Round, loc: Loc) -> Flow<Value> {
        let value = match x.value {
            Value::Int(_) | Value::Float(_) | Value::Scalar(_) => self.scalar_of(x, None)?,
            _ => self.tile_of(x)?,
        };
        let written = dtype;
        let dtype = written.unwrap_or_else(|| {
            // A guess of another type than the operand has, so that the conversion is a value of its own.
            let guess = if self.builder.ty(value).dtype() == Some(DType::F32) { DType::F16 } else { DType::F32 };
            self.unit.inference.dtype(loc, guess)
        });
        if self.builder.ty(value).dtype() == Some(dtype) {
            return Ok(self.scalar_or_tile(value));
        }
        let site = self.site("cast", loc, &[(x, value)]);
        let result = self.builder.cast(value, dtype, round, loc);
        let result = self.check(result, &site)?;
        if written.is_none() {
            self.guessed(result, loc);
        }
        Ok(self.scalar_or_tile(result))
    }

    fn bitcast(&mut self, x: &Operand, dtype: Option<DType>, loc: Loc) -> Flow<Value> {
        let value = self.tile_of(x)?;
        let Some(dtype) = dtype else {
            let title = "`bitcast` does not say to which element type";
            return Err(self.error(codes::OPERAND, loc, title.to_owned(), "write `bitcast::<u32>()`"));
        };
        if self.builder.ty(value).dtype() == Some(dtype) {
            return Ok(Value::Tile(value));
        }
        let site = self.site("bitcast", loc, &[(x, value)]);
        let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(dtype));
        self.emit(OpKind::Bitcast, &[value], attrs, &site).map(Value::Tile)
    }

    /// `at.offset(k)`, `at.valid(k)`, `at.shape(k)`.
    fn place_method(&mut self, at: &At, call: &MethodCall) -> Flow<Option<Value>> {
        if !matches!(call.name, "offset" | "valid" | "shape") {
            return Ok(None);
        }
        let [axis] = self.exactly(call.name, call.args.clone(), call.loc)?;
        let axis = self.axis(&axis, at.offset.len(), call.name)?;
        Ok(Some(match call.name {
            "offset" => Value::Scalar(at.offset[axis]),
            "valid" => self.extent_scalar(at.valid[axis], call.loc),
            _ => self.extent_scalar(at.shape[axis], call.loc),
        }))
    }

    /// A dimension's number, within the rank.
    pub fn axis(&mut self, operand: &Operand, rank: usize, spelled: &str) -> Flow<usize> {
        let axis = self.constant_of(operand, "an axis")?;
        usize::try_from(axis).ok().filter(|a| *a < rank).ok_or_else(|| {
            let title = format!("`{spelled}` has no dimension {axis}: the rank is {rank}");
            self.error(codes::PARAMETER_RANGE, operand.loc, title, format!("must be in 0..{rank}"))
        })
    }

    /// A layout operation that was built.
    pub fn tile_result(
        &mut self,
        outcome: Result<ValueId, crate::ops::rules::RuleError>,
        x: ValueId,
        site: &Site,
    ) -> Flow<Value> {
        let result = self.check(outcome, site)?;
        self.propagate(result, &[x]);
        Ok(Value::Tile(result))
    }
}

/// Operations that are methods under their own name.
fn is_method(kind: OpKind) -> bool {
    match kind.class() {
        Class::Unary => true,
        Class::Binary => matches!(kind, OpKind::Max | OpKind::Min | OpKind::Pow),
        Class::RowReduce | Class::ColReduce | Class::RowArg | Class::ColArg => true,
        _ => false,
    }
}
