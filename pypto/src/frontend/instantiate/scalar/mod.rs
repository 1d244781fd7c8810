//! Methods of scalars. In eager runs they are those of Rust's numbers, so kernels have the ones whose results Rust defines to the
//! last bit, and the others are errors.

mod formula;
mod inexact;

use super::coerce::Operand;
use super::method::MethodCall;
use super::value::Value;
use super::{Flow, Walker};
use crate::diagnostics::codes;
use crate::frontend::generic::Ident;
use crate::ir::{Attrs, DType, Loc};
use crate::ops::OpKind;

/// Methods that are an operation of the same name.
const OPERATIONS: &[&str] = &[
    "abs",
    "sqrt",
    "recip",
    "floor",
    "ceil",
    "trunc",
    "round",
    "round_ties_even",
    "neg",
    "not",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
];

/// Methods besides those, for suggestions.
pub(super) const METHODS: &[&str] = &[
    "is_nan",
    "is_finite",
    "is_infinite",
    "fract",
    "signum",
    "is_positive",
    "is_negative",
    "pow",
    "powi",
    "rem_euclid",
    "div_euclid",
    "div_ceil",
    "next_multiple_of",
    "abs_diff",
    "wrapping_add",
    "wrapping_sub",
    "wrapping_mul",
    "to_degrees",
    "to_radians",
];

impl Walker<'_> {
    /// A method of a number or a truth value; `None` where kernels have none of the name.
    pub(super) fn scalar_method(&mut self, call: &MethodCall) -> Flow<Option<Value>> {
        let MethodCall { receiver, name, args, loc, .. } = call;
        match *name {
            "max" | "min" => {
                let [other] = self.exactly(name, args.clone(), *loc)?;
                self.scalar_extremum(receiver, &other, name, call).map(Some)
            }
            "to_f32" | "to_f64" => {
                let [] = self.exactly(name, args.clone(), *loc)?;
                self.converted(receiver, DType::F32, *loc).map(Some)
            }
            "clone" => Ok(Some(receiver.value.clone())),
            "clamp" => {
                let [least, most] = self.exactly(name, args.clone(), *loc)?;
                self.ordered_limits(receiver, &least, &most, call)?;
                self.elementwise_method(call)
            }
            _ if OPERATIONS.contains(name) => self.elementwise_method(call),
            _ => self.computed_method(call),
        }
    }

    /// `f32::max(a, b)`: the method, with the receiver as the first argument.
    pub(super) fn method_by_path(
        &mut self,
        dtype: DType,
        name: Ident,
        mut args: Vec<Operand>,
        loc: Loc,
    ) -> Flow<Value> {
        let receiver = args.remove(0);
        let value = Value::Scalar(self.scalar_of(&receiver, Some(dtype))?);
        let call = MethodCall { receiver: Operand { value, ..receiver }, name: name.name, args, dtype: None, loc };
        match self.scalar_method(&call)? {
            Some(value) => Ok(value),
            None => Err(self.unknown_method(&call, name)),
        }
    }

    /// Methods that are several operations, by the type of the number.
    fn computed_method(&mut self, call: &MethodCall) -> Flow<Option<Value>> {
        let x = self.scalar_of(&call.receiver, None)?;
        let value = match self.builder.ty(x).dtype() {
            Some(dtype) if dtype.is_float() => {
                if let Some(function) = inexact::find(call.name) {
                    return Err(self.inexact(function, call));
                }
                self.float_method(x, call)?
            }
            Some(dtype) if dtype.is_integer() => self.integer_method(x, dtype, call)?,
            _ => None,
        };
        Ok(value.map(Value::Scalar))
    }

    /// Rust's `clamp` stops where the limits are the wrong way round.
    fn ordered_limits(&mut self, x: &Operand, least: &Operand, most: &Operand, call: &MethodCall) -> Flow<()> {
        let dtype = self.dtype_of(&x.value);
        let (least, most) = (self.scalar_of(least, dtype)?, self.scalar_of(most, dtype)?);
        let site = self.site(call.name, call.loc, &[]);
        let ordered = self.builder.binary(OpKind::CmpLe, least, most, call.loc);
        let ordered = self.check(ordered, &site)?;
        let title = "the limits of `clamp` are the wrong way round";
        if self.require(ordered, title, call.loc)? {
            return Ok(());
        }
        Err(self.error(codes::PARAMETER_RANGE, call.loc, title, "the least is above the most"))
    }

    /// Rust's `max` and `min`: of floats, the other operand where one is NaN.
    fn scalar_extremum(&mut self, a: &Operand, b: &Operand, name: &str, call: &MethodCall) -> Flow<Value> {
        let loc = call.loc;
        let kind = if name == "max" { OpKind::Max } else { OpKind::Min };
        let (x, y) = self.unified(kind, a, b)?;
        if self.builder.tile_type(y).is_some() || !self.builder.ty(x).dtype().is_some_and(DType::is_float) {
            return self.binary(kind, name, a, b, loc);
        }
        let site = self.site(name, loc, &[(a, x), (b, y)]);
        let mut result = self.emit(kind, &[x, y], Attrs::new(), &site)?;
        for (operand, other) in [(y, x), (x, y)] {
            let nan = self.builder.binary(OpKind::CmpNe, operand, operand, loc);
            let nan = self.check(nan, &site)?;
            let chosen = self.builder.select(nan, other, result, loc);
            result = self.check(chosen, &site)?;
        }
        Ok(Value::Scalar(result))
    }
}
