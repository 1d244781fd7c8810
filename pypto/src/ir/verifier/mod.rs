//! Checks that a program is well formed. Every pass may rely on what is checked here, and must keep it.
//!
//! Program: names of functions are distinct; the entry exists; callees exist, and arguments match their parameters in
//! number, kind, element type, rank and constant extents; results match what the callee yields; in-core functions call
//! only in-core and inline functions; no function calls itself through others.
//!
//! Function: roles of parameters fit their types and name existing parameters; only tensors are written.
//!
//! Values: defined once; used only after their definition, in its block or in regions inside; the same for values that
//! types mention. Extents in types are `i64` scalars or constants that are not negative (strides may be); valid
//! extents and strides are as many as extents.
//!
//! Operations: numbers of operands, results and regions; operand kinds and element types; the result's type is what
//! the type rule derives (element type, extents, valid extents where they are known); static accesses in bounds;
//! attributes that the rule needs.
//!
//! Control flow: bounds are `i64`, conditions `bool`, a constant step is positive; region arguments, initial values,
//! yields and results agree in number and type, where a type may name the carried valid extents.

mod calls;
mod control;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::nodes::{Block, Direction, Function, FunctionKind, Op, ParamRole, Program, ValueId};
use super::types::{Extent, Type};
use super::{DType, Loc};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity, codes};
use crate::ops::fold::Literal;
use crate::ops::rules::{Bound, Operation, Outcome, Request, result_type};
use crate::ops::{Class, OpKind};
use scope::Scope;

/// Checks a program; reports all errors that it finds, with [`codes::IR_INVALID`].
pub fn verify(program: &Program) -> Result<(), Diagnostics> {
    let mut errors = Vec::new();
    calls::check_program(program, &mut errors);
    for function in &program.functions {
        check_function(function, &mut errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(Diagnostics(errors)) }
}

/// Checks a function by itself, without its calls.
pub fn verify_function(function: &Function) -> Result<(), Diagnostics> {
    let mut errors = Vec::new();
    check_function(function, &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(Diagnostics(errors)) }
}

fn check_function(function: &Function, errors: &mut Vec<Diagnostic>) {
    let mut verifier = Verifier { function, scope: Scope::new(function), constants: HashMap::new(), errors };
    verifier.params();
    verifier.block(&function.body);
}

fn report(errors: &mut Vec<Diagnostic>, function: &str, loc: Loc, message: String) {
    let title = format!("invalid IR in `{function}`: {message}");
    errors.push(Diagnostic::error(codes::IR_INVALID, loc, title, message).with_severity(Severity::Internal));
}

/// The state of a walk over a function.
struct Verifier<'a> {
    function: &'a Function,
    scope: Scope,
    /// Integer constants met so far.
    constants: HashMap<ValueId, i64>,
    errors: &'a mut Vec<Diagnostic>,
}

impl Verifier<'_> {
    fn report(&mut self, loc: Loc, message: impl Into<String>) {
        report(self.errors, &self.function.name, loc, message.into());
    }

    fn op_error(&mut self, op: &Op, message: impl AsRef<str>) {
        self.report(op.loc, format!("`{}`: {}", op.kind.name(), message.as_ref()));
    }

    /// How a value is called in messages: its name, or its number in the table.
    fn name(&self, value: ValueId) -> String {
        match self.function.values.get(value.0 as usize).and_then(|v| v.name.as_ref()) {
            Some(name) => format!("`{name}`"),
            None => format!("value {}", value.0),
        }
    }

    fn params(&mut self) {
        let function = self.function;
        let values: Vec<ValueId> = function.params.iter().map(|p| p.value).collect();
        self.define(&values, function.loc);
        for param in &function.params {
            let Some(info) = function.values.get(param.value.0 as usize) else { continue };
            let named = |index: usize, axis: usize| {
                let source = function.params.get(index).and_then(|p| function.values.get(p.value.0 as usize));
                source.and_then(|i| i.ty.as_tensor()).is_some_and(|t| axis < t.rank())
            };
            let fits = match param.role {
                ParamRole::Tensor => info.ty.as_tensor().is_some(),
                // Values of every kind may be passed to what is expanded into its caller.
                ParamRole::Scalar if function.kind == FunctionKind::Inline => info.ty.as_tensor().is_none(),
                ParamRole::Scalar => matches!(info.ty, Type::Scalar(_)),
                ParamRole::Extent { param, axis } | ParamRole::Stride { param, axis } => {
                    info.ty == Type::INDEX && named(param, axis)
                }
            };
            if !fits {
                self.report(param.loc, format!("the role of parameter `{}` does not fit its type", param.name));
            }
            if param.direction != Direction::In && info.ty.as_tensor().is_none() {
                self.report(param.loc, format!("parameter `{}` is written but is no tensor", param.name));
            }
        }
    }

    /// Brings values into scope; their types may mention one another.
    fn define(&mut self, values: &[ValueId], loc: Loc) {
        for value in values {
            if let Err(message) = self.scope.define(*value) {
                self.report(loc, message);
            }
        }
        for value in values {
            if let Some(info) = self.function.values.get(value.0 as usize) {
                self.type_is_sound(*value, &info.ty, loc);
            }
        }
    }

    fn type_is_sound(&mut self, value: ValueId, ty: &Type, loc: Loc) {
        let (dims, others) = match ty {
            Type::Tile(t) => (&t.dims, &t.valid),
            Type::Tensor(t) => (&t.dims, &t.strides),
            Type::Scalar(_) | Type::Event => return,
        };
        if dims.len() != others.len() {
            self.report(
                loc,
                format!("type of {} has {} extents but {} of the rest", self.name(value), dims.len(), others.len()),
            );
        }
        let mut mentioned: Vec<ValueId> = ty.extents().filter_map(Extent::value).collect();
        mentioned.sort();
        mentioned.dedup();
        for v in mentioned {
            let problem = if !self.scope.is_visible(v) {
                "which is not in scope"
            } else if *self.function.ty(v) != Type::INDEX {
                "which is no `i64`"
            } else {
                continue;
            };
            self.report(loc, format!("type of {} mentions {}, {problem}", self.name(value), self.name(v)));
        }
        let negative = |e: &Extent| matches!(e, Extent::Const(n) if *n < 0);
        if dims.iter().any(negative) || (ty.as_tile().is_some() && others.iter().any(negative)) {
            self.report(loc, format!("type of {} has a negative extent", self.name(value)));
        }
    }

    /// Operations and yields of a block whose arguments are in scope.
    fn block(&mut self, block: &Block) {
        for op in &block.ops {
            self.op(op);
        }
        for value in &block.yields {
            if !self.scope.is_visible(*value) {
                let loc = block.ops.last().map_or(self.function.loc, |op| op.loc);
                self.report(loc, format!("yields {}, which is not in scope", self.name(*value)));
            }
        }
    }

    fn op(&mut self, op: &Op) {
        let mut sound = true;
        for (i, value) in op.operands.iter().enumerate() {
            if !self.scope.is_visible(*value) {
                self.op_error(op, format!("operand {i} is {}, which is not in scope", self.name(*value)));
                sound = false;
            }
        }
        let expected = match op.kind {
            OpKind::For => 1,
            OpKind::If | OpKind::While => 2,
            _ => 0,
        };
        if op.regions.len() != expected {
            self.op_error(op, format!("has {} regions, expected {expected}", op.regions.len()));
            sound = false;
        }
        if sound && op.kind.class() == Class::Control {
            self.control(op);
        }
        self.define(&op.results, op.loc);
        if sound && !matches!(op.kind.class(), Class::Control | Class::Call) {
            self.rule(op);
        }
        if let (OpKind::Constant, Some(Literal::Int(n)), [result]) = (op.kind, Literal::of(&op.attrs), &op.results[..])
        {
            self.constants.insert(*result, n);
        }
    }

    /// Derives the result's type again, and compares.
    fn rule(&mut self, op: &Op) {
        let function = self.function;
        if op.results.len() > 1 || op.results.iter().any(|r| r.0 as usize >= function.values.len()) {
            return self.op_error(op, format!("has {} results, expected at most one", op.results.len()));
        }
        let types: Vec<&Type> = op.operands.iter().map(|v| function.ty(*v)).collect();
        let found = op.results.first().map(|r| function.ty(*r));
        let request = found.map(Request::of).unwrap_or_default();
        let constants = &self.constants;
        let constant = |v: ValueId| constants.get(&v).copied();
        let (kind, operands, attrs) = (op.kind, &op.operands[..], &op.attrs);
        let outcome =
            result_type(&Operation { kind, operands, types: &types, attrs, request: &request, constant: &constant });
        match (outcome, found) {
            (Err(error), _) => self.op_error(op, error.to_string()),
            (Ok(Outcome::Nothing), None) => {}
            (Ok(Outcome::Nothing), Some(_)) => self.op_error(op, "has a result, expected none"),
            (Ok(_), None) => self.op_error(op, "has no result"),
            (Ok(Outcome::Exact(derived)), Some(found)) => {
                if !self.same_type(&derived, &HashMap::new(), found) {
                    self.op_error(
                        op,
                        format!("the result has type {}, the rule gives {}", shown(found), shown(&derived)),
                    );
                }
            }
            (Ok(Outcome::Tile { dtype, dims, valid }), Some(found)) => {
                self.tile_result(op, dtype, &dims, &valid, found)
            }
        }
    }

    fn tile_result(&mut self, op: &Op, dtype: DType, dims: &[Extent], valid: &[Bound], found: &Type) {
        let Some(tile) = found.as_tile().filter(|t| t.valid.len() == valid.len()) else {
            return self.op_error(op, format!("the result has type {}, the rule gives a tile", shown(found)));
        };
        if tile.dtype != dtype {
            return self.op_error(op, format!("the result is of `{}`, the rule gives `{dtype}`", tile.dtype));
        }
        if tile.dims.len() != dims.len() || !dims.iter().zip(&tile.dims).all(|(a, b)| self.same_extent(*a, *b)) {
            return self.op_error(op, format!("the result has type {}, the rule gives other extents", shown(found)));
        }
        let wrong = valid.iter().zip(&tile.valid).position(|(bound, found)| !self.bound_allows(bound, *found));
        if let Some(axis) = wrong {
            self.op_error(op, format!("valid extent {axis} of the result {} is not what the rule gives", shown(found)));
        }
    }

    /// Whether a bound may be the given extent: equal where that can be told.
    fn bound_allows(&self, bound: &Bound, found: Extent) -> bool {
        let constant = |v: ValueId| self.constants.get(&v).copied();
        if let Bound::Is(extent) = bound {
            return self.same_extent(*extent, found);
        }
        let found = found.constant().or_else(|| found.value().and_then(constant));
        match (bound.constant(&constant), found) {
            (Some(expected), Some(found)) => expected == found,
            _ => true,
        }
    }

    fn same_extent(&self, a: Extent, b: Extent) -> bool {
        let resolve = |e: Extent| match e {
            Extent::Value(v) => self.constants.get(&v).copied().map_or(e, Extent::Const),
            Extent::Const(_) => e,
        };
        a == b || resolve(a) == resolve(b)
    }

    /// Whether two types are equal once the values in `a` are replaced.
    fn same_type(&self, a: &Type, replaced: &HashMap<ValueId, ValueId>, b: &Type) -> bool {
        let mut a = a.clone();
        a.map_values(|v| Extent::Value(replaced.get(&v).copied().unwrap_or(v)));
        let extents_match = a.extents().count() == b.extents().count()
            && a.extents().zip(b.extents()).all(|(x, y)| self.same_extent(x, y));
        let heads_match = match (&a, b) {
            (Type::Scalar(x), Type::Scalar(y)) => x == y,
            (Type::Tile(x), Type::Tile(y)) => x.dtype == y.dtype,
            (Type::Tensor(x), Type::Tensor(y)) => x.dtype == y.dtype,
            (Type::Event, Type::Event) => true,
            _ => false,
        };
        heads_match && extents_match
    }
}

/// A type for messages.
fn shown(ty: &Type) -> String {
    crate::ops::rules::error::type_text(ty)
}
